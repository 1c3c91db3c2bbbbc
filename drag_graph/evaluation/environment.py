"""What an outcome records of the machine's side: the hash of a model's file, and of the checkout."""

import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import drag_graph
from drag_graph.files import sha256_of_file

PACKAGES = ("ladybug", "litellm", "neo4j", "numpy", "torch", "transformers", "xllamacpp")
"""What an answer may depend on beside drag-graph."""


def versions() -> dict[str, str]:
    """Return the versions of `PACKAGES`, as far as they are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def file_hash(model: str) -> str:
    """Return the SHA-256 of the file that a model's name names (`gguf:FILE`), or "" where it names none."""
    path = Path(model.partition(":")[2]).expanduser()
    return sha256_of_file(path) if path.is_file() else ""


def git_hash() -> str:
    """Return the commit of the checkout that this code is of, or "" where it is none."""
    folder = Path(drag_graph.__file__).parent
    try:
        found = subprocess.run(
            ["git", "rev-parse", "--short=12", "HEAD"],  # noqa: S607 - git is where the user has it
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except OSError:
        return ""
    return found.stdout.strip() if found.returncode == 0 else ""
