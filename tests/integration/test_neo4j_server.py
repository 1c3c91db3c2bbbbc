"""A real Neo4j without Docker: it starts, answers, is found again, survives `kill -9`, and never outlives its test.

Most tests use the server of the whole run; those that kill one start their own, and are `long`.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import neo4j
import pytest
from neo4j.exceptions import AuthError
from workers import PASSWORD, home_of, run_server, running_server

from drag_graph.errors import ConfigurationError, StoreUnavailable
from drag_graph.stores.neo4j.server import process, server_status, start_server, stop_server
from drag_graph.stores.neo4j.server.libraries import RELEASES, find_java

pytestmark = [pytest.mark.neo4j, pytest.mark.slow]

REPOSITORY = Path(__file__).parents[2]
LTS, CURRENT = RELEASES
LONGEST = 120
"""Seconds in which a process ends, also on a machine that has other work."""


def one_value(server, text, password=PASSWORD, **parameters):
    with neo4j.GraphDatabase.driver(server.store, auth=(server.username, password)) as driver:
        return driver.execute_query(text, parameters).records[0][0]


def page(address):
    with urllib.request.urlopen(address, timeout=10) as answer:
        return answer.status, answer.read().decode()


def listening(pid):
    """The addresses that a process listens at, from the kernel's tables (hexadecimal, as it writes them)."""
    sockets = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed since it was listed
            sockets.add(str(link.readlink()))
    addresses = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                addresses.add(fields[1].split(":")[0])
    return addresses


def ends(pid, seconds):
    deadline = time.monotonic() + seconds
    while process.command_line(pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not process.command_line(pid)


@pytest.fixture(scope="module")
def home(pytestconfig):
    return home_of(LTS.series, pytestconfig)


@pytest.fixture(scope="module")
def server(home, pytestconfig):
    """The server of the whole run."""
    return run_server(LTS.series, pytestconfig)


def test_it_answers_over_bolt_and_http_and_serves_browser(server):
    assert one_value(server, "CALL dbms.components() YIELD versions RETURN versions[0]") == LTS.version
    status, root = page(server.browser.removesuffix("browser/"))
    assert (status, f'"neo4j_version":"{LTS.version}"' in root, f"bolt://127.0.0.1:{server.bolt_port}" in root) == (
        200,
        True,
        True,
    )
    status, browser = page(server.browser)
    assert status == 200
    assert "<html" in browser.lower()


def test_it_listens_on_the_loopback_interface_only(server):
    assert listening(server.pid)
    # 127.0.0.1, and the same mapped into IPv6
    assert listening(server.pid) <= {"0100007F", "0000000000000000FFFF00000100007F"}


@pytest.mark.alone  # the third wrong password in a row, whoever gives it, closes the account for a while
@pytest.mark.parametrize("password", ["neo4j", "not-the-password"])
def test_it_opens_with_the_password_that_was_set_and_no_other(server, password):
    assert one_value(server, "RETURN 1") == 1
    with pytest.raises(AuthError):
        one_value(server, "RETURN 1", password)
    assert one_value(server, "RETURN 1") == 1


def test_starting_it_again_reports_the_one_that_runs(server, home):
    again = start_server(LTS, home, password=PASSWORD)
    assert (again.pid, again.store) == (server.pid, server.store)
    status = server_status(home)
    assert (status.running, status.version, status.browser) == (True, LTS.version, server.browser)


@pytest.mark.alone
def test_another_version_or_password_is_refused_and_it_goes_on(server, home):
    assert one_value(server, "RETURN 1") == 1
    with pytest.raises(ConfigurationError, match=r"5\.26\.30 runs on"):
        start_server(CURRENT, home, password=PASSWORD)
    with pytest.raises(ConfigurationError, match="another password"):
        start_server(LTS, home, password="not-the-password")
    assert one_value(server, "RETURN 1") == 1


def test_its_ports_are_refused_to_a_second_one(server, tmp_path):
    with pytest.raises(StoreUnavailable, match=rf"Port {server.bolt_port} \(Bolt\) is in use"):
        start_server(LTS, tmp_path, password=PASSWORD, bolt_port=server.bolt_port)
    assert not server_status(tmp_path).running


@pytest.mark.long
@pytest.mark.parametrize("is_started", [True, False])
def test_a_server_never_outlives_its_parent(tmp_path, is_started):
    code = (
        "import os, pathlib, sys, time\n"
        "from drag_graph.stores.neo4j.server import start_server\n"
        "from drag_graph.stores.neo4j.server.libraries import release_of\n"
        "release, home = release_of(sys.argv[1]), pathlib.Path(sys.argv[2])\n"
        "start_server(release, home, password='a-password-for-this-test', parent=os.getpid())\n"
        "print('started', flush=True)\n"
        "time.sleep(600)\n"
    )
    command = [sys.executable, "-c", code, LTS.series, str(tmp_path)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as test:
        try:
            assert not is_started or test.stdout.readline() == "started\n"
            while not server_status(tmp_path).running and test.poll() is None:
                time.sleep(0.1)
            pid = server_status(tmp_path).pid
        finally:
            test.kill()
    assert pid
    assert ends(pid, LONGEST), "the server outlived the process that started it"


@pytest.mark.neo4j_2026
def test_the_current_release_starts_where_its_java_is_and_else_says_which_is_needed(tmp_path):
    try:
        find_java(CURRENT)
    except ConfigurationError:
        with pytest.raises(ConfigurationError, match="version 21 or newer"):
            start_server(CURRENT, tmp_path, password=PASSWORD)
        return
    with running_server(CURRENT.series, tmp_path) as server:
        assert one_value(server, "CALL dbms.components() YIELD name, versions RETURN versions[0]") == CURRENT.version
        assert page(server.browser.removesuffix("browser/"))[0] == page(server.browser)[0] == 200
    assert not server_status(tmp_path).running


@pytest.mark.long
def test_after_kill_9_it_starts_on_the_same_home_with_its_data(tmp_path):
    with running_server(LTS.series, tmp_path) as first:
        one_value(first, "CREATE (n:Kept {value: $value}) RETURN n.value", value=7)
        os.kill(first.pid, signal.SIGKILL)
        assert ends(first.pid, LONGEST)
        assert not server_status(tmp_path).running
    # Outliving us is the other way to start one: nothing watches, `stop_server` alone ends it.
    second = start_server(LTS, tmp_path, password=PASSWORD)
    assert one_value(second, "MATCH (n:Kept) RETURN n.value") == 7
    assert not stop_server(tmp_path).running
    assert ends(second.pid, 0)
    assert "Stopped 'DatabaseId{00000000[system]}' successfully." in (tmp_path / "logs" / "debug.log").read_text()
