"""Neo4j without Docker, as far as it goes without starting one: Java, Maven, the cache, ports, and failures in words.

Java and Maven are played by shell scripts, so that every version and every failure can be had.
"""

import concurrent.futures
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from drag_graph.errors import ConfigurationError, StoreUnavailable, StoreUnfit
from drag_graph.stores.neo4j.server import local_server, process, server_status, start_server, stop_server
from drag_graph.stores.neo4j.server.libraries import RELEASES, find_java, find_maven, jdk_version, libraries, release_of
from drag_graph.stores.neo4j.server.local_server import check_password

LTS, CURRENT = RELEASES
PASSWORD = "a-password-for-tests"

FAKE_MAVEN = """#!/bin/sh
echo run >> "{folder}/runs"
for argument in "$@"; do case "$argument" in -DoutputDirectory=*) lib="${{argument#*=}}";; esac; done
mkdir -p "$lib" && echo one > "$lib/one.jar" && {then} && echo two > "$lib/two.jar"
"""


def script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def kit(home, version, *, compiler=True):
    modules = [f"java.base@{version}", *([f"jdk.compiler@{version}"] if compiler else []), f"jdk.jfr@{version}"]
    script(home / "bin" / "java", f"#!/bin/sh\nprintf '%s\\n' {' '.join(modules)}\n")
    return home


def maven(folder, then="true"):
    return script(folder / "mvn", FAKE_MAVEN.format(folder=folder, then=then))


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """Returns a function that sets PATH and other variables. The cache is in the test's folder."""

    def set_variables(*folders, **more):
        values = {"PATH": os.pathsep.join([*map(str, folders), "/usr/bin", "/bin"]), "JAVA_HOME": "", **more}
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return set_variables


@pytest.mark.parametrize(("text", "version"), [("17.0.15", 17), ("25", 25), ("21-ea", 21)])
def test_the_version_of_a_jdk_is_that_of_its_compiler(tmp_path, text, version):
    assert jdk_version(kit(tmp_path / "jdk", text) / "bin" / "java") == version
    assert jdk_version(kit(tmp_path / "jre", text, compiler=False) / "bin" / "java") == 0
    assert jdk_version(tmp_path / "nothing") == 0


def test_releases_are_named_by_series():
    assert (release_of("5.26"), release_of("2026")) == (LTS, CURRENT)
    with pytest.raises(ConfigurationError) as error:
        release_of("4.4")
    assert "5.26, 2026" in error.value.hint


def test_java_home_comes_first_then_path_then_the_usual_folders(tmp_path, environment):
    home, path, usual = (kit(tmp_path / name, version) for name, version in [("home", "21"), ("path", "25"), ("jvm/x", "24")])
    folders = (str(tmp_path / "jvm" / "*"),)
    environment(path / "bin", JAVA_HOME=str(home))
    assert find_java(CURRENT, folders) == home / "bin" / "java"
    environment(path / "bin")
    assert find_java(CURRENT, folders) == path / "bin" / "java"
    environment(PATH="")
    assert find_java(CURRENT, folders) == usual / "bin" / "java"


def test_a_java_too_old_or_without_compiler_is_passed_over(tmp_path, environment):
    old, bare, fits = kit(tmp_path / "a", "17.0.1"), kit(tmp_path / "b", "21", compiler=False), kit(tmp_path / "c", "23.0.1")
    environment(PATH=str(bare / "bin"), JAVA_HOME=str(old))
    assert find_java(CURRENT, (str(tmp_path / "*"),)) == fits / "bin" / "java"
    assert find_java(LTS, ()) == old / "bin" / "java"


def test_a_missing_java_is_named_with_its_version_and_the_way_to_get_it(tmp_path, environment):
    bare = kit(tmp_path / "bare", "17", compiler=False)
    environment(PATH=str(bare / "bin"))
    with pytest.raises(ConfigurationError, match="requires a JDK, version 17 or newer") as error:
        find_java(LTS, ())
    assert "is not a JDK" in error.value.message
    assert "openjdk-17-jdk" in error.value.hint
    assert "docker compose up -d" in error.value.hint
    environment(PATH="")
    with pytest.raises(ConfigurationError, match="no Java was found"):
        find_java(LTS, ())


def test_a_missing_maven_is_named_with_the_way_to_get_it(tmp_path, environment):
    environment(PATH=str(tmp_path))
    with pytest.raises(ConfigurationError) as error:
        find_maven()
    assert "Maven" in error.value.message
    assert "apt install maven" in error.value.hint
    assert "docker compose up -d" in error.value.hint


def test_libraries_are_fetched_once_and_need_no_maven_afterwards(tmp_path, environment):
    maven(tmp_path)
    environment(tmp_path)
    messages = []
    folder = libraries(LTS, messages.append)
    environment(PATH="")
    assert libraries(LTS, messages.append) == folder
    assert folder.is_relative_to(tmp_path / "cache" / "drag-graph" / "neo4j" / LTS.version)
    assert sorted(path.name for path in folder.iterdir()) == ["one.jar", "two.jar"]
    assert (tmp_path / "runs").read_text().splitlines() == ["run"]
    assert len(messages) == 1
    assert LTS.version in messages[0]


def test_an_interrupted_fetch_leaves_nothing_that_counts(tmp_path, environment):
    maven(tmp_path, then="{ kill -9 $PPID; sleep 5; }")
    environment(tmp_path)
    code = "from drag_graph.stores.neo4j.server.libraries import libraries\n"
    code += "from drag_graph.stores.neo4j.server.libraries import RELEASES\n"
    code += "libraries(RELEASES[0])"
    killed = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2])
    assert killed.returncode == -9
    maven(tmp_path)
    folder = libraries(LTS)
    assert sorted(path.name for path in folder.iterdir()) == ["one.jar", "two.jar"]
    assert not list(folder.parent.glob("fetching-*"))


def test_several_at_once_fetch_once(tmp_path, environment):
    maven(tmp_path, then="sleep 0.5")
    environment(tmp_path)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(libraries, LTS) for _ in range(4)]
        assert len({call.result() for call in calls}) == 1
    assert (tmp_path / "runs").read_text().splitlines() == ["run"]


def test_the_reason_of_a_failing_maven_is_printed(tmp_path, environment):
    script(tmp_path / "mvn", "#!/bin/sh\necho '[ERROR] Could not resolve host: nowhere'\nexit 1\n")
    environment(tmp_path)
    with pytest.raises(StoreUnavailable, match="Could not resolve host") as error:
        libraries(LTS)
    assert "settings.xml" in error.value.hint


def test_a_maven_that_fetches_nothing_has_failed(tmp_path, environment):
    script(tmp_path / "mvn", "#!/bin/sh\nexit 0\n")
    environment(tmp_path)
    with pytest.raises(StoreUnavailable, match="could not fetch"):
        libraries(LTS)


def test_a_cache_that_cannot_be_written_is_named(tmp_path, environment):
    maven(tmp_path)
    (tmp_path / "file").write_text("")
    environment(tmp_path, XDG_CACHE_HOME=str(tmp_path / "file"))
    with pytest.raises(ConfigurationError, match="cannot be written"):
        libraries(LTS)


def test_a_password_that_neo4j_would_refuse_is_refused_before_anything_starts(tmp_path):
    check_password("12345678")
    with pytest.raises(ConfigurationError, match="at least 8"):
        start_server(LTS, tmp_path / "home", password="neo4j")
    assert not (tmp_path / "home").exists()


def test_ports_are_taken_as_wanted_or_free_and_differ():
    free = process.reserve_ports([("Bolt", 0), ("HTTP", 0)])
    assert len(set(free)) == 2
    assert process.reserve_ports([("Bolt", free[0]), ("HTTP", free[1])]) == free


def test_a_port_in_use_is_named():
    with socket.create_server((process.LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StoreUnavailable, match=rf"Port {port} \(HTTP\) is in use") as error:
            process.reserve_ports([("Bolt", 0), ("HTTP", port)])
        assert "`http_port=PORT`" in error.value.hint


def test_a_home_never_used_has_a_status_and_stops_at_once(tmp_path):
    status = stop_server(tmp_path / "nothing")
    assert status == server_status(tmp_path / "nothing")
    assert (status.running, status.pid, status.version) == (False, 0, "")
    assert not (tmp_path / "nothing").exists()


def record(home, pid, version=LTS.version):
    home.mkdir(exist_ok=True)
    document = {"pid": pid, "version": version, "bolt_port": 1, "http_port": 2, "password_set": True}  # as older ones wrote
    (home / "server.json").write_text(json.dumps(document))


def test_a_process_id_that_now_belongs_to_another_is_not_the_server(tmp_path):
    record(tmp_path / "home", os.getpid())
    status = stop_server(tmp_path / "home")  # were it taken for the server, this test would be killed here
    assert (status.running, status.store, status.browser) == (False, "bolt://127.0.0.1:1", "http://127.0.0.1:2/browser/")


@pytest.mark.parametrize("text", ["", "{", "[]"])
def test_a_damaged_record_counts_as_none(tmp_path, text):
    (tmp_path / "server.json").write_text(text)
    assert not server_status(tmp_path).running


def test_a_home_of_a_newer_neo4j_is_refused(tmp_path):
    record(tmp_path / "home", 0, CURRENT.version)
    with pytest.raises(StoreUnfit, match=r"2026\.08\.1.*5\.26\.30 cannot read"):
        start_server(LTS, tmp_path / "home", password=PASSWORD)


@pytest.fixture
def start_fake(tmp_path, environment):
    """Returns a function that starts a fake `java`: it receives the real arguments and runs the shell code `then`."""

    def start(then, **options):
        maven(tmp_path)
        modules = 'if [ "$1" = --list-modules ]; then echo jdk.compiler@17; exit 0; fi'
        script(tmp_path / "jdk" / "bin" / "java", f"#!/bin/sh\n{modules}\n{then}\n")
        environment(tmp_path, JAVA_HOME=str(tmp_path / "jdk"))
        return start_server(LTS, tmp_path / "home", password=PASSWORD, **options)

    return start


def test_a_server_that_ends_while_starting_is_told_with_its_own_reason(tmp_path, start_fake):
    java_says = (
        "java.lang.RuntimeException: Error starting\n\tat Launcher\nCaused by: java.io.IOException: No space left\n\tat x"
    )
    with pytest.raises(StoreUnavailable, match=r"ended while starting: java\.io\.IOException: No space left\.$") as error:
        start_fake(f"printf '%s\\n' '{java_says}' >&2; exit 1")
    assert str(tmp_path / "home" / "server.log") in error.value.hint
    assert not server_status(tmp_path / "home").running


def test_a_server_that_never_answers_is_stopped_at_the_deadline(tmp_path, start_fake, monkeypatch):
    monkeypatch.setattr(local_server, "START_SECONDS", 0.5)
    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        start_fake("while true; do sleep 0.1; done")
    pid = json.loads((tmp_path / "home" / "server.json").read_text())["pid"]
    assert process.command_line(pid) == []


def test_the_configuration_is_loopback_only_with_a_password_without_reports_and_with_bounded_logs(tmp_path, start_fake):
    with pytest.raises(StoreUnavailable):
        start_fake("exit 1")
    lines = (tmp_path / "home" / "conf" / "neo4j.conf").read_text().splitlines()
    settings = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    addresses = [value for name, value in settings.items() if name.endswith("listen_address")]
    assert len(addresses) == 3
    assert {value.split(":")[0] for value in addresses} == {"127.0.0.1"}
    assert settings["dbms.security.auth_enabled"] == "true"
    assert settings["dbms.usage_report.enabled"] == settings["client.allow_telemetry"] == "false"
    assert settings["db.tx_log.rotation.size"] == "64m"
    assert settings["db.tx_log.rotation.retention_policy"] == "2 days 1G", "logs of two days have no upper bound"
    assert PASSWORD not in "".join(path.read_text() for path in (tmp_path / "home").rglob("*") if path.is_file())


def test_a_home_that_is_a_file_is_told(tmp_path, start_fake):
    (tmp_path / "home").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be used"):
        start_fake("exit 1")


def test_a_stubborn_process_is_killed(tmp_path):
    launcher = script(tmp_path / "Launcher.java", "trap '' TERM\necho up\nwhile true; do sleep 0.1; done\n")
    pid = process.spawn(["/bin/sh", str(launcher), str(tmp_path)], tmp_path / "log", tmp_path)
    while "up" not in (tmp_path / "log").read_text():
        pass
    assert process.runs(pid, tmp_path)
    assert not process.runs(pid, tmp_path / "other")
    process.terminate(pid, tmp_path, patience=0.3)
    assert not process.runs(pid, tmp_path)


def test_a_recorded_server_is_found_and_stopped(tmp_path):
    launcher = script(tmp_path / "Launcher.java", "echo up\nwhile true; do sleep 0.1; done\n")
    pid = process.spawn(["/bin/sh", str(launcher), str(tmp_path)], tmp_path / "log", tmp_path)
    record(tmp_path, pid)
    while "up" not in (tmp_path / "log").read_text():
        pass
    assert server_status(tmp_path).running
    assert not stop_server(tmp_path).running
    assert process.command_line(pid) == []
    process.terminate(pid, tmp_path, patience=0.3)  # does nothing


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_a_process_that_replaces_its_program_counts_as_running(tmp_path):
    script(tmp_path / "Launcher.java", f'exec sh "{tmp_path}/Launcher.java" "{tmp_path}"\n')
    with subprocess.Popen(["sh", str(tmp_path / "Launcher.java"), str(tmp_path)]) as again:
        try:
            assert all(process.runs(again.pid, tmp_path) for _ in range(3000))
        finally:
            again.kill()


def test_the_sizes_of_the_memory_are_passed_on(tmp_path, start_fake):
    with pytest.raises(StoreUnavailable, match="-Xmx4g "):
        start_fake('echo "$@"; exit 1', heap="4g", page_cache="3g")
    assert "server.memory.pagecache.size=3g\n" in (tmp_path / "home" / "conf" / "neo4j.conf").read_text()


@pytest.mark.parametrize("size", ["", "0g", "1", "1.5g", "1gb", "-1g", "1g\nserver.x=y", "many"])
def test_unusable_sizes_are_refused(tmp_path, size):
    for name, label in (("heap", "heap"), ("page_cache", "page cache")):
        with pytest.raises(ConfigurationError, match=f"size for the {label}") as refused:
            start_server(LTS, tmp_path, password=PASSWORD, **{name: size})
        assert "512m" in refused.value.hint
