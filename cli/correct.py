"""`drag-graph correct`."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options, render
from .output import refuse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from drag_graph.ports.correction_store import Correction


@options.with_settings(*options.STORE)
def correct(
    graph: "options.Graph",
    id_: Annotated[
        str | None,
        typer.Argument(
            metavar="ID", help="Id of a claim or an answer, or its first characters. Lists all corrections if omitted."
        ),
    ] = None,
    wrong: Annotated[
        bool, typer.Option("--wrong", help="Mark it as wrong. A wrong claim is no longer shown to students.")
    ] = False,
    right: Annotated[bool, typer.Option("--right", help="Mark it as right.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Remove the mark.")] = False,
    note: Annotated[str, typer.Option("--note", help="Reason, shown in audits.")] = "",
    by: Annotated[
        str, typer.Option("--by", help="Name of the person who marks it. Defaults to your user name.", show_default=False)
    ] = "",
) -> None:
    """Mark a claim or an answer as wrong or right; without an id, list what is marked.

    `audit`, `show` and `search` print the ids of claims. Answers and searches leave out a claim that is marked wrong,
    even after its source is distilled or read again.

    Examples:
      drag-graph correct 3f2a --wrong --note "Withdrawn by the authors in 2025"
      drag-graph correct 3f2a --undo
      drag-graph correct
    """
    chosen = sum((wrong, right, undo))
    refuse(
        "correct",
        {
            "An ID requires one of --wrong, --right and --undo.": id_ is not None and chosen != 1,
            "--wrong, --right, --undo, --note and --by require an ID.": id_ is None and bool(chosen or note or by),
            "--note does not work with --undo.": undo and bool(note),
        },
    )
    if id_ is None:
        render.result(graph.corrections(), _print)
    else:
        correction = graph.correct(id_, None if undo else "wrong" if wrong else "right", note, by)
        render.result(correction, lambda one: _print([one]))


def _print(corrections: "Iterable[Correction]") -> None:
    rows = [
        (
            one.target_id[: render.SHORT],
            one.kind,
            one.verdict,
            one.text,
            one.note,
            one.author,
            one.created_at,
            one.undone_at or "-",
        )
        for one in corrections
    ]
    if not rows:
        typer.echo("Nothing is marked.")
        return
    columns = ("id", "kind", "verdict", "text", "note", "by", "when", "undone")
    render.table(columns, rows, wrapped=("text", "note"), optional=("undone", "when"))
