"""`examples/edges`: the script runs as it is written, and the commands of the compose file are ones that there are."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from cli.command_table import load_command

FOLDER = Path(__file__).parents[2] / "examples" / "edges"
EDGES = {"bakery", "harbour", "observatory", "orchard"}
SECRET = "heron-7731"


@pytest.mark.long
def test_the_script_answers_ten_questions_from_four_sites_audits_one_and_ends_all(cli, monkeypatch, tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.startswith("DRAG_GRAPH_")}
    env |= {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "DEMO": str(tmp_path / "demo")}
    command = ["bash", str(FOLDER / "run.sh")]
    begun = subprocess.Popen(
        command, env=env, cwd=tmp_path, text=True, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, err = begun.communicate(timeout=500)
    assert begun.returncode == 0, err
    with pytest.raises(ProcessLookupError):  # nothing is left of what it started
        os.killpg(begun.pid, 0)

    monkeypatch.chdir(tmp_path / "demo/bakery")
    answers = cli("answers", "--json").json
    assert len(answers) == 10
    assert sum(answer["correct"] for answer in answers) >= 8
    origins = [{line["site"] for line in answer["lines"]} for answer in answers]
    assert origins.count({""}) >= 2, "some are answered by the site itself"
    assert {name for names in origins for name in names} >= EDGES - {"bakery"}
    table = [row.split() for row in (tmp_path / "demo/answers").read_text(encoding="utf-8").splitlines()]
    named = {row[1]: row[-1] for row in table if len(row) > 2}
    assert (named["crust"], named["cepheid"]) == ("here", "observatory")

    assert "from the site observatory, variable-stars.txt, characters" in out, "the audit names the document of another site"
    assert "evidence Observers measure the brightness" in out, "and goes on there"
    stores = {name: (tmp_path / "demo" / name / ".drag-graph/graph.lbug").read_bytes() for name in (*EDGES, "cloud")}
    assert [name for name, store in stores.items() if SECRET.encode() in store] == ["orchard"]


def compose():
    return yaml.safe_load((FOLDER / "compose.yml").read_text(encoding="utf-8"))


def commands():
    """The commands of the compose file, as a shell would read them."""
    scripts = {service["command"][-1].replace("$$", "$") for service in compose()["services"].values()}
    return [shlex.split(words) for script in sorted(scripts) for words in re.findall(r"drag-graph ([^<>|\n]*)", script)]


def test_the_compose_file_has_four_sites_and_a_cloud():
    document = compose()
    services = document["services"]
    assert set(services) == EDGES | {"cloud"}
    assert {services[name]["environment"]["NAME"] for name in EDGES} == EDGES
    assert all((FOLDER / "documents" / name).is_dir() for name in EDGES)
    used = {volume.partition(":")[0] for service in services.values() for volume in service["volumes"]}
    assert {name for name in used if not name.startswith(".")} == set(document["volumes"])
    copied = re.findall(r"COPY (.*) /source", document["x-drag-graph"]["build"]["dockerfile_inline"])
    root = FOLDER / document["x-drag-graph"]["build"]["context"]
    assert len(copied) == 5
    assert all((root / name).exists() for names in copied for name in names.split())
    for service in services.values():
        *shell, script = service["command"]
        assert shell == ["sh", "-euc"]
        checked = subprocess.run(["sh", "-n", "-c", script.replace("$$", "$")], capture_output=True, check=False)
        assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("words", commands(), ids=lambda words: " ".join(words[:3]))
def test_the_commands_of_the_compose_file_are_ours(words):
    name, *words = words
    command = load_command(name)
    while hasattr(command, "commands") and words and words[0] in command.commands:
        command, words = command.commands[words[0]], words[1:]
    command.make_context(command.name, words)
