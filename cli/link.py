"""`drag-graph link`: what joins the stored queries, and what was judged to be the same thing."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from drag_graph.jobs.link_job import LinkReport
    from drag_graph.ports.concept_store import SameAs
    from drag_graph.ports.graph_store import GraphStore
    from drag_graph.settings import Settings

MERGES_SHOWN = 100


@options.with_settings("embedder", *options.STORE)
def link(
    settings: "Settings",
    text: Annotated[str, typer.Argument(help="With --show: only names that have this in them.", show_default=False)] = "",
    show: Annotated[bool, typer.Option("--show", help="List what was judged to be the same thing.")] = False,
    undo: Annotated[str, typer.Option("--undo", help="Take a merge back (its id, or how it begins).")] = "",
    redo: Annotated[str, typer.Option("--redo", help="Let one that was taken back stand again.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="With --show: at most so many.")] = MERGES_SHOWN,
    json: options.Json = False,
) -> None:
    """Join what the stored queries have in common: concepts by name, alias and embedding, and the vectors of evidence.

    Run it after a distillation, as often as you like: it links what is new, and where nothing is, it changes nothing. One
    that was interrupted goes on with the same command; while one runs, another is refused. Beside distilling, refreshing
    and erasing it is safe. A merge that was taken back is not made again.

    \b
    Examples:
      drag-graph link
      drag-graph link --show infarction
      drag-graph link --undo 3f2a
    """
    from drag_graph.compose.session import open_session, open_store
    from drag_graph.errors import ConfigurationError

    from . import render

    given = (show, undo.strip(), redo.strip())
    if sum(map(bool, given)) > 1 or (text and not show) or any(id_ and not id_.strip() for id_ in (undo, redo)):
        raise ConfigurationError(
            "give one of --show [TEXT], --undo ID and --redo ID, or none of them", hint="drag-graph link --help"
        )
    if show:
        with open_store(settings, create=False, read_only=True) as store:
            _print_merges(store.concepts.same_as(text=text, limit=limit), as_json=json)
        return
    with open_session(settings, create=False) as session:
        if not (undo or redo):
            with render.waiting("Linking", quiet=json) as say:
                report = session.linker(lambda step, done: say(f"Linking: {done} {step}")).run()
            _print_report(report, as_json=json)
            return
        linker = session.linker()
        merge = _the_merge(session.store, (undo or redo).strip().lower())
        if bool(merge.undone_at) != bool(undo):
            (linker.undo if undo else linker.redo)(merge)
        _print_merges([_the_merge(session.store, merge.id)], as_json=json)


def _the_merge(store: "GraphStore", prefix: str) -> "SameAs":
    """Return the one merge whose id begins so. Raises NotStored or ConfigurationError."""
    from drag_graph.errors import ConfigurationError, NotStored

    found = store.concepts.same_as(prefix=prefix, limit=2)
    if not found:
        raise NotStored(f"no merge {prefix} is stored", hint="List them with `drag-graph link --show`.")
    if len(found) > 1:
        raise ConfigurationError(f"several merges begin with {prefix}", hint="Give more digits.")
    return found[0]


def _print_report(done: "LinkReport", *, as_json: bool) -> None:
    from . import render

    if as_json:
        render.document(done.to_dict())
        return
    rows = (
        ("entities linked", done.entities),
        ("concepts made", done.concepts),
        ("vectors of concepts", done.concept_vectors),
        ("vectors of evidence", done.evidence_vectors),
        ("concepts judged", done.judged),
        *((f"merged by {method}", done.merged.get(method, 0)) for method in ("name", "alias", "embedding")),
        ("merges withdrawn", done.withdrawn),
        ("left to the next run", done.left_open),
    )
    if not any(number for _, number in rows):
        typer.echo("Nothing is new: all is linked.")
        return
    render.table(("what", "number"), rows)
    if done.merged:
        render.console().print("See them with [bold]drag-graph link --show[/bold]")


def _print_merges(found: "Sequence[SameAs]", *, as_json: bool) -> None:
    """Print judgements that concepts are the same thing."""
    from . import render

    if as_json:
        render.document({"merges": [_document(item) for item in found]})
    elif not found:
        typer.echo("No such merge is stored.")
    else:
        rows = (
            (one.id[: render.SHORT], one.left_name, one.right_name, one.method, f"{one.score:.3f}", one.undone_at or "-")
            for one in found
        )
        render.table(("id", "one", "other", "method", "score", "undone"), rows, wrapped="other")


def _document(item: "SameAs") -> dict[str, object]:
    return {
        "id": item.id,
        "left": {"id": item.left, "name": item.left_name},
        "right": {"id": item.right, "name": item.right_name},
        "method": item.method,
        "score": item.score,
        "created_at": item.created_at,
        "undone_at": item.undone_at or None,
    }
