"""Fetching Neo4j's libraries with Maven into a cache folder, once for each version."""

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

from drag_graph.errors import ConfigurationError, StoreUnavailable
from drag_graph.process_environment import process_environment
from drag_graph.stores.neo4j.server.java import find_maven
from drag_graph.stores.neo4j.server.releases import Neo4jRelease

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
