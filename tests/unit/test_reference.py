"""The generated pages of the reference are up to date: `python docs/generate.py` writes them."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
GENERATE = runpy.run_path(str(DOCS / "generate.py"))


@pytest.mark.parametrize("name", GENERATE["PAGES"])
def test_the_page_is_up_to_date(name):
    written = (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8")
    assert written == GENERATE["page"](name), "Run `python docs/generate.py`."


def test_a_page_without_its_mark_is_refused(tmp_path):
    (tmp_path / "http.md").write_text("# HTTP\n", encoding="utf-8")
    page = GENERATE["page"]
    page.__globals__["REFERENCE"], own = tmp_path, page.__globals__["REFERENCE"]
    try:
        with pytest.raises(AssertionError, match=r"http\.md has no line"):
            page("http")
    finally:
        page.__globals__["REFERENCE"] = own
