"""`drag-graph link`: what joins the stored queries, and what was judged to be the same thing."""

from typing import TYPE_CHECKING, Annotated

import typer

from . import options

if TYPE_CHECKING:
    from drag_graph.ports.concepts import SameAs
    from drag_graph.ports.store import GraphStore
    from drag_graph.settings import Settings

MERGES_SHOWN = 100


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(link)


def link(
    text: Annotated[str, typer.Argument(help="With --show: only names that have this in them.", show_default=False)] = "",
    show: Annotated[bool, typer.Option("--show", help="List what was judged to be the same thing.")] = False,
    undo: Annotated[str, typer.Option("--undo", help="Take a merge back (its id, or how it begins).")] = "",
    redo: Annotated[str, typer.Option("--redo", help="Let one that was taken back stand again.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="With --show: at most so many.")] = MERGES_SHOWN,
    embedder: options.Embedder = None,
    store: options.Store = None,
    namespace: options.Namespace = None,
    json: options.Json = False,
    verbose: options.Verbose = False,
    log_json: options.LogJson = None,
    debug: options.Debug = False,
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
    del debug
    flags = {"embedder": embedder, "store": store, "namespace": namespace, "log_json": log_json}
    settings = options.settings_of(flags, verbose=verbose)
    _check(text, show=show, undo=undo, redo=redo)
    if show:
        _show(settings, text, limit, as_json=json)
    elif undo or redo:
        _change(settings, (undo or redo).strip().lower(), undone=bool(undo), as_json=json)
    else:
        _run(settings, as_json=json)


def _check(text: str, *, show: bool, undo: str, redo: str) -> None:
    from drag_graph.errors import ConfigurationError

    given = (show, undo.strip(), redo.strip())
    if sum(map(bool, given)) > 1 or (text and not show) or any(id_ and not id_.strip() for id_ in (undo, redo)):
        raise ConfigurationError(
            "give one of --show [TEXT], --undo ID and --redo ID, or none of them", hint="drag-graph link --help"
        )


def _run(settings: "Settings", *, as_json: bool) -> None:
    from drag_graph.bootstrap import open_session

    from . import render, render_link

    with (
        open_session(settings, create=False) as session,
        render.waiting("Linking", quiet=as_json) as tell,
    ):
        report = session.linker(lambda step, done: tell(f"Linking: {done} {step}")).run()
    render_link.report(report, as_json=as_json)


def _show(settings: "Settings", text: str, limit: int, *, as_json: bool) -> None:
    from drag_graph.bootstrap import open_store

    from . import render_link

    with open_store(settings, create=False, read_only=True) as store:
        merges = store.concepts.same_as(text=text, limit=limit)
    render_link.merges(merges, as_json=as_json)


def _change(settings: "Settings", prefix: str, *, undone: bool, as_json: bool) -> None:
    from drag_graph.bootstrap import open_session

    from . import render_link

    with open_session(settings, create=False) as session:
        linker = session.linker()
        merge = _the_merge(session.store, prefix)
        if bool(merge.undone_at) != undone:
            (linker.undo if undone else linker.redo)(merge)
        render_link.merges([_the_merge(session.store, merge.id)], as_json=as_json)


def _the_merge(store: "GraphStore", prefix: str) -> "SameAs":
    """Return the one merge whose id begins so. Raises NotStored or ConfigurationError."""
    from drag_graph.errors import ConfigurationError, NotStored

    found = store.concepts.same_as(prefix=prefix, limit=2)
    if not found:
        raise NotStored(f"no merge {prefix} is stored", hint="List them with `drag-graph link --show`.")
    if len(found) > 1:
        raise ConfigurationError(f"several merges begin with {prefix}", hint="Give more digits.")
    return found[0]
