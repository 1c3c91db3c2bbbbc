"""Tables become rows with their header, and headings the path of what stands below them, whatever the kind of file."""

from pathlib import Path

import pytest

from drag_graph.documents.blocks import Block, table_blocks
from drag_graph.documents.file_loaders import load
from drag_graph.documents.markup_blocks import html_blocks, markdown_blocks
from drag_graph.documents.office_blocks import csv_blocks, json_lines_blocks

MIXED = Path(__file__).parents[2] / "bench" / "data" / "mixed" / "files"
ROWS = {
    "suppliers.md": (
        ("Suppliers", "Metal"),
        None,
        "Fjordmetall | product: castings | lead time: 10 weeks | contact: Ingrid Solheim",
    ),
    "handbook.html": (
        ("Staff handbook", "Shifts and allowances"),
        None,
        "Night | Hours: 21:00 to 05:00 | Allowance per hour: 4.60 euros",
    ),
    "instruments.docx": (
        ("Instruments of the laboratory", "Where they stand"),
        None,
        "Balance Mira | Room: B 118 | Owner: Lena Ostrowski | Next calibration: 3 February 2026",
    ),
    "prices.xlsx": (("Shipping",), None, "Oceania | Up to 5 kg: 71 euros | Up to 30 kg: 205 euros"),
    "inventory.csv": ((), None, "NL-3301 | description: control board, revision E | shelf: A9 | stock: 95 | reorder at: 10"),
    "roadmap.pptx": (("First quarter",), 2, "Certification for Japan starts, by Kenji Mori"),
    "safety-manual.pdf": (("Spills",), 2, "Cover a spill of mercury with sulphur powder and call extension 4711."),
    "delivery-delay.eml": (("Brackets, order 7731",), None, "We send them by air at our own cost."),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_file_gives_rows_and_texts_under_their_headings(name):
    heading, page, wanted = ROWS[name]
    loaded = load(MIXED / name)
    (block,) = [block for block in loaded.blocks if wanted in loaded.text[block.start : block.end]]
    assert (block.heading, block.page) == (heading, page)
    assert block.kind == ("row" if " | " in wanted else "text")


def test_blocks_lie_in_the_text_in_order():
    for path in MIXED.iterdir():
        loaded, end = load(path), 0
        for block in loaded.blocks:
            assert not loaded.text[end : block.start].strip()
            end = block.end
        assert end == len(loaded.text)


def test_a_row_without_header_and_cells_without_text():
    assert [block.text for block in table_blocks([["a", "", "c"], ["", " "]], (), has_header=False)] == ["a | c"]
    rows = [["name", "size", ""], ["", "3", "x"], ["b", "", ""], ["c", "c", ""]]
    assert [block.text for block in table_blocks(rows, (), has_header=True)] == ["size: 3 | x", "b", "c | size: c"]
    assert [block.text for block in table_blocks([["only", "header"]], (), has_header=True)] == ["only | header"]


def test_markdown_keeps_lists_and_code_as_written():
    text = "Intro\n\n## A *b*\n\n- one\n- two\n\n```\n# no heading\n| no | table |\n```\n"
    blocks = [block for block in markdown_blocks(text) if block.text.strip()]
    assert [(block.kind, block.text.strip()) for block in blocks] == [
        ("text", "Intro"),
        ("heading", "## A *b*"),
        ("text", "- one\n- two"),
        ("text", "```\n# no heading\n| no | table |\n```"),
    ]


def test_a_page_is_read_without_scripts_comments_and_navigation():
    page = "<!doctype html><nav>Home</nav><!-- no --><script>x</script><p>One<br>two <b>th</b>ree</p>four<div>five</div>six"
    assert [block.text for block in html_blocks(page) if block.text] == ["One\ntwo three", "four", "five", "six"]


def test_a_table_for_layout_is_read_by_its_inner_parts():
    inner = "<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>"
    page = f"<table><tr><td><h2>Head</h2>{inner}</td></tr></table>"
    assert [(block.text, block.heading) for block in html_blocks(page) if block.text] == [("Head", ()), ("1 | b: 2", ("Head",))]


def test_the_separator_of_a_csv_file_is_recognised():
    assert [block.text for block in csv_blocks("name;size\nx;3,5\ny;4,0\n")] == ["x | size: 3,5", "y | size: 4,0"]


def test_a_record_is_a_row_of_all_its_values():
    (row,) = json_lines_blocks('{"a": 1, "b": {"c": "x", "d": null}, "e": ["y", {"f": true}]}\n\n')
    assert row == Block("a: 1 | b.c: x | e: y | e.f: True", "row")


def test_a_table_may_begin_below_a_title_and_beside_empty_columns():
    rows = [
        ["", "Prices of 2026", ""],
        ["", "", ""],
        ["", "Region", "Price"],
        ["", "Oceania", "71 euros"],
    ]
    blocks = table_blocks(rows, ("Shipping",), has_header=True)
    assert [(block.text, block.kind) for block in blocks] == [
        ("Prices of 2026", "text"),
        ("Oceania | Price: 71 euros", "row"),
    ]
    assert [block.text for block in table_blocks([["a"], ["b"], ["c"]], (), has_header=True)] == ["b", "c"]
