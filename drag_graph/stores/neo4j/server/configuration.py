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
    values = {"listen": LOOPBACK, "bolt": bolt_port, "http": http_port, "page_cache": page_cache}
    text = (Path(__file__).parent / "neo4j.conf").read_text(encoding="utf-8").format(**values)
    path = home / "conf" / "neo4j.conf"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text + "".join(f"{name}={value}\n" for name, value in release.settings), encoding="utf-8")
    return path
