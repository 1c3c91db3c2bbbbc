"""What an outcome records about the machine: package versions, the hash of a model's file, the commit of the checkout."""

import subprocess
from importlib.metadata import distributions
from pathlib import Path

from drag_graph import files
from drag_graph.files import sha256_of_file

PACKAGES = ("ladybug", "litellm", "neo4j", "numpy", "torch", "transformers", "xllamacpp")
"""Packages that can change an answer."""


def versions() -> dict[str, str]:
    """Return the versions of those of `PACKAGES` that are installed."""
    return {name: found[0].version for name in PACKAGES if (found := list(distributions(name=name)))}


def file_hash(model: str) -> str:
    """Return the SHA-256 of a model's file (`gguf:FILE`), or "" if the name is not that of a file."""
    path = Path(model.partition(":")[2]).expanduser()
    return sha256_of_file(path) if path.is_file() else ""


def git_hash() -> str:
    """Return the commit of the checkout, or "" if the code is not in one."""
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    folder = Path(files.__file__).parent
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=10, check=False)  # noqa: S603 - no input
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
