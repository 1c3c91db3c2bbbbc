"""Tables fit the terminal, and lose no text in a pipe (`cli.render`)."""

import re

import pytest
from rich.cells import cell_len
from rich.text import Text
from rich.tree import Tree

from cli import render

COLUMNS = ("query", "question", "status", "evidence", "triples", "edges", "calls", "cost")
QUESTION = "Why does a candle need air to burn, and why does it go out under a glass after a while? " * 2
ROWS = [
    ("9b1c2f3a4b5c", QUESTION, Text("complete", "green"), 5, 4, 3, "2 (1 cached)", "$0.0123"),
    ("0a1b2c3d4e5f", "Why?", Text("quarantined", "red"), 15, 4, 3, 2, "$0.0123"),
]


def printed(capsys, monkeypatch, width, *args, **kwargs):
    if width is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", str(width))
    render.table(*args, **kwargs)
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_table_fits_the_terminal_and_shows_the_whole_text(capsys, monkeypatch, width):
    lines = printed(capsys, monkeypatch, width, COLUMNS, ROWS, wrapped="question", title="Queries")
    assert max(map(cell_len, lines)) <= width
    start = lines[1].index("question")
    column = " ".join(line[start : lines[1].index("status")] for line in lines[3:] if not line.startswith("Too narrow"))
    assert " ".join(QUESTION.split()) in " ".join(column.split())
    assert len(lines) < 30


@pytest.mark.parametrize("width", [60, 80, 120])
def test_what_is_left_out_of_a_narrow_table_is_named(capsys, monkeypatch, width):
    lines = printed(capsys, monkeypatch, width, COLUMNS, ROWS, wrapped="question")
    shown = lines[0].split()
    note = " ".join(lines[lines.index(next((line for line in lines if line.startswith("Too narrow")), lines[-1])) :])
    assert all(name in shown or name in note for name in COLUMNS)
    assert (shown == list(COLUMNS)) is (width == 120)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_an_unexpectedly_long_cell_wraps_instead_of_being_cut(capsys, monkeypatch, width):
    path = "/".join(["folder"] * 60)
    lines = printed(capsys, monkeypatch, width, ("name", "status"), [(path, "added"), ("a.txt", "added")])
    assert max(map(cell_len, lines)) <= width
    assert path in "".join(line.split(" ")[0] for line in lines)


def test_in_a_pipe_a_row_is_a_line_with_all_its_text(capsys, monkeypatch):
    lines = printed(capsys, monkeypatch, None, COLUMNS, [*ROWS, ("id", "two\nlines", "", 1, 2, 3, 4, "")], wrapped="question")
    assert lines[0].split() == list(COLUMNS)
    assert QUESTION.strip() in lines[1]
    assert "two lines" in lines[3]
    assert (len(lines), lines[4]) == (5, "")
    assert cell_len(lines[2]) < 160, "a long text widens its own row only"


def test_numbers_stand_under_one_another_and_wide_characters_count_twice(capsys, monkeypatch):
    rows = [("北京", 5), ("Berlin", 1200)]
    for width in (None, 80):
        lines = [line for line in printed(capsys, monkeypatch, width, ("city", "people"), rows) if line and "─" not in line]
        assert [cell_len(line) for line in lines] == [cell_len(lines[0])] * 3


def test_control_characters_reach_neither_a_terminal_nor_a_pipe(capsys, monkeypatch):
    for width in (None, 80):
        out = "".join(printed(capsys, monkeypatch, width, ("text",), [("\x1b[31mred\u202e [bold]",)]))
        assert "\\u001b[31mred\\u202e [bold]" in out


def test_a_shortened_text_ends_in_an_ellipsis():
    assert render.shorten("one\ntwo  three", 20) == "one two three"
    assert render.shorten("one two three", 8) == "one two…"


def test_a_wide_column_that_does_not_fit_leaves_room_for_the_next_ones(capsys, monkeypatch):
    columns = ("run", "started", "state", "complete")
    row = ("9b1c2f3a4b5c", "x" * 50, "ended", 7)
    lines = printed(capsys, monkeypatch, 60, columns, [row], wrapped="")
    assert lines[0].split() == ["run", "state", "complete"]
    assert lines[3] == "Too narrow for: started. Widen the window, or use --json."


def test_optional_columns_are_left_out_first_and_the_last_of_them_before_the_others(capsys, monkeypatch):
    columns = ("run", "kind", "started", "state", "source")
    rows = [("9b1c2f3a4b5c", "distill", "2026-11-23 23:22", "stopped", "x" * 40)]
    for width, expected in ((80, columns), (60, columns[:1] + columns[2:]), (44, ("run", "state", "source"))):
        lines = printed(capsys, monkeypatch, width, columns, rows, wrapped="source", optional=("started", "kind"))
        assert tuple(lines[0].split()) == expected


def test_a_terminal_shows_moments_to_the_minute_and_a_pipe_as_they_are(capsys, monkeypatch):
    row = [("2026-11-23T23:22:31+00:00",)]
    assert len(printed(capsys, monkeypatch, 80, ("started",), row)[2]) == len("2026-11-23 23:22")
    assert printed(capsys, monkeypatch, None, ("started",), row)[1] == row[0][0]


def test_in_a_pipe_a_tree_is_neither_cut_nor_wrapped(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    tree = Tree("root")
    tree.add("word " * 200 + "end").add("leaf")
    render.console().print(tree)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].endswith("end")
    assert max(map(len, lines)) < 1_020


def test_an_estimate_shows_labels_and_ranges_and_hides_what_is_zero(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    prices = {"price_usd": 0.0123, "price_usd_low": 0.01, "price_usd_high": 0.02, "price_known": True}
    values = {"queries": 7, "top_k": {"from": 10, "to": 13}, "quarantined": 0, "calls": 0, "tokens_in": 5, **prices}
    render.estimate(values)
    shown = [re.split(r"  +", line) for line in capsys.readouterr().out.splitlines()]
    assert shown == [
        ["kept per query", "10 to 13"],
        ["queries", "7"],
        ["calls", "0"],
        ["tokens in", "5"],
        ["price", "$0.0123 ($0.0100 to $0.0200)"],
    ]
    render.estimate({**values, "price_known": False})
    assert re.search(r"^price +unknown$", capsys.readouterr().out, re.MULTILINE)
