"""What the processes of one run (`pytest -n`) share: a folder, a Neo4j, and the record of executed statements."""

import contextlib
import os
from dataclasses import replace
from pathlib import Path

from drag_graph.stores.neo4j.server import start_server, stop_server
from drag_graph.stores.neo4j.server.libraries import release_of
from drag_graph.stores.shared import cypher_files

PASSWORD = "a-password-for-tests"
EXECUTED = "executed-statements"
WHOLE = "whole-contract"


def is_worker():
    """Whether this process runs tests for another one."""
    return os.environ.get("PYTEST_XDIST_WORKER") is not None


def shared_folder(config):
    """Return the folder that all processes of this run share."""
    own = Path(config._tmp_path_factory.getbasetemp())
    return own.parent if is_worker() else own


def home_of(version, config):
    """Return the folder of the run's Neo4j."""
    return shared_folder(config) / f"neo4j-{version}"


def run_server(version, config):
    """Return the run's Neo4j: the first caller starts it, the others get the running one. It ends when the run does."""
    run = os.getppid() if is_worker() else os.getpid()
    # Every test fills and empties its namespace. Planning the statements again each time takes most of the run.
    release = release_of(version)
    release = replace(release, settings=(*release.settings, ("dbms.cypher.min_replan_interval", "1d")))
    return start_server(release, home_of(version, config), password=PASSWORD, parent=run)


@contextlib.contextmanager
def running_server(version, home, *, bolt_port=0, http_port=0):
    """Run a Neo4j on `home` for the length of a `with` block; it never outlives the block or this process."""
    ports = {"bolt_port": bolt_port, "http_port": http_port}
    try:
        yield start_server(release_of(version), home, password=PASSWORD, parent=os.getpid(), **ports)
    finally:
        stop_server(home)


def note_executed(config, known):
    """Append the executed statements to the run's file. `known` are those that this process has noted before."""
    new = cypher_files.executed - known
    known |= new
    if new:
        text = "".join(f"{dialect} {name}\n" for dialect, name in sorted(new))
        descriptor = os.open(shared_folder(config) / EXECUTED, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(descriptor, text.encode())  # in one call, because other processes write, too
        os.close(descriptor)


def never_executed(config):
    """Return the statements that no test of the contract executed, as "dialect name"; none if only a part of it was run."""
    folder = shared_folder(config)
    if not (folder / WHOLE).exists():
        return []
    log = folder / EXECUTED
    executed = set(log.read_text(encoding="utf-8").splitlines()) if log.exists() else set()
    root = cypher_files.folder_beside_or_inside("cypher")
    every = {f"{dialect} {name}" for dialect in cypher_files.DIALECTS for name in cypher_files.statement_files(root, dialect)}
    return sorted(every - executed)
