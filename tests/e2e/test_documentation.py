"""The guide names only what exists, its pages are as short as they should be, and its links lead somewhere."""

import re

import pytest
import yaml
from guide_pages import DOCS, ROOT, pages

from cli.command_table import SUMMARIES, load_command
from drag_graph.settings import Settings

SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
GUIDE = pages("docs/**/*.md")
GENERATED = [f"docs/reference/{name}.md" for name in ("commands", "settings", "python", "http", "prompts", "exit-codes")]
REFERENCE = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")


def words(*names):
    """Return the number of words of pages, without their code blocks."""
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in names]
    return sum(len(re.sub(r"```.*?```", "", text, flags=re.DOTALL).split()) for text in texts)


def inside(folder):
    return [page for page in GUIDE if page.startswith(f"docs/{folder}/")]


def commands(name, command):
    """Yield the path of a command and of all below it, and whether it has subcommands."""
    subcommands = getattr(command, "commands", {})
    yield name, bool(subcommands)
    for inner, subcommand in subcommands.items():
        yield from commands(f"{name} {inner}", subcommand)


COMMANDS = dict(pair for name in SUMMARIES for pair in commands(name, load_command(name)))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_in_the_reference_with_an_example(command):
    (section,) = re.findall(rf"^## {command}\n(.*?)(?=^## |\Z)", REFERENCE, re.DOTALL | re.MULTILINE)
    examples = section.partition("```sh")[2]
    assert COMMANDS[command] or f"drag-graph {command.removesuffix(' run')}" in examples


def test_every_flag_that_the_guide_names_exists():
    known = {flag for name in SUMMARIES for flag in flags_of(load_command(name))} | {"--help", "--version", "--debug"}
    for page in ["README.md", *GUIDE]:
        for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
            for used in re.findall(r"drag-graph [^|`]*", line):
                assert set(re.findall(r"--[a-z][a-z-]+", used)) <= known, f"{page}: {line}"


def flags_of(command):
    """Return the flags of a command and of all below it."""
    flags = {flag for item in command.params for flag in (*item.opts, *item.secondary_opts) if flag.startswith("--")}
    return flags.union(*(flags_of(subcommand) for subcommand in getattr(command, "commands", {}).values()))


def test_every_variable_that_the_guide_names_is_a_setting():
    settings = {f"DRAG_GRAPH_{name.upper()}" for name in Settings.model_fields}
    for page in ["README.md", *GUIDE]:
        named = set(re.findall(r"DRAG_GRAPH_[A-Z0-9_]+[A-Z0-9]", (ROOT / page).read_text(encoding="utf-8")))
        assert {name for name in named if not name.startswith("DRAG_GRAPH_TEST")} <= settings, page


def test_every_link_leads_somewhere():
    wrong = []
    for page in ["README.md", *GUIDE]:
        for target, heading in re.findall(
            r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?", (ROOT / page).read_text(encoding="utf-8")
        ):
            path = (ROOT / page).parent / target if target else ROOT / page
            if not path.exists() or (heading and heading not in anchors(path.read_text(encoding="utf-8"))):
                wrong.append(f"{page}: {target}#{heading}")
    assert not wrong


def anchors(text):
    """Return the names of the headings of a page, and its explicit anchors."""
    titles = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    slugs = {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title.replace("`", "")).strip().lower()) for title in titles}
    return slugs | set(re.findall(r'<a id="([^"]+)"', text))


def test_the_site_has_every_page():
    listed = [f"docs/{page}" for page in re.findall(r"[\w/-]+\.md", str(SITE["nav"]))]
    assert sorted(listed) == GUIDE


def test_the_guide_is_short():
    assert words("README.md") <= 900
    counted = {*GUIDE} - {*GENERATED, *inside("decisions"), *inside("measurements")}
    assert words(*counted) <= 25_000
    assert words(*inside("measurements")) <= 12_000
    hand_written = ("graph", "json", "glossary")
    assert words(*(f"docs/reference/{name}.md" for name in hand_written)) <= 3_500


@pytest.mark.parametrize(("folder", "limit"), [("how-to", 600), ("explanation", 1_000), ("decisions", 300)])
def test_no_page_is_long(folder, limit):
    lengths = {page: words(page) for page in inside(folder) if not page.endswith("/index.md")}
    assert not {page: length for page, length in lengths.items() if length > limit}


def test_there_are_at_most_fifteen_decisions():
    assert len([page for page in inside("decisions") if not page.endswith("/index.md")]) <= 15
