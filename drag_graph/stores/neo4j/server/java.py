"""Finding a Java development kit that fits a Neo4j release, and Maven."""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from drag_graph.errors import ConfigurationError
from drag_graph.stores.neo4j.server.releases import Neo4jRelease

# Debian and Fedora, macOS, SDKMAN: where packages put their kits. Relative patterns start at the user's home.
KIT_FOLDERS = (
    "/usr/lib/jvm/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    ".sdkman/candidates/java/*",
)
_VERSION = re.compile(r'version "(?P<major>\d+)(?:\.(?P<minor>\d+))?')
_PROBE_SECONDS = 30
_OLD_SCHEME = 1  # Java 8 and before call themselves 1.8


@dataclass(frozen=True, slots=True)
class JavaKit:
    """One Java installation: its `java`, its feature version (17, 21, ...), and whether it has a compiler."""

    executable: Path
    version: int
    has_compiler: bool

    def fits(self, release: Neo4jRelease) -> bool:
        """Whether it can start `release`; the launcher is compiled on the fly, so a bare runtime cannot."""
        return self.has_compiler and self.version >= release.minimum_java


def java_version(text: str) -> int | None:
    """Return the feature version from what `java -version` prints (17, 25; 8 for `1.8.0_392`), or None."""
    match = _VERSION.search(text)
    if match is None:
        return None
    major = int(match["major"])
    return int(match["minor"]) if major == _OLD_SCHEME and match["minor"] else major


def probe_java(executable: Path) -> JavaKit | None:
    """Run `executable -version` and return what it is, or None when it does not run or does not say."""
    try:
        answer = subprocess.run(  # noqa: S603 - a program the user's own settings name
            [str(executable), "-version"], capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = java_version(answer.stderr + answer.stdout)
    if answer.returncode != 0 or version is None:
        return None
    # /usr/bin/java is often a link; only the kit that it leads to has `javac` beside it.
    return JavaKit(executable, version, (executable.resolve().parent / "javac").exists())


def find_java(
    release: Neo4jRelease,
    environment: Mapping[str, str] | None = None,
    java: Path | None = None,
    kit_folders: tuple[str, ...] = KIT_FOLDERS,
) -> JavaKit:
    """Return the first Java that can start `release`: `java` if given, else JAVA_HOME, PATH, the usual folders.

    `environment` gives JAVA_HOME and PATH; without it, PATH is the process's own. Raises ConfigurationError that says
    what was found, what is needed and how to get it.
    """
    visited: dict[Path, JavaKit | None] = {}
    for candidate in [java] if java else _candidates(environment, kit_folders):
        if candidate.resolve() in visited:
            continue
        kit = visited[candidate.resolve()] = probe_java(candidate)
        if kit is not None and kit.fits(release):
            return kit
    kits = ", ".join(
        f"{kit.executable} is Java {kit.version}{'' if kit.has_compiler else ' without a compiler'}"
        for kit in visited.values()
        if kit
    )
    raise ConfigurationError(
        f"Java {release.minimum_java} or newer (a JDK) is missing, which Neo4j {release.version} needs"
        f" ({kits or 'no Java was found'}).",
        hint=f"Get it with `apt install openjdk-{release.minimum_java}-jdk maven` or from https://adoptium.net, point JAVA_HOME"
        " at it, or start Neo4j with `docker compose up -d`.",
    )


def find_maven(environment: Mapping[str, str] | None = None) -> Path:
    """Return Maven's `mvn` from PATH. Raises ConfigurationError that says how to get it."""
    path = shutil.which("mvn", path=environment.get("PATH") if environment is not None else None)
    if path:
        return Path(path)
    raise ConfigurationError(
        "Maven (mvn) is missing, which fetches Neo4j the first time.",
        hint="Get it with `apt install maven`, or start Neo4j with `docker compose up -d`.",
    )


def _candidates(environment: Mapping[str, str] | None, kit_folders: tuple[str, ...]) -> Iterator[Path]:
    if environment is not None and environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"]) / "bin" / "java"
    on_path = shutil.which("java", path=environment.get("PATH") if environment is not None else None)
    if on_path:
        yield Path(on_path)
    for pattern in kit_folders:
        root = Path(pattern).anchor or Path.home()
        relative = pattern.lstrip("/")
        # Version order by name is good enough: any that fits will do.
        yield from (home / "bin" / "java" for home in sorted(Path(root).glob(relative)) if (home / "bin" / "java").exists())
