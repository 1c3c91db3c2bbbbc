"""A real Neo4j without Docker: `drag-graph db up|down|status`, and the server that the tests use."""

from drag_graph.stores.neo4j.server.local_server import ServerReport, server_status, start_server, stop_server

__all__ = ["ServerReport", "server_status", "start_server", "stop_server"]
