"""The gate of a level, with this machine's detectors."""

from pathlib import Path

from drag_graph.errors import MissingExtra
from drag_graph.privacy.failsafe_rewriter import GuardedRewriter
from drag_graph.privacy.local_rewriter import local_rewriter
from drag_graph.privacy.model_rewriter import Reworder
from drag_graph.privacy.privacy_gate import PrivacyGate
from drag_graph.privacy.vault import Vault
from drag_graph.settings import Privacy


def open_gate(
    level: Privacy, vault: Path | None = None, *, keep: bool = True, reworder: Reworder | None = None
) -> PrivacyGate | None:
    """Return the gate of a level, None for `off`. Close it after use.

    Originals go to the vault at this path, if one is given; without `keep` it is only read, if it is there.

    Raises MissingExtra, ConfigurationError where the detectors do not work, and StoreUnfit for the vault.
    """
    if level == "off":
        return None
    try:
        detectors = GuardedRewriter(local_rewriter(level))
        opened = Vault(vault, create=keep) if vault is not None else None
        return PrivacyGate(detectors, level, opened, keeps=keep, reworder=reworder)
    except MissingExtra as error:
        hint = f"{error.hint} Or send questions as they are, with --privacy off."
        raise MissingExtra(f"--privacy {level}: {error}", hint=hint) from error
