"""The README's commands run as they are written, and every command and setting that the docs name exists."""

import re
import shlex
from pathlib import Path

import pytest
from readme_commands import BLOCKS, README, run_commands, write_inputs

from drag_graph.settings import Settings

ROOT = Path(__file__).parents[2]
REFERENCE = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = [
    "distill",
    "ingest",
    "refresh",
    "correct",
    "link",
    "communities",
    "ask",
    "search",
    "answers",
    "audit",
    "show",
    "export",
    "import",
    "config",
    "eval run",
    "eval compare",
    "eval picture",
    "edge init",
    "edge serve",
    "edge status",
    "edge traffic",
    "edge calibrate",
    "cloud serve",
    "cloud edges",
    "cloud edges add",
    "cloud edges remove",
    "mcp",
    "serve",
    "query",
    "keys add",
    "keys list",
    "keys revoke",
    "privacy check",
    "privacy reveal",
    "privacy scan",
    "db up",
    "db down",
    "db status",
    "db migrate",
    "db verify",
    "db erase",
]


def transcript():
    """Return (arguments, printed lines) of the commands that the README shows with their output."""
    block = next(block for block in BLOCKS if block.startswith("$ drag-graph"))
    for part in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, *printed = part.splitlines()
        yield shlex.split(command)[1:], [line for line in printed if line.strip()]


def plain(text):
    """Return the words of an output without times, durations, lines of tables and trees, and breaks."""
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00|\d+\.\d s$", "TIME", text, flags=re.MULTILINE)
    text = re.sub(r"\b[0-9a-f]{12}\b", "ID", text)
    return " ".join(re.sub(r"[│├└─]+", " ", text).split())


def test_the_transcript_is_what_the_commands_print(cli, monkeypatch, tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setenv("COLUMNS", "100")
    shown = list(transcript())
    assert [args[0] for args, _ in shown] == ["distill", "ask", "audit"]
    answer = ""
    for args, printed in shown:
        done = cli(*args) if args[0] != "audit" else cli("audit", answer)
        assert done.code == 0, done.err
        got = plain(done.out)
        answer = done.out.split("audit ")[-1].strip()
        for block in "\n".join(printed).split("...\n"):
            assert plain(block) in got


def test_every_command_of_the_readme_runs_as_written(cli, tmp_path):
    write_inputs(tmp_path)

    def run(args):
        done = cli(*args)
        return done.code, f"{done.out}{done.err}"

    printed = run_commands(run)
    assert len(printed) == 7
    assert "bridge" in printed['drag-graph ask "What did the committee decide?"']


def test_the_readme_is_short():
    assert len(README.split()) <= 900


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_is_in_the_reference(cli, command):
    done = cli(*command.split(), "--help")
    assert done.code == 0
    assert f"drag-graph {command}" in done.out.replace("\n", " ")
    assert f"{command.split()[-1]}`" in REFERENCE or f"`{command} " in REFERENCE


def test_every_flag_that_the_docs_name_exists(cli):
    known = set()
    for command in COMMANDS:
        known |= set(re.findall(r"--[a-z][a-z-]+", cli(*command.split(), "--help").out))
    for page in PAGES:
        for line in page.read_text(encoding="utf-8").splitlines():
            if "drag-graph " in line and not line.lstrip().startswith(("python", "PYTHONPATH")):
                for used in re.findall(r"drag-graph [^|`]*", line):
                    unknown = set(re.findall(r"--[a-z][a-z-]+", used)) - known
                    assert not unknown, f"{page.name}: {line}"


def test_every_variable_that_the_docs_name_is_a_setting():
    settings = {f"DRAG_GRAPH_{name.upper()}" for name in Settings.model_fields}
    for page in PAGES:
        named = set(re.findall(r"DRAG_GRAPH_[A-Z_]+[A-Z]", page.read_text(encoding="utf-8")))
        assert {name for name in named if not name.startswith("DRAG_GRAPH_TEST")} <= settings, page.name


def test_every_link_of_the_docs_leads_somewhere():
    for page in [*PAGES, *sorted((ROOT / "docs" / "adr").glob("*.md"))]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_python_example_runs(cli, monkeypatch, tmp_path, capsys):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(code, "README.md", "exec"), {})
    assert "tides" in capsys.readouterr().out
