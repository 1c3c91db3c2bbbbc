"""The server's `neo4j.conf`: loopback only, small, with a password, and reporting to nobody.

Built into a launcher, Neo4j has Bolt, HTTP and authentication off unless they are turned on, unlike its own packages.
"""

from pathlib import Path

from drag_graph.adapters.neo4j_server.process import LOOPBACK
from drag_graph.adapters.neo4j_server.releases import Neo4jRelease

HEAP = ("-Xms512m", "-Xmx1g")
PAGE_CACHE = "128m"


def write_configuration(home: Path, release: Neo4jRelease, bolt_port: int, http_port: int) -> Path:
    """Write `conf/neo4j.conf` below `home`, anew at each start, and return its path. Raises OSError when it cannot."""
    settings = {
        "server.default_listen_address": LOOPBACK,
        "server.bolt.enabled": "true",
        "server.bolt.listen_address": f"{LOOPBACK}:{bolt_port}",
        "server.bolt.advertised_address": f"{LOOPBACK}:{bolt_port}",
        "server.http.enabled": "true",
        "server.http.listen_address": f"{LOOPBACK}:{http_port}",
        "server.http.advertised_address": f"{LOOPBACK}:{http_port}",
        "server.https.enabled": "false",
        "dbms.security.auth_enabled": "true",
        "server.memory.pagecache.size": PAGE_CACHE,
        # Nothing is reported to anybody: not by the server, not by Neo4j Browser, which it serves.
        "dbms.usage_report.enabled": "false",
        "client.allow_telemetry": "false",
        # A setting that the version does not know stops the start instead of being passed over.
        "server.config.strict_validation.enabled": "true",
        **dict(release.settings),
    }
    path = home / "conf" / "neo4j.conf"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
    return path
