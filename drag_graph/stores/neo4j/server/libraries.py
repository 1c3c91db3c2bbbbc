"""Fetching Neo4j's libraries with Maven into a cache folder, once for each version."""

import hashlib
import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from filelock import FileLock

from drag_graph.errors import ConfigurationError, StoreUnavailable
from drag_graph.stores.neo4j.server.java import find_maven
from drag_graph.stores.neo4j.server.releases import Neo4jRelease

RESOURCES = Path(__file__).parent
MARKER = "complete.json"
FETCH_SECONDS = 1800
_SHOWN_LINES = 3


def default_cache(environment: Mapping[str, str] | None = None) -> Path:
    """Return the folder that holds one folder for each version: XDG_CACHE_HOME or ~/.cache, then `drag-graph/neo4j`."""
    base = (environment or {}).get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "drag-graph" / "neo4j"


def libraries(
    release: Neo4jRelease,
    cache: Path | None = None,
    environment: Mapping[str, str] | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Path:
    """Return the folder with every library of `release`, fetched with Maven unless it is there complete.

    `cache` is the folder over all versions (default_cache without it). What counts as complete is said by a marker that is
    written last and lists every file with its size, so an interrupted fetch, a lost file and a changed pom are all
    redone. Several processes may ask at once: one fetches, the others wait. About 140 to 170 MB each.

    Raises ConfigurationError when Maven is missing or the cache cannot be written, StoreUnavailable when Maven fails.
    """
    home = (cache or default_cache(environment)).expanduser() / release.version
    if is_complete(home):
        return home / "lib"
    maven = find_maven(environment)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / "fetch.lock"):
            if not is_complete(home):  # another process may have fetched it while we waited
                if on_progress:
                    on_progress(f"Fetching Neo4j {release.version} with Maven into {home}")
                _fetch(maven, release, home)
    except OSError as error:
        raise ConfigurationError(
            f"The cache folder {home} cannot be written: {error.strerror or error}.", hint="Give another cache folder."
        ) from error
    return home / "lib"


def is_complete(home: Path) -> bool:
    """Whether `home` (one version's folder) holds all that its marker lists, made from the pom of this package."""
    try:
        marker = json.loads((home / MARKER).read_text(encoding="utf-8"))
        files: dict[str, int] = marker["files"]
        return marker["pom"] == _pom_hash() and bool(files) and _sizes(home / "lib").items() >= files.items()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False  # no marker or an unreadable one: fetch again, which also replaces it


def _fetch(maven: Path, release: Neo4jRelease, home: Path) -> None:
    # Every attempt has a folder of its own, which becomes `lib` only when Maven is through; leftovers of killed ones go.
    (home / MARKER).unlink(missing_ok=True)
    for leftover in home.glob("fetching-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    attempt = Path(tempfile.mkdtemp(prefix="fetching-", dir=home))
    try:
        shutil.copy(RESOURCES / "pom.xml", attempt / "pom.xml")
        _run_maven(maven, release, attempt)
        target = home / "lib"
        shutil.rmtree(target, ignore_errors=True)
        (attempt / "lib").rename(target)
        marker = {"version": release.version, "pom": _pom_hash(), "files": _sizes(target)}
        temporary = attempt / MARKER
        temporary.write_text(json.dumps(marker, indent=1, sort_keys=True), encoding="utf-8")
        temporary.rename(home / MARKER)
    finally:
        shutil.rmtree(attempt, ignore_errors=True)


def _run_maven(maven: Path, release: Neo4jRelease, attempt: Path) -> None:
    goal = "dependency:copy-dependencies"
    command = [str(maven), "-q", "-B", "-C", "-f", "pom.xml", f"-Dneo4j.version={release.version}", goal]
    command += ["-DincludeScope=runtime", f"-DoutputDirectory={attempt / 'lib'}"]
    try:
        done = subprocess.run(  # noqa: S603 - Maven, found on PATH
            command, cwd=attempt, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=FETCH_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise StoreUnavailable(
            f"Maven did not fetch Neo4j {release.version} within {FETCH_SECONDS} s.", hint="Try again; what it has is kept."
        ) from error
    if done.returncode == 0 and any((attempt / "lib").glob("*.jar")):
        return
    errors = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("[ERROR]")] or ["no output"]
    raise StoreUnavailable(
        f"Maven could not fetch Neo4j {release.version}: " + " ".join(errors[:_SHOWN_LINES]),
        hint="Check the network, or name a mirror in ~/.m2/settings.xml; or start Neo4j with `docker compose up -d`.",
    )


def _sizes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.glob("*.jar")}


def _pom_hash() -> str:
    return hashlib.sha256((RESOURCES / "pom.xml").read_bytes()).hexdigest()
