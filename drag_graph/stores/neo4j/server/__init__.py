"""A real Neo4j without Docker: `drag-graph db up|down|status`, and the server that the tests use."""

from drag_graph.stores.neo4j.server.configuration import Memory
from drag_graph.stores.neo4j.server.local_server import (
    RunningServer,
    ServerStatus,
    running_server,
    server_status,
    start_server,
    stop_server,
)
from drag_graph.stores.neo4j.server.releases import DEFAULT_VERSION, RELEASES

__all__ = [
    "DEFAULT_VERSION",
    "RELEASES",
    "Memory",
    "RunningServer",
    "ServerStatus",
    "running_server",
    "server_status",
    "start_server",
    "stop_server",
]
