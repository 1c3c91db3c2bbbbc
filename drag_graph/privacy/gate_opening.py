"""Open the privacy gate with the detectors of this machine."""

from pathlib import Path

from drag_graph.errors import MissingExtra
from drag_graph.ports.setting_types import Privacy
from drag_graph.privacy.failsafe_rewriter import GuardedRewriter
from drag_graph.privacy.local_rewriter import local_rewriter
from drag_graph.privacy.model_rewriter import Reworder
from drag_graph.privacy.privacy_gate import PrivacyGate
from drag_graph.privacy.vault import Vault


def open_gate(
    level: Privacy, vault: Path | None = None, *, keep: bool = True, reworder: Reworder | None = None
) -> PrivacyGate | None:
    """Return the gate of a level, None for `off`. Close it after use.

    The gate stores originals in the vault at this path. Without `keep` it only reads the vault.

    Raises MissingExtra, ConfigurationError if a detector does not work, and StoreUnfit for the vault.
    """
    if level == "off":
        return None
    try:
        detectors = GuardedRewriter(local_rewriter(level))
        opened = Vault(vault) if vault is not None else None
    except MissingExtra as error:
        raise MissingExtra(
            f"The privacy gate (level {level!r}) cannot open. {error}",
            hint=f"{error.hint} To send questions unchanged, use `privacy=off`.",
        ) from error
    return PrivacyGate(detectors, level, opened, keeps=keep, reworder=reworder)


def preview_gate(level: Privacy, reworder: Reworder | None = None) -> PrivacyGate:
    """Return a gate that sends and stores nothing. Raises MissingExtra, and ConfigurationError if a detector does not work."""
    return PrivacyGate(GuardedRewriter(local_rewriter("strict" if level == "strict" else "standard")), level, reworder=reworder)
