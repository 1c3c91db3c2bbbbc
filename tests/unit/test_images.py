"""The image, the compose profiles and the systemd unit: what they run exists in this version."""

import configparser
import json
import re
import shlex
import subprocess
import sys
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from cli.command_table import load_command
from drag_graph.settings import Settings

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES = {name: service for name, service in COMPOSE["services"].items() if "build" in service}


def instructions(name):
    """Return the arguments of the instructions of that name, in order."""
    return re.findall(rf"^{name}\s+(.*)$", DOCKERFILE, re.MULTILINE)


def unit():
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str
    parser.read(ROOT / "examples" / "drag-graph.service", encoding="utf-8")
    return parser


def commands():
    """Return the command lines of drag-graph in the image, for each compose service, and in the unit."""
    (entry,), (command,) = instructions("ENTRYPOINT"), instructions("CMD")
    lines = {"Dockerfile": json.loads(entry) + json.loads(command)}
    lines |= {name: json.loads(entry) + service.get("command", json.loads(command)) for name, service in SERVICES.items()}
    lines["unit"] = shlex.split(unit()["Service"]["ExecStart"])
    return lines


@pytest.mark.parametrize("place", commands())
def test_its_command_exists_with_these_flags(place):
    program, name, *flags = commands()[place]
    assert Path(program).name == "drag-graph"
    load_command(name).make_context(name, flags)  # raises a usage error for an unknown flag or an unusable value


class Health(BaseHTTPRequestHandler):
    """Answers with the status of the server."""

    def do_GET(self):
        self.send_response(self.server.status if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, *_args):
        pass


@pytest.mark.parametrize(("status", "is_healthy"), [(200, True), (503, False)])
def test_the_health_check_asks_the_service(status, is_healthy):
    (check,) = re.findall(r"HEALTHCHECK .*?CMD (\[.*\])", DOCKERFILE)
    program, *arguments = json.loads(check)
    assert program == "python"
    assert "127.0.0.1:8080/health" in arguments[-1]
    with ThreadingHTTPServer(("127.0.0.1", 0), Health) as server:
        server.status = status
        threading.Thread(target=server.serve_forever, daemon=True).start()
        arguments[-1] = arguments[-1].replace(":8080", f":{server.server_address[1]}")
        done = subprocess.run([sys.executable, *arguments], capture_output=True)
        server.shutdown()
    assert (done.returncode == 0) == is_healthy


def test_the_image_is_slim_and_has_a_user_of_its_own_and_volumes():
    assert all(image.split()[0].endswith("-slim") for image in instructions("FROM"))
    assert instructions("USER") == ["10001"]
    assert DOCKERFILE.index("\nUSER ") < DOCKERFILE.index("\nENTRYPOINT ")
    assert json.loads(instructions("VOLUME")[0]) == ["/data", "/models"]


def test_the_image_copies_what_exists_and_installs_extras_that_exist():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    for line in instructions("COPY"):
        *sources, _ = line.split()
        if not sources[0].startswith("--from"):
            assert all((ROOT / source).exists() and f"!{source}" in ignored for source in sources), line
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (extras,) = re.findall(r"^ARG EXTRAS=(\S+)", DOCKERFILE, re.MULTILINE)
    assert set(extras.split(",")) <= set(project["project"]["optional-dependencies"])
    packed = project["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"]
    assert {f"!{folder}" for folder in packed} <= set(ignored)


def test_every_variable_is_a_setting():
    texts = [DOCKERFILE, json.dumps(COMPOSE), (ROOT / "examples" / "drag-graph.service").read_text(encoding="utf-8")]
    named = {name for text in texts for name in re.findall(r"DRAG_GRAPH_[A-Z_]+", text)}
    assert named <= {f"DRAG_GRAPH_{name.upper()}" for name in Settings.model_fields}
    assert "DRAG_GRAPH_STORE" in named


def test_each_profile_starts_a_service_that_only_this_machine_reaches():
    assert {tuple(service["profiles"]) for service in SERVICES.values()} == {("service",), ("service-neo4j",)}
    for service in SERVICES.values():
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])
        assert {volume.split(":")[1] for volume in service["volumes"]} == {"/data", "/models"}
    with_neo4j = SERVICES["service-neo4j"]
    assert with_neo4j["environment"]["DRAG_GRAPH_STORE"].startswith("bolt://neo4j:")
    assert with_neo4j["depends_on"] == {"neo4j": {"condition": "service_healthy"}}


def test_the_unit_runs_without_privileges_and_stops_with_a_signal_that_the_service_knows():
    service = unit()["Service"]
    assert (service["DynamicUser"], service["NoNewPrivileges"], service["ProtectSystem"]) == ("yes", "yes", "strict")
    assert "KillSignal" not in service  # SIGTERM, on which the service finishes its answers
    assert "127.0.0.1" in shlex.split(service["ExecStart"])
