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
from drag_graph.stores.neo4j.server import process, running_server, server_status, start_server, stop_server
from drag_graph.stores.neo4j.server.bolt import check_password
from drag_graph.stores.neo4j.server.configuration import Memory, write_configuration
from drag_graph.stores.neo4j.server.java import find_java, find_maven, java_version
from drag_graph.stores.neo4j.server.libraries import MARKER, default_cache, libraries
from drag_graph.stores.neo4j.server.releases import RELEASES, release_of

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
    script(home / "bin" / "java", f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    if compiler:
        script(home / "bin" / "javac", "#!/bin/sh\n")
    return home


def maven(folder, then="true"):
    return script(folder / "mvn", FAKE_MAVEN.format(folder=folder, then=then))


def environment(*folders, **more):
    return {"PATH": os.pathsep.join([*map(str, folders), "/usr/bin", "/bin"]), **more}


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "25.0.3" 2026-04-21 LTS', 25),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21-ea" 2023-09-19', 21),
        ('openjdk version "25" 2025-09-16', 25),
        ("command not found", None),
    ],
)
def test_the_version_is_read_from_what_java_prints(text, version):
    assert java_version(text) == version


def test_releases_are_named_in_full_or_by_series():
    assert release_of("5.26") is release_of("5.26.30") is LTS
    assert release_of("2026") is release_of("2026.08.1") is CURRENT
    assert LTS.order < CURRENT.order
    with pytest.raises(ConfigurationError) as error:
        release_of("4.4")
    assert "5.26 (5.26.30)" in error.value.hint


def test_java_home_comes_first_then_path_then_the_usual_folders(tmp_path):
    home, path, usual = (kit(tmp_path / name, version) for name, version in [("home", "21"), ("path", "25"), ("jvm/x", "24")])
    folders = (str(tmp_path / "jvm" / "*"),)
    everything = environment(path / "bin", JAVA_HOME=str(home))
    assert find_java(CURRENT, everything, kit_folders=folders).executable == home / "bin" / "java"
    assert find_java(CURRENT, environment(path / "bin"), kit_folders=folders).executable == path / "bin" / "java"
    assert find_java(CURRENT, {"PATH": ""}, kit_folders=folders).executable == usual / "bin" / "java"


def test_a_java_too_old_or_without_compiler_is_passed_over(tmp_path):
    old, bare, fits = kit(tmp_path / "a", "17.0.1"), kit(tmp_path / "b", "21", compiler=False), kit(tmp_path / "c", "23.0.1")
    found = find_java(CURRENT, {"PATH": str(bare / "bin"), "JAVA_HOME": str(old)}, kit_folders=(str(tmp_path / "*"),))
    assert (found.executable, found.version) == (fits / "bin" / "java", 23)
    assert find_java(LTS, {"PATH": "", "JAVA_HOME": str(old)}, kit_folders=()).version == 17


def test_a_java_by_way_of_a_link_has_the_compiler_of_its_kit(tmp_path):
    real = kit(tmp_path / "real", "21")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "java").symlink_to(real / "bin" / "java")
    assert find_java(CURRENT, {"PATH": str(tmp_path / "links")}, kit_folders=()).has_compiler


def test_a_missing_java_is_named_with_its_version_and_the_way_to_get_it(tmp_path):
    bare = kit(tmp_path / "bare", "17", compiler=False)
    with pytest.raises(ConfigurationError) as error:
        find_java(LTS, {"PATH": str(bare / "bin")}, kit_folders=())
    assert "Java 17 or newer (a JDK) is missing" in error.value.message
    assert "Java 17 without a compiler" in error.value.message
    assert "openjdk-17-jdk" in error.value.hint
    assert "docker compose up -d" in error.value.hint
    with pytest.raises(ConfigurationError, match="no Java was found"):
        find_java(LTS, {"PATH": ""}, kit_folders=())


def test_a_java_that_was_named_is_the_only_one_tried(tmp_path):
    named, other = kit(tmp_path / "named", "17"), kit(tmp_path / "other", "25")
    with pytest.raises(ConfigurationError, match="is Java 17"):
        find_java(CURRENT, {"PATH": str(other / "bin")}, java=named / "bin" / "java")


def test_a_missing_maven_is_named_with_the_way_to_get_it(tmp_path):
    with pytest.raises(ConfigurationError) as error:
        find_maven({"PATH": str(tmp_path)})
    assert "Maven" in error.value.message
    assert "apt install maven" in error.value.hint
    assert "docker compose up -d" in error.value.hint


def test_the_cache_is_the_users():
    assert default_cache({"XDG_CACHE_HOME": "/somewhere"}) == Path("/somewhere/drag-graph/neo4j")
    assert default_cache({}) == Path.home() / ".cache" / "drag-graph" / "neo4j"


def test_libraries_are_fetched_once(tmp_path):
    maven(tmp_path)
    said = []
    for _ in range(2):
        folder = libraries(LTS, tmp_path / "cache", environment(tmp_path), said.append)
    assert sorted(path.name for path in folder.iterdir()) == ["one.jar", "two.jar"]
    assert (tmp_path / "runs").read_text().splitlines() == ["run"]
    assert len(said) == 1
    assert LTS.version in said[0]


def test_what_is_there_needs_no_maven(tmp_path):
    maven(tmp_path)
    folder = libraries(LTS, tmp_path / "cache", environment(tmp_path))
    assert libraries(LTS, tmp_path / "cache", {"PATH": ""}) == folder


@pytest.mark.parametrize("damage", ["lost file", "cut file", "lost marker", "broken marker", "other pom", "empty marker"])
def test_incomplete_libraries_are_fetched_again(tmp_path, damage):
    maven(tmp_path)
    folder = libraries(LTS, tmp_path / "cache", environment(tmp_path))
    marker = folder.parent / MARKER
    document = json.loads(marker.read_text())
    {
        "lost file": (folder / "two.jar").unlink,
        "cut file": lambda: (folder / "two.jar").write_text(""),
        "lost marker": marker.unlink,
        "broken marker": lambda: marker.write_text('{"pom'),
        "other pom": lambda: marker.write_text(json.dumps(document | {"pom": "0"})),
        "empty marker": lambda: marker.write_text("null"),
    }[damage]()
    libraries(LTS, tmp_path / "cache", environment(tmp_path))
    assert (tmp_path / "runs").read_text().splitlines() == ["run", "run"]
    assert (folder / "two.jar").read_text() == "two\n"


def test_an_interrupted_fetch_leaves_nothing_that_counts(tmp_path):
    maven(tmp_path, then="{ kill -9 $PPID; sleep 5; }")
    code = "import sys, pathlib; from drag_graph.stores.neo4j.server.libraries import libraries\n"
    code += "from drag_graph.stores.neo4j.server.releases import RELEASES\n"
    code += f"libraries(RELEASES[0], pathlib.Path({str(tmp_path / 'cache')!r}), {environment(tmp_path)!r})"
    killed = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[2])
    assert killed.returncode == -9
    assert not (tmp_path / "cache" / LTS.version / MARKER).exists()
    maven(tmp_path)
    folder = libraries(LTS, tmp_path / "cache", environment(tmp_path))
    assert sorted(path.name for path in folder.iterdir()) == ["one.jar", "two.jar"]
    assert not list(folder.parent.glob("fetching-*"))


def test_several_at_once_fetch_once(tmp_path):
    maven(tmp_path, then="sleep 0.5")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(libraries, LTS, tmp_path / "cache", environment(tmp_path)) for _ in range(4)]
        assert len({call.result() for call in calls}) == 1
    assert (tmp_path / "runs").read_text().splitlines() == ["run"]


def test_a_failing_maven_is_told_with_its_reason(tmp_path):
    script(tmp_path / "mvn", "#!/bin/sh\necho '[ERROR] Could not resolve host: nowhere'\nexit 1\n")
    with pytest.raises(StoreUnavailable, match="Could not resolve host") as error:
        libraries(LTS, tmp_path / "cache", environment(tmp_path))
    assert "settings.xml" in error.value.hint


def test_a_maven_that_fetches_nothing_has_failed(tmp_path):
    script(tmp_path / "mvn", "#!/bin/sh\nexit 0\n")
    with pytest.raises(StoreUnavailable, match="could not fetch"):
        libraries(LTS, tmp_path / "cache", environment(tmp_path))


def test_a_cache_that_cannot_be_written_is_told(tmp_path):
    maven(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        libraries(LTS, tmp_path / "file" / "cache", environment(tmp_path))


def test_a_password_that_neo4j_would_refuse_is_refused_before_anything_starts(tmp_path):
    check_password("12345678")
    with pytest.raises(ConfigurationError, match="at least 8"):
        start_server("5.26", tmp_path / "home", password="neo4j", bolt_port=0, http_port=0, environment={"PATH": ""})
    assert not (tmp_path / "home").exists()


def test_ports_are_taken_as_wanted_or_free_and_differ():
    free = process.reserve_ports([("Bolt", 0), ("HTTP", 0)])
    assert len(set(free)) == 2
    assert process.reserve_ports([("Bolt", free[0]), ("HTTP", free[1])]) == free


def test_a_port_in_use_is_named():
    with socket.create_server((process.LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        assert process.listens(port)
        with pytest.raises(StoreUnavailable, match=rf"Port {port} \(HTTP\) is in use") as error:
            process.reserve_ports([("Bolt", 0), ("HTTP", port)])
        assert "--http-port" in error.value.hint
    assert not process.listens(port)


def test_a_home_never_used_has_a_status_and_stops_at_once(tmp_path):
    status = stop_server(tmp_path / "nothing")
    assert status == server_status(tmp_path / "nothing")
    assert (status.running, status.pid, status.version) == (False, None, "")
    assert not (tmp_path / "nothing").exists()


def record(home, pid, version=LTS.version):
    home.mkdir(exist_ok=True)
    document = {"pid": pid, "version": version, "bolt_port": 1, "http_port": 2, "password_set": True}
    (home / "server.json").write_text(json.dumps(document))


def test_a_process_id_that_now_belongs_to_another_is_not_the_server(tmp_path):
    record(tmp_path / "home", os.getpid())
    status = stop_server(tmp_path / "home")  # were it taken for the server, this test would be killed here
    assert (status.running, status.bolt_address, status.browser_address) == (
        False,
        "bolt://127.0.0.1:1",
        "http://127.0.0.1:2/browser/",
    )


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}'])
def test_a_damaged_record_counts_as_none(tmp_path, text):
    (tmp_path / "server.json").write_text(text)
    assert not server_status(tmp_path).running


def test_a_home_of_a_newer_neo4j_is_refused(tmp_path):
    record(tmp_path / "home", 0, CURRENT.version)
    with pytest.raises(StoreUnfit, match=r"2026\.08\.1.*5\.26\.30 cannot read"):
        start_server("5.26", tmp_path / "home", password=PASSWORD, environment={"PATH": ""})


def start_fake(tmp_path, then, start=start_server, **options):
    """Start a `java` that does what `then` says, in shell; `$0` and the arguments are the real ones."""
    maven(tmp_path)
    version = 'if [ "$1" = -version ]; then echo "openjdk version \\"17\\"" >&2; exit 0; fi'
    java = script(tmp_path / "bin" / "java", f"#!/bin/sh\n{version}\n{then}\n")
    script(tmp_path / "bin" / "javac", "#!/bin/sh\n")
    options = {"bolt_port": 0, "http_port": 0, "java": java, "cache_dir": tmp_path / "cache"} | options
    return start("5.26", tmp_path / "home", password=PASSWORD, environment=environment(tmp_path), **options)


def test_a_server_that_ends_while_starting_is_told_with_its_own_reason(tmp_path):
    java_says = (
        "java.lang.RuntimeException: Error starting\n\tat Launcher\nCaused by: java.io.IOException: No space left\n\tat x"
    )
    with pytest.raises(StoreUnavailable, match=r"ended while starting: java\.io\.IOException: No space left\.$") as error:
        start_fake(tmp_path, f"printf '%s\\n' '{java_says}' >&2; exit 1")
    assert str(tmp_path / "home" / "server.log") in error.value.hint
    assert not server_status(tmp_path / "home").running


def test_a_server_that_never_answers_is_stopped_at_the_deadline(tmp_path):
    with pytest.raises(StoreUnavailable, match="did not answer in time"):
        start_fake(tmp_path, "while true; do sleep 0.1; done", deadline=0.5)
    pid = json.loads((tmp_path / "home" / "server.json").read_text())["pid"]
    assert process.command_line(pid) == []


def test_the_configuration_is_loopback_only_with_a_password_without_reports_and_with_bounded_logs(tmp_path):
    with pytest.raises(StoreUnavailable):
        start_fake(tmp_path, "exit 1")
    settings = dict(line.split("=", 1) for line in (tmp_path / "home" / "conf" / "neo4j.conf").read_text().splitlines())
    addresses = [value for name, value in settings.items() if name.endswith("listen_address")]
    assert len(addresses) == 3
    assert {value.split(":")[0] for value in addresses} == {"127.0.0.1"}
    assert settings["dbms.security.auth_enabled"] == "true"
    assert settings["dbms.usage_report.enabled"] == settings["client.allow_telemetry"] == "false"
    assert settings["db.tx_log.rotation.size"] == "64m"
    assert settings["db.tx_log.rotation.retention_policy"] == "2 days 1G", "logs of two days have no upper bound"
    assert PASSWORD not in "".join(path.read_text() for path in (tmp_path / "home").rglob("*") if path.is_file())


def test_a_home_that_is_a_file_is_told(tmp_path):
    (tmp_path / "home").write_text("")
    with pytest.raises(ConfigurationError, match="cannot be used"):
        start_fake(tmp_path, "exit 1")


def test_a_stubborn_process_is_killed(tmp_path):
    launcher = script(tmp_path / "Launcher.java", "trap '' TERM\necho up\nwhile true; do sleep 0.1; done\n")
    pid = process.spawn(["/bin/sh", str(launcher), str(tmp_path)], tmp_path / "log", tmp_path)
    while "up" not in (tmp_path / "log").read_text():
        pass
    assert process.runs(pid, tmp_path)
    assert not process.runs(pid, tmp_path / "other")
    assert process.terminate(pid, tmp_path, patience=0.3) is False
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
    assert process.terminate(pid, tmp_path, patience=0.3) is True


def test_a_server_for_a_block_that_does_not_start_is_not_left_running(tmp_path):
    with pytest.raises(StoreUnavailable, match="ended while starting"), start_fake(tmp_path, "exit 1", start=running_server):
        pass
    assert not server_status(tmp_path / "home").running


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_a_process_that_replaces_its_program_counts_as_running(tmp_path):
    script(tmp_path / "Launcher.java", f'exec sh "{tmp_path}/Launcher.java" "{tmp_path}"\n')
    with subprocess.Popen(["sh", str(tmp_path / "Launcher.java"), str(tmp_path)]) as again:
        try:
            assert all(process.runs(again.pid, tmp_path) for _ in range(3000))
        finally:
            again.kill()


@pytest.mark.parametrize(
    ("heap", "options"),
    [("1g", ["-Xms512m", "-Xmx1g"]), ("256M", ["-Xms256M", "-Xmx256M"]), ("4096m", ["-Xms512m", "-Xmx4096m"])],
)
def test_memory_is_what_the_user_says(tmp_path, heap, options):
    memory = Memory(heap, "3g")
    assert memory.java_options == options
    text = write_configuration(tmp_path, LTS, 1, 2, memory).read_text()
    assert "server.memory.pagecache.size=3g\n" in text


@pytest.mark.parametrize("size", ["", "0g", "1", "1.5g", "1gb", "-1g", "1g\nserver.x=y", "many"])
def test_sizes_that_are_none_are_refused(size):
    with pytest.raises(ConfigurationError, match="heap") as refused:
        Memory(heap=size)
    assert "512m" in refused.value.hint
    with pytest.raises(ConfigurationError, match="page cache"):
        Memory(page_cache=size)
