"""The wheel, installed into a clean environment, works from outside the checkout without any extra."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUESTION = {"question": "What mainly causes tides?", "options": ["Wind", "The gravity of the Moon"], "answer": 1}


def run(command, **kwargs):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **kwargs)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def uv():
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    assert found, "uv is in the group dev"
    return found


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Build the wheel, make an environment with it alone, and return (its bin folder, an empty home)."""
    folder = tmp_path_factory.mktemp("wheel")
    run([uv(), "build", "--wheel", "--out-dir", folder / "dist", ROOT])
    (wheel,) = (folder / "dist").glob("*.whl")
    run([uv(), "venv", "--python", sys.executable, folder / "env"])
    run([uv(), "pip", "install", "--python", folder / "env" / "bin" / "python", "-c", ROOT / "constraints.txt", wheel])
    home = folder / "home"
    home.mkdir()
    return folder / "env" / "bin", home


def environment(home):
    ours = ("DRAG_GRAPH", "NEO4J", "PYTHON", "OPENAI")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "HOME": str(home)}


def resources(folder, root):
    """Every file below `folder` that is no Python, by its path from `root`."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix not in {".py", ".pyc"})
    return {str(path.relative_to(root)) for path in files}


def test_the_wheel_carries_statements_and_migrations(installed):
    bin_folder, home = installed
    code = "import drag_graph, pathlib; print(pathlib.Path(drag_graph.__file__).parent)"
    package = Path(run([bin_folder / "python", "-c", code], cwd=home, env=environment(home)).strip())
    for folder in (
        "cli",
        "cypher/common",
        "cypher/neo4j",
        "cypher/ladybug",
        "cypher/script",
        "migrations/neo4j",
        "migrations/ladybug",
    ):
        assert any((package / folder).iterdir()), folder
    packed = resources(package, package)
    wanted = resources(ROOT / "drag_graph", ROOT / "drag_graph")
    assert packed == wanted | resources(ROOT / "cypher", ROOT) | resources(ROOT / "migrations", ROOT)
    assert {"stores/neo4j/server/Launcher.java", "stores/neo4j/server/pom.xml"} <= packed


def test_help_and_version(installed):
    bin_folder, home = installed
    assert "distill" in run([bin_folder / "drag-graph", "--help"], cwd=home, env=environment(home))
    assert "drag-graph 0." in run([bin_folder / "python", "-m", "drag_graph", "--version"], cwd=home, env=environment(home))


def test_the_slim_install_distils_asks_and_audits(installed, tmp_path):
    bin_folder, home = installed
    (tmp_path / "questions.jsonl").write_text(json.dumps(QUESTION) + "\n", encoding="utf-8")
    curated = {**QUESTION, "evidence": ["The gravity of the Moon causes the tides.", "Wind causes waves."]}
    (tmp_path / "curated.jsonl").write_text(json.dumps(curated) + "\n", encoding="utf-8")
    tool = bin_folder / "drag-graph"
    settings = {"cwd": tmp_path, "env": environment(home)}
    teacher = "curated:curated.jsonl"
    distilled = json.loads(run([tool, "distill", "questions.jsonl", "--teacher", teacher, "--json"], **settings))
    assert [query["status"] for query in distilled["queries"]] == ["complete"]
    assert distilled["queries"][0]["triples"] > 0
    asked = json.loads(run([tool, "ask", "--file", "questions.jsonl", "--json"], **settings))
    assert asked["totals"]["accuracy"] == 1.0
    audit = json.loads(run([tool, "audit", asked["answers"][0]["answer_id"], "--json"], **settings))
    assert audit["lines"], "the answer rests on lines"
    packages = set(run([uv(), "pip", "list", "--python", bin_folder / "python"], **settings).split())
    assert "ladybug" in packages
    assert not {"torch", "sentence-transformers", "transformers"} & packages


def test_help_loads_no_heavy_library(installed):
    bin_folder, home = installed
    code = (
        "import sys; sys.argv = ['drag-graph', '--help']\n"
        "from drag_graph.__main__ import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'litellm', 'torch', 'numpy', 'neo4j', 'ladybug', 'openai', 'httpx'} & set(sys.modules)\n"
        "print('HEAVY', sorted(heavy))"
    )
    assert "HEAVY []" in run([bin_folder / "python", "-c", code], cwd=home, env=environment(home))
