"""The README's commands, run as they are written; only a model's name and address are replaced."""

import re
import shlex
from pathlib import Path

from drag_graph.testing.server import ScriptedServer

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\w*\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def commands_as_written():
    """Yield the lines of the code blocks that start with drag-graph, without the transcript."""
    for block in BLOCKS:
        if not block.startswith("$"):
            yield from (line for line in block.splitlines() if line.startswith("drag-graph "))


def write_inputs(folder):
    """Write the files that the commands name: the question shown in the README, and documents."""
    (line,) = [line for line in README.splitlines() if line.startswith('{"id"')]
    (folder / "questions.jsonl").write_text(line + "\n", encoding="utf-8")
    (folder / "papers").mkdir()
    (folder / "papers" / "minutes.txt").write_text("The committee decided to repair the bridge.", encoding="utf-8")
    (folder / "notes.md").write_text("The bridge is open on Mondays.", encoding="utf-8")


def run_commands(run):
    """Run every command by `run(arguments)`, which returns an exit code and what was printed; return that by command."""
    printed = {}
    with ScriptedServer() as server:
        for command in commands_as_written():
            args = shlex.split(command)[1:]
            for role in ("teacher", "student"):
                if f"--{role}" in args and "--dry-run" not in args:
                    args[args.index(f"--{role}") + 1] = "openai/gpt-4o-mini"
                    args += [f"--{role}-base-url", server.url]
            code, text = run(args)
            assert code == 0, f"{command}\n{text}"
            printed[command] = text
    return printed
