"""The Neo4j releases that can be started without Docker (docs/how-to/neo4j.md), and their libraries, fetched with Maven."""

import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from drag_graph.errors import ConfigurationError, StoreUnavailable
from drag_graph.process_environment import process_environment

_OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.lang")


@dataclass(frozen=True, slots=True)
class Neo4jRelease:
    """One release: its series and full version, the lowest Java that runs it, and its own options and settings."""

    series: str
    version: str
    minimum_java: int
    java_options: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()

    def all_java_options(self) -> list[str]:
        """Return the options of the JVM, without memory."""
        return [*(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED), *self.java_options]


RELEASES = (
    Neo4jRelease("5.26", "5.26.30", minimum_java=17),
    Neo4jRelease(
        "2026",
        "2026.08.1",
        minimum_java=21,
        java_options=("--enable-native-access=ALL-UNNAMED", "--add-modules=jdk.incubator.vector"),
        # By default this series announces itself on the local network; 5.26 neither does so nor knows the setting.
        settings=(("server.fleet_discovery.enabled", "false"),),
    ),
)


def release_of(series: str) -> Neo4jRelease:
    """Return the release of a series (`5.26`, `2026`). Raises ConfigurationError for any other."""
    for release in RELEASES:
        if series == release.series:
            return release
    series_names = ", ".join(release.series for release in RELEASES)
    raise ConfigurationError(f"Neo4j {series!r} is not among the supported versions.", hint=f"Use one of: {series_names}.")


# Debian and Fedora, macOS, SDKMAN: where packages put their kits. Relative patterns start at the user's home.
KIT_FOLDERS = ("/usr/lib/jvm/*", "/Library/Java/JavaVirtualMachines/*/Contents/Home", ".sdkman/candidates/java/*")
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


RESOURCES = Path(__file__).parent
FETCH_SECONDS = 1800
_SHOWN_LINES = 3


def libraries(release: Neo4jRelease, on_progress: Callable[[str], None] = lambda _step: None) -> Path:
    """Return the folder with every library of `release`, fetched with Maven the first time (140 to 170 MB).

    The folder is below XDG_CACHE_HOME or ~/.cache. Its name contains the hash of the pom, and exists only if the folder is
    complete. If several processes call this at the same time, one fetches and the others wait.

    Raises ConfigurationError if Maven is missing or the cache cannot be written, StoreUnavailable if Maven fails.
    """
    cache = Path(process_environment().get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = cache / "drag-graph" / "neo4j" / release.version
    folder = home / f"lib-{hashlib.sha256((RESOURCES / 'pom.xml').read_bytes()).hexdigest()[:8]}"
    if folder.exists():
        return folder
    maven = find_maven()
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / "fetch.lock"):
            if not folder.exists():  # another process may have fetched it in the meantime
                on_progress(f"Fetching Neo4j {release.version} with Maven into {home}")
                for leftover in home.glob("fetching-*"):  # from killed attempts
                    shutil.rmtree(leftover, ignore_errors=True)
                with tempfile.TemporaryDirectory(prefix="fetching-", dir=home) as attempt:
                    _run_maven(maven, release, Path(attempt)).rename(folder)
    except OSError as error:
        raise ConfigurationError(
            f"The cache folder {home} cannot be written: {error.strerror or error}.",
            hint="Set XDG_CACHE_HOME to another folder.",
        ) from error
    return folder


def _run_maven(maven: Path, release: Neo4jRelease, folder: Path) -> Path:
    """Fetch the libraries into a new folder inside `folder` and return it. Raises StoreUnavailable."""
    target = folder / "lib"
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={target}"]
    shutil.copy(RESOURCES / "pom.xml", folder)
    try:
        maven_run = subprocess.run(  # noqa: S603 - Maven, found on PATH
            [str(maven), "-q", "-B", "-C", "-f", "pom.xml", f"-Dneo4j.version={release.version}", *goal],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=FETCH_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise StoreUnavailable(
            f"Maven did not fetch Neo4j {release.version} within {FETCH_SECONDS} s.", hint="Run the same command again."
        ) from error
    if maven_run.returncode == 0 and any(target.glob("*.jar")):
        return target
    lines = (maven_run.stdout + maven_run.stderr).splitlines()
    errors = [line for line in lines if line.startswith("[ERROR]")] or ["no output"]
    raise StoreUnavailable(
        f"Maven could not fetch Neo4j {release.version}: " + " ".join(errors[:_SHOWN_LINES]),
        hint="Check the network, or name a mirror in ~/.m2/settings.xml; or start Neo4j with `docker compose up -d`.",
    )
