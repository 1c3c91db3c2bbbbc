"""Build a site's connection to its cloud, and a cloud, from settings."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

from drag_graph.compose.session import Session
from drag_graph.errors import MissingExtra
from drag_graph.settings import Settings
from drag_graph.sites.cloud_client import CloudClient
from drag_graph.sites.site_folder import read_token, require_site
from drag_graph.sites.traffic_log import Traffic

if TYPE_CHECKING:
    from drag_graph.privacy.privacy_gate import PrivacyGate
    from drag_graph.sites.cloud.cloud_api import Cloud


def make_cloud_client(settings: Settings, gate: "PrivacyGate | None") -> CloudClient:
    """Return this site's connection to its cloud. It sends nothing before its first use; close it after use.

    `gate` checks every text that leaves. Raises ConfigurationError if the working folder is not set up as a site.
    """
    require_site(settings)
    return CloudClient(
        settings.cloud,
        settings.edge_name,
        settings.cloud_token.get_secret_value() or read_token(settings.site_token_path),
        ca=settings.cloud_ca,
        insecure=settings.insecure,
        check=(lambda _texts: None) if gate is None else gate.check_outgoing,
        traffic=Traffic(settings.traffic_path),
    )


def require_service_packages() -> None:
    """Raise MissingExtra if the packages of the service are not installed."""
    if missing := [package for package in ("fastapi", "uvicorn") if find_spec(package) is None]:
        raise MissingExtra(f"The service needs {' and '.join(missing)}.", extra="service")


def make_cloud(session: Session) -> "Cloud":
    """Return a cloud on the store of a session, with its student. Raises as `Session.asker`."""
    from drag_graph.sites.cloud.cloud_api import Cloud
    from drag_graph.sites.cloud.cloud_asker import CloudAsker
    from drag_graph.sites.cloud.work_board import WorkBoard

    session.store.embedder((session.embedder.name, session.embedder.dimension))
    board = WorkBoard()
    asker = CloudAsker(session.settings, session.store.registry, session.embedder, session.student(), board)
    return Cloud(session.store, session.embedder, asker, board)
