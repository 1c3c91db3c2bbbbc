"""The pages of the guide: their code blocks, and what the tests replace in them to run without a network."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RUN = ("README.md", "docs/tutorial.md", "docs/how-to/*.md", "docs/explanation/*.md")
"""The pages whose blocks are run."""
MODEL = "openai/gpt-4o-mini"
"""The name of the scripted model. It has a price, so budgets and estimates work."""
BASE_URLS = {"extractor": "teacher", "judge": "student"}
"""Roles whose model is at the address of another role."""
ROLES = "teacher|student|summariser|rewriter|check|checker|reranker|extractor|judge"
_BLOCK = re.compile(
    r"(?P<mark>^[ ]*<!-- not run: (?P<reason>[^\n]+?) -->\n+)?"
    r"^(?P<indent>[ ]*)```(?P<language>\w*)(?: title=\"(?P<title>[^\"]*)\")?[^\n]*\n(?P<text>.*?)^(?P=indent)```[ ]*$",
    re.DOTALL | re.MULTILINE,
)
_FLAG = re.compile(rf"--(?P<role>{ROLES})[ =](?P<model>[^\s'\"]+)")
_ASSIGNED = re.compile(rf"\b(?P<role>{ROLES})(?P<equals> ?= ?)(?P<quote>[\"'])(?P<model>[^\"']+)(?P=quote)(?P<end>,?)")
_EXPORTED = re.compile(rf"\bDRAG_GRAPH_(?P<role>{ROLES.upper()})=(?P<model>\S+)")
_ADDRESS = re.compile(r"((?:--[a-z]+-base-url[ =]|_base_url ?= ?[\"']|_BASE_URL=))http[^\s\"']+")


@dataclass(frozen=True)
class Block:
    """A code block. `reason` says why it is not run; `line` is its line in the page."""

    language: str
    title: str
    text: str
    reason: str
    line: int

    @property
    def is_run(self):
        """Whether a test runs it: a shell or Python block that is neither a file nor marked."""
        is_file = self.language == "python" and self.title
        return self.language in {"sh", "python"} and not self.reason and not is_file

    @property
    def is_file(self):
        """Whether it is the content of a file."""
        return bool(self.title) and self.language != "sh"


def pages(*patterns):
    """Return the paths of the pages that match, relative to the repository."""
    return sorted(str(path.relative_to(ROOT)) for pattern in patterns for path in ROOT.glob(pattern))


def blocks_of(page):
    """Return the code blocks of a page, in order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(
            found["language"],
            found["title"] or "",
            textwrap.dedent(found["text"]),
            found["reason"] or "",
            text.count("\n", 0, found.start("indent")) + 1,
        )
        for found in _BLOCK.finditer(text)
    ]


def scripted(text, address):
    """Return a text in which all served models, and their addresses, are those of a scripted server."""
    text = _ADDRESS.sub(lambda found: f"{found[1]}{address}", text)

    def flag(found):
        role = BASE_URLS.get(found["role"], found["role"])
        own = "" if f"--{role}-base-url" in text else f" --{role}-base-url {address}"
        return f"--{found['role']} {MODEL}{own}" if is_served(found["role"], found["model"]) else found[0]

    def assigned(found):
        role = BASE_URLS.get(found["role"], found["role"])
        own = "" if f"{role}_base_url" in text else f'{found["end"] or chr(10)} {role}_base_url{found["equals"]}"{address}"'
        new = f'{found["role"]}{found["equals"]}"{MODEL}"{own}{found["end"]}'
        return new.replace("\n ", "\n") if is_served(found["role"], found["model"]) else found[0]

    def exported(found):
        own = f" DRAG_GRAPH_{found['role']}_BASE_URL={address}"
        return f"DRAG_GRAPH_{found['role']}={MODEL}{own}" if is_served(found["role"].lower(), found["model"]) else found[0]

    return _EXPORTED.sub(exported, _ASSIGNED.sub(assigned, _FLAG.sub(flag, text)))


def is_served(role, model):
    """Whether the tests replace a model: a served one, or one whose weights they do not have."""
    if model.startswith(("curated:", "tape:")):
        return False
    if model.startswith("gguf:"):
        return role not in {"student", "judge"}  # random weights can answer, but write no JSON
    return model.startswith(("gpt-", "claude", "transformers:")) or "/" in model.split(":")[0]
