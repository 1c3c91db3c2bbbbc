"""Build a site's connection to its cloud, and a cloud, from settings."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from drag_graph.ask.asker import Asker
from drag_graph.compose.session import Session
from drag_graph.errors import MissingExtra
from drag_graph.ports.model_roles import Student
from drag_graph.settings import Settings
from drag_graph.sites.cloud_client import CloudClient
from drag_graph.sites.site_asker import SiteAsker, ask_sites, lines_of_sites
from drag_graph.sites.site_folder import read_token, require_site

if TYPE_CHECKING:
    from drag_graph.privacy.privacy_gate import PrivacyGate
    from drag_graph.sites.cloud.cloud import Cloud


def make_cloud_client(settings: Settings, gate: "PrivacyGate | None") -> CloudClient:
    """Return this site's connection to its cloud. It sends nothing before its first use; close it after use.

    `gate` checks every text that leaves. Raises ConfigurationError if the working folder is not set up as a site.
    """
    require_site(settings)
    token = settings.cloud_token.get_secret_value() or read_token(settings.site_token_path)
    return CloudClient.of(settings, token) if gate is None else CloudClient.of(settings, token, gate.outgoing)


@contextmanager
def open_site_asker(session: Session, asker: Asker) -> Iterator[SiteAsker]:
    """Lend the asking at a site, which answers locally with `asker` or asks the cloud."""
    settings = session.settings
    with make_cloud_client(settings, session.gate) as client:
        judging = judging_student(session)
        yield SiteAsker(asker, session.embedder, client, settings.candidates, settings.agreement, judging=judging)


def judging_student(session: Session) -> Student | None:
    """Return the student that judges its own answers; None if the formula does."""
    return session.student() if session.settings.gate == "model" else None


def complete_audit(audit: dict[str, Any], settings: Settings) -> None:
    """Ask the sites that released lines of an audit document what is behind them. Only ids leave this machine."""
    if lines_of_sites(audit):
        with make_cloud_client(settings, None) as client:
            ask_sites(audit, client)


def require_service_packages() -> None:
    """Raise MissingExtra if the packages of the service are not installed."""
    if missing := [package for package in ("fastapi", "uvicorn", "mcp") if find_spec(package) is None]:
        raise MissingExtra(f"The service needs {' and '.join(missing)}.", extra="service")


def make_cloud(session: Session) -> "Cloud":
    """Return a cloud on the store of a session, with its student. Raises as `Session.asker`."""
    from drag_graph.sites.cloud.cloud import Cloud
    from drag_graph.sites.cloud.cloud_asker import CloudAsker
    from drag_graph.sites.cloud.work_board import WorkBoard

    session.claim_embedder()
    board = WorkBoard()
    asker = CloudAsker(session.settings, session.store.registry, session.embedder, session.student(), board)
    return Cloud(session.store, session.embedder, asker, board)
