"""Every code block of the guide runs, page by page, in an empty folder, as it is written.

Served models and their addresses are replaced by a scripted server, GGUF files by a tiny one, ports by free ones, and ids in
capitals by what was printed before.
"""

import re

import pytest
from guide_pages import ROOT, RUN, blocks_of, pages
from guide_runner import NEO4J, QUESTION, GuideRunner, write_inputs

from drag_graph.testing.server import ScriptedServer

MOST_NOT_RUN = 10


def uses_neo4j(page):
    return any(block.is_run and NEO4J.search(block.text) for block in blocks_of(page))


PAGES = [
    # The name makes conftest.py keep the test apart from those that need the server for themselves.
    pytest.param(page, id=f"{page}, neo4j" if uses_neo4j(page) else page)
    for page in pages(*RUN)
    if any(block.is_run for block in blocks_of(page))
]


@pytest.fixture
def runner(cli, tmp_path, monkeypatch, request):
    """Runs blocks in a folder with the files that the guide assumes."""
    page = request.node.callspec.params.get("page")
    monkeypatch.setenv("COLUMNS", "120")
    write_inputs(tmp_path)

    def drag_graph(*arguments):
        done = cli(*arguments)
        return done.code, f"{done.out}{done.err}"

    neo4j = request.getfixturevalue("neo4j_lts") if page and uses_neo4j(page) else None
    with ScriptedServer() as server:
        runner = GuideRunner(tmp_path, drag_graph, monkeypatch, address=server.url, neo4j=neo4j)
        yield runner
        runner.close()


@pytest.mark.parametrize("page", PAGES)
def test_the_page_runs_as_it_is_written(page, runner, monkeypatch):
    if "privacy" in page:
        monkeypatch.delenv("DRAG_GRAPH_PRIVACY")
    run_page(page, runner)


def run_page(page, runner):
    """Write the files of a page, then run its blocks and compare what they print. Raises AssertionError with the line."""
    blocks = blocks_of(page)
    for block in blocks:
        if block.is_file:
            runner.write(block)
    for before, block in zip([None, *blocks], blocks, strict=False):
        try:
            if block.is_run:
                runner.run(block)
            elif block.text.startswith("$ "):
                for shown in runner.transcript(block):
                    assert_printed(shown, runner.latest)
            elif block.language == "text" and not block.reason and before and before.is_run and not runner.is_scripted:
                assert_printed(block.text, runner.latest)
        except AssertionError as error:
            raise AssertionError(f"{page}, line {block.line}: {error}") from None


def assert_printed(shown, printed):
    """Fail unless each shown line was printed. Ids, times and durations differ, and `...` stands for any lines."""
    got = plain(printed)
    for line in map(plain, shown.splitlines()):
        assert all(part in got for part in line.split("...")), f"not printed: {line}\n{printed}"


def plain(text):
    """Return a text without ids, times, durations and the lines of tables and trees, in single spaces."""
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\+00:00|Z)|\b\d+(?:\.\d+)? (?:s|ms)\b", "TIME", text)
    text = re.sub(r"\b[0-9a-f]{12,64}\b", "ID", text)
    return " ".join(re.sub(r"[│├└─┃━╇┡┏┓┩┳]+", " ", text).split())


WRONG = {
    "```sh\ndrag-graph show --bad\n```": "line 1: drag-graph show --bad\n",
    "```sh\ncat missing.txt | head\n```": "line 1: cat missing.txt",
    "```python\nimport missing\n```": "No module named 'missing'",
    "```sh\ndrag-graph ingest notes.md\n```\n\n```text\n2 added\n```": "line 5: not printed: 2 added",
    "```text\n$ drag-graph ingest notes.md\n2 added\n```": "line 1: not printed: 2 added",
    "```sh\ndrag-graph ingest notes.md\ndrag-graph audit ANSWER_ID\n```": "nothing printed the ANSWER_ID",
    '```sh title="Terminal 1"\ndrag-graph serve --bad\n```': "line 1: drag-graph serve",
    "```sh\npip install '.[missing]'\n```": "missing",
}
"""Pages that must fail, and what the failure says."""


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_page_fails(text, runner, tmp_path):
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    with pytest.raises(AssertionError, match=re.escape(WRONG[text])):
        run_page(tmp_path / "page.md", runner)


def test_the_readme_shows_the_question_that_pages_assume():
    assert QUESTION in (ROOT / "README.md").read_text(encoding="utf-8")


def test_at_most_ten_blocks_are_not_run_and_each_has_a_reason():
    reasons = [(page, block.reason) for page in pages(*RUN) for block in blocks_of(page) if block.reason]
    assert len(reasons) <= MOST_NOT_RUN, reasons
    assert all(len(reason.split()) >= 2 for _, reason in reasons)


def test_blocks_have_a_known_language():
    known = {"sh", "python", "text", "json", "toml", "yaml", "cypher", "ini", "html"}
    unknown = [
        (page, block.line, block.language) for page in pages(*RUN) for block in blocks_of(page) if block.language not in known
    ]
    assert not unknown
