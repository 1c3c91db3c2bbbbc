"""The server's `neo4j.conf`: loopback only, small, with a password, and reporting to nobody.

Built into a launcher, Neo4j has Bolt, HTTP and authentication off unless they are turned on, unlike its own packages.
"""

import re
from pathlib import Path

from drag_graph.errors import ConfigurationError
from drag_graph.stores.neo4j.server.process import LOOPBACK
from drag_graph.stores.neo4j.server.releases import Neo4jRelease

_SIZE = re.compile(r"[1-9][0-9]*[mgMG]")


def check_size(name: str, size: str) -> None:
    """Raise ConfigurationError unless `size` is a whole number followed by `m` or `g`."""
    if not _SIZE.fullmatch(size):
        raise ConfigurationError(
            f"{size!r} is not a size for the {name}.", hint="Pass a number followed by m or g, such as 512m or 4g."
        )


def write_configuration(home: Path, release: Neo4jRelease, bolt_port: int, http_port: int, page_cache: str) -> Path:
    """Write `conf/neo4j.conf` below `home`, again at each start, and return its path. Raises OSError."""
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
        "server.memory.pagecache.size": page_cache,
        # As delivered, each database sets 256 MB of log aside, and the log of two days of writing stays, without an upper
        # bound. Recovery needs what came after the last checkpoint, and no replica reads from ours.
        "db.tx_log.rotation.size": "64m",
        "db.tx_log.rotation.retention_policy": "2 days 1G",
        # Nothing is reported to anybody: not by the server, not by Neo4j Browser, which it serves.
        "dbms.usage_report.enabled": "false",
        "client.allow_telemetry": "false",
        # An unknown setting stops the start instead of being ignored.
        "server.config.strict_validation.enabled": "true",
        **dict(release.settings),
    }
    path = home / "conf" / "neo4j.conf"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
    return path
