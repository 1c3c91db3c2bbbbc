"""Fixtures for all tests: a real Neo4j for the run, and an environment without settings of the developer's own.

`neo4j_address` starts 5.26 LTS, and for `make test-all` 2026 too where a Java 21 or newer is found; where Java or Maven is
missing, the tests fail with the sentence that says how to get them. Workers (`pytest -n`, xdist) share a server: each test
keeps to namespaces of its own, and one that must change what all share (schema, history) is marked `alone`.
DRAG_GRAPH_TEST_NEO4J=bolt://…[,bolt://…] with DRAG_GRAPH_TEST_NEO4J_PASSWORD uses servers that run already.

No Python process of the tests reaches another machine (guard/sitecustomize.py), but for those of the installed wheel, and no
canary comes to a scripted server (canaries.py). A test of which something was refused fails.
"""

import fcntl
import functools
import os
import runpy
import secrets
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from threading import Thread
from zlib import crc32

import hypothesis
import ladybug
import pytest
from canaries import watched
from workers import PASSWORD, is_worker, never_executed, run_server, shared_folder

from cli.output import AS_JSON
from drag_graph.errors import ConfigurationError, DragGraphError
from drag_graph.stores.neo4j.server import stop_server
from drag_graph.stores.neo4j.server.libraries import find_java, release_of
from drag_graph.testing.server import ScriptedServer

GUARD = Path(__file__).parent / "guard"
EXAMPLES = Path(__file__).parents[1] / "examples"
EXISTING = [uri for uri in os.environ.get("DRAG_GRAPH_TEST_NEO4J", "").split(",") if uri]


def _versions():
    if EXISTING:
        return EXISTING
    try:
        find_java(release_of("2026"))
    except ConfigurationError:
        return ["5.26"]
    return ["5.26", "2026"]


VERSIONS = _versions()
NEVER = pytest.StashKey[list[str]]()
"""The statements that the contract leaves out, if any."""
PARTS = 8
"""Number of parts of each suite of the contract, for workers to share."""
SPACY = {
    "tests/integration/test_canaries.py",
    "tests/integration/test_ingest_models.py",
    "tests/unit/test_privacy.py",
    "tests/unit/test_reworder.py",
}
"""The modules that load spaCy's model, which takes seconds in each worker."""
SERVERS = {"_first_server", "neo4j_address", "neo4j_lts", "neo4j_examples"}
"""The fixtures by which a test has the run's Neo4j."""


def pytest_configure():
    """Set what the processes that tests start inherit.

    Ctrl-C works again where whoever started us ignores it, as nohup's script does.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # On a busy machine making an example may take seconds; speed is measured in bench/.
    hypothesis.settings.register_profile("busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
    hypothesis.settings.load_profile("busy")
    # A server that lives for minutes takes less time with code that is compiled quickly than with code that is compiled well.
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC")
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - by default 15, with which Ray's workers get no turn beside other tests
    # Here, as the hub's library reads them when it is first imported.
    os.environ.update({"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"})
    refused = Path(tempfile.gettempdir(), f"drag-graph-refused-{os.getpid()}")
    refused.unlink(missing_ok=True)  # of an earlier process that had this number
    os.environ["TESTS_REFUSED"] = str(refused)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(GUARD), str(EXAMPLES.parent)])
    runpy.run_path(str(GUARD / "sitecustomize.py"))
    ScriptedServer.log = watched(ScriptedServer.log)
    # By default the engine's page table covers 80 % of the memory, and filling it takes half the time of opening a small store.
    ladybug.Database.__init__ = functools.partialmethod(ladybug.Database.__init__, buffer_pool_size=1 << 28)


@pytest.fixture(autouse=True)
def without_json():
    """Forget whether the last command of the same process had --json."""
    before = AS_JSON.set(False)
    yield
    AS_JSON.reset(before)


@pytest.fixture
def refused():
    """Returns what was refused until now, and forgets it: for tests that want it refused."""
    path = Path(os.environ["TESTS_REFUSED"])

    def take():
        said = path.read_text(encoding="utf-8") if path.exists() else ""
        path.unlink(missing_ok=True)
        return said

    return take


@pytest.fixture(autouse=True)
def _no_way_out(refused):
    """Fail a test of which something was refused, whatever was made of the error."""
    yield
    assert refused() == ""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Say what stays together when several workers share the tests (`pytest -n`, xdist).

    What is in one module does, so that its fixtures are made once; so do all modules that load spaCy. The suites of the
    contract are cut into parts.
    """
    for item in items:
        group = item.nodeid.split("::")[0]
        if group.startswith("tests/contract/test_contract_") and "::Test" in item.nodeid:
            parameters = item.callspec.params if hasattr(item, "callspec") else {}
            part = crc32(item.nodeid.split("[")[0].encode()) % PARTS
            group = " ".join([group, str(part), *filter(None, [parameters.get("neo4j_address")])])
        elif group == "tests/e2e/test_guide.py":
            group = item.nodeid  # its pages have nothing in common
        elif group in SPACY:
            group = "spacy"
        item.add_marker(pytest.mark.xdist_group(group))


def pytest_make_parametrize_id(val):
    """Name a long text by its beginning: workers send the names of tests to and fro."""
    return f"{val[:20]!a} and more, {len(val)} in all" if isinstance(val, str | bytes) and len(val) > 200 else None


def _on_neo4j(item):
    return not SERVERS.isdisjoint(item.fixturenames) or "neo4j" in item.nodeid.lower()


def _needs_server(item):
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    return not SERVERS.isdisjoint(item.fixturenames) or parameters.get("store") == "neo4j"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """Let a test that is marked `alone` have the run's Neo4j to itself: wait until the other worker's test has ended."""
    if not is_worker() or not _on_neo4j(item):
        return (yield)
    folder = shared_folder(item.config)
    with (folder / "neo4j.door").open("w") as door, (folder / "neo4j.room").open("w") as room:
        fcntl.flock(door, fcntl.LOCK_EX)  # who waits to be alone keeps the door, so that nobody passes it
        fcntl.flock(room, fcntl.LOCK_EX if item.get_closest_marker("alone") else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session, exitstatus):
    """Stop the run's servers, and fail a run of the whole contract that leaves out a statement.

    Were this process killed, the servers would see that it is gone and stop themselves.
    """
    if is_worker():
        return
    for home in shared_folder(session.config).glob("neo4j-*"):
        stop_server(home)
    if exitstatus == pytest.ExitCode.OK and (never := never_executed(session.config)):
        session.config.stash[NEVER] = never
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    """List the statements that the contract leaves out."""
    if never := config.stash.get(NEVER, []):
        terminalreporter.section("statements that no test of the contract executes", red=True, bold=True)
        terminalreporter.write_line("Cover these in tests/contract:")
        for name in never:
            terminalreporter.write_line(f"  {name}")


def pytest_collection_finish(session):
    """Start the run's Neo4j while other tests run, if some test needs it: the first worker does so, in a thread."""
    is_first = os.environ.get("PYTEST_XDIST_WORKER", "gw0") == "gw0" and not session.config.option.collectonly
    if is_first and not EXISTING and any(map(_needs_server, session.items)):
        shared_folder(session.config)  # two threads at once would make two
        Thread(target=_start_early, args=(session.config,), daemon=True).start()


def _start_early(config):
    with suppress(DragGraphError):  # the test that needs the server says what is wrong
        run_server(VERSIONS[0], config)


def _address(version, config):
    if version in EXISTING:
        return version, "neo4j", os.environ.get("DRAG_GRAPH_TEST_NEO4J_PASSWORD", PASSWORD)
    return run_server(version, config).store, "neo4j", PASSWORD


@pytest.fixture(scope="session")
def _first_server(pytestconfig):
    return _address(VERSIONS[0], pytestconfig)


PARAMETERS = [VERSIONS[0], *(pytest.param(version, marks=pytest.mark.neo4j_2026) for version in VERSIONS[1:])]


@pytest.fixture(scope="session", params=PARAMETERS)
def neo4j_address(request, pytestconfig):
    """(address, user name, password) of a Neo4j; once for each version."""
    return _address(request.param, pytestconfig)


@pytest.fixture(scope="session")
def neo4j_lts(_first_server):
    """(address, user name, password) of the long-term-support Neo4j alone."""
    return _first_server


@pytest.fixture(scope="session")
def neo4j_examples(neo4j_lts, tmp_path_factory):
    """The namespace of that Neo4j which holds the example questions, distilled and answered by the command line."""
    uri, user, password = neo4j_lts
    namespace = f"examples-{secrets.token_hex(4)}"
    settings = {"STORE": uri, "NAMESPACE": namespace, "EMBEDDER": "lexical"}
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith(("DRAG_GRAPH_", "NEO4J_"))},
        **{f"DRAG_GRAPH_{name}": value for name, value in settings.items()},
        "NEO4J_USERNAME": user,
        "NEO4J_PASSWORD": password,
    }
    questions = str(EXAMPLES / "questions.jsonl")
    curated = f"curated:{EXAMPLES / 'curated.jsonl'}"
    for arguments in (["distill", questions, "--teacher", curated], ["ask", "--file", questions, "--mode", "combined"]):
        subprocess.run(
            [sys.executable, "-m", "drag_graph", *arguments],
            env=environment,
            cwd=tmp_path_factory.mktemp("examples"),
            check=True,
            capture_output=True,
        )
    return namespace


@pytest.fixture(autouse=True)
def _no_settings_of_the_developer(monkeypatch, tmp_path_factory):
    """Tests see the defaults: no variables, and no drag-graph.toml in the working folder."""
    for name in os.environ:
        if name.startswith(("DRAG_GRAPH_", "NEO4J_", "OPENAI_")) and not name.startswith("DRAG_GRAPH_TEST_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")  # the vault's key goes into a file
