"""Finding a Java development kit that fits a Neo4j release, and Maven."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from drag_graph.errors import ConfigurationError
from drag_graph.process_environment import process_environment
from drag_graph.stores.neo4j.server.releases import Neo4jRelease

# Debian and Fedora, macOS, SDKMAN: where packages put their kits. Relative patterns start at the user's home.
KIT_FOLDERS = (
    "/usr/lib/jvm/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    ".sdkman/candidates/java/*",
)
_COMPILER = re.compile(r"^jdk\.compiler@(\d+)", re.MULTILINE)
_PROBE_SECONDS = 30


def find_java(release: Neo4jRelease, kit_folders: tuple[str, ...] = KIT_FOLDERS) -> Path:
    """Return the first `java` that can start `release`: from JAVA_HOME, PATH, or the usual folders.

    The launcher is compiled at the start, so a runtime without a compiler is not enough. Raises ConfigurationError.
    """
    kits = list[str]()
    for candidate in _candidates(kit_folders):
        version = jdk_version(candidate)
        if version >= release.minimum_java:
            return candidate
        kits.append(f"{candidate} is JDK {version}" if version else f"{candidate} is not a JDK")
    raise ConfigurationError(
        f"Neo4j {release.version} requires a JDK, version {release.minimum_java} or newer"
        f" ({', '.join(kits) or 'no Java was found'}).",
        hint=f"Get it with `apt install openjdk-{release.minimum_java}-jdk maven` or from https://adoptium.net, point JAVA_HOME"
        " at it, or start Neo4j with `docker compose up -d`.",
    )


def jdk_version(executable: Path) -> int:
    """Return the feature version (17, 21, ...) of the JDK that a `java` belongs to; 0 if it has no compiler."""
    try:
        modules = subprocess.run(  # noqa: S603 - a program that the user's environment names
            [str(executable), "--list-modules"], capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    match = _COMPILER.search(modules.stdout)
    return int(match[1]) if match else 0


def find_maven() -> Path:
    """Return Maven's `mvn` from PATH. Raises ConfigurationError."""
    path = shutil.which("mvn")
    if path:
        return Path(path)
    raise ConfigurationError(
        "Maven (mvn) is missing. The first start uses it to download Neo4j.",
        hint="Get it with `apt install maven`, or start Neo4j with `docker compose up -d`.",
    )


def _candidates(kit_folders: tuple[str, ...]) -> Iterator[Path]:
    if java_home := process_environment().get("JAVA_HOME"):
        yield Path(java_home) / "bin" / "java"
    if on_path := shutil.which("java"):
        yield Path(on_path)
    for pattern in kit_folders:
        root = Path(Path(pattern).anchor or Path.home())
        yield from sorted(root.glob(f"{pattern.lstrip('/')}/bin/java"))
