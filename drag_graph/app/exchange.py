"""Methods that rebuild, export and import the graph: aggregate, export, export_graph, import_."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, get_args

from drag_graph.app.resources import Resources, ResourceUser
from drag_graph.app.run_handle import RunHandle
from drag_graph.compose.model_factories import asked_as
from drag_graph.concurrency.interruption import Interruption
from drag_graph.distill.plans import plan_settings
from drag_graph.errors import ConfigurationError
from drag_graph.graph.paging import SUBGRAPHS_PER_PAGE, source_ids
from drag_graph.manage import subgraph_files
from drag_graph.manage.canonical_export import canonical_lines
from drag_graph.manage.reaggregation import AggregateReport, reaggregate
from drag_graph.manage.short_ids import full_id
from drag_graph.manage.subgraph_import import Importer, ImportReport
from drag_graph.model import Aggregation, Query, Subgraph
from drag_graph.models.model_choice import follow_store, make_embedder
from drag_graph.ports.model_roles import Embedder

if TYPE_CHECKING:
    from drag_graph.report.graph_formats import GraphExport, GraphFormat

ExportFormat = Literal["jsonl", "subgraphs"]


class Exchange(ResourceUser):
    """Rebuild the simple graph; export and import."""

    def aggregate(self, query_id: str = "", *, top_k: int | None = None, **settings: Any) -> AggregateReport:
        """Rebuild the simple edges of all sources, or of one, from the stored triples. No model is called.

        `settings` are `strategy`, `merge` and `threshold`. Without `top_k`, every source keeps its number of edges.
        Raises NotStored if the query or document `query_id` (which may be shortened) is not stored.
        """
        changed = self._resources.changed(settings).settings

        def choose(subgraph: Subgraph) -> Aggregation:
            query = Query(id=subgraph.source_id, text=subgraph.title) if subgraph.document else subgraph.query
            chosen, current = plan_settings(changed, query).aggregation(), subgraph.aggregation
            return chosen.model_copy(update={"top_k": top_k or (current.top_k if current else chosen.top_k)})

        with self._resources.store(read_only=False) as store:
            names = asked_as(changed, query_id) if query_id else ()
            ids = [full_id(store, "source", query_id, asked_as=names)] if query_id else source_ids(store)
            return reaggregate(store, ids, choose)

    def export(self, format: ExportFormat = "jsonl", *, full: bool = False) -> Iterator[str]:  # noqa: A002
        """Yield the lines of an export, without line ends; streams.

        "jsonl" is one line per node or edge in canonical order, the same for equal stores; `full` adds times, costs, vectors
        and snapshots. "subgraphs" is one line per source, for `import_`.

        "jsonl" shows the store as it was when the first line was read. "subgraphs" reads the store page by page: a source that
        is written or erased meanwhile may be missing, but never incomplete. Between two lines the store is free, so other calls
        and `close` do not wait. Reading on after `close` raises ConfigurationError.

        Raises ConfigurationError for "subgraphs" with `full`.
        """
        if format not in get_args(ExportFormat):
            formats = " or ".join(map(repr, get_args(ExportFormat)))
            hint = f"Use {formats}, or `export_graph` for other programs."
            raise ConfigurationError(f"There is no export format {format!r}.", hint=hint)
        if full and format == "subgraphs":
            hint = "Omit it: subgraphs are always complete."
            raise ConfigurationError("`full=True` does not work with `format=subgraphs`.", hint=hint)
        return self._exported(format, full=full)

    def export_graph(self, format: "GraphFormat", stream: BinaryIO, *, full: bool = False) -> "GraphExport":  # noqa: A002
        """Write the whole graph to a binary stream in a format for other programs, and return a summary of it.

        "graphml" is one XML document, "csv" a ZIP archive with `nodes.csv` and `relationships.csv` for `LOAD CSV`, "cypher" a
        script for `cypher-shell`. `full` adds times, costs, vectors and snapshots. The store is free once it has been read.

        Raises ConfigurationError for another format.
        """
        from drag_graph.report.graph_formats import GraphFile, GraphFormat

        if format not in get_args(GraphFormat):
            formats = " or ".join(map(repr, get_args(GraphFormat)))
            raise ConfigurationError(f"There is no graph format {format!r}.", hint=f"Use {formats}.")
        with self._resources.store() as store:
            file = GraphFile(format, store.records(vectors=full), full=full)
        return file.write(stream)

    def _exported(self, format_: ExportFormat, *, full: bool) -> Iterator[str]:
        with self._resources.store() as store:
            if format_ == "subgraphs":
                corrections = subgraph_files.claim_corrections(store)
                lines = subgraph_files.lines_of(subgraph_files.head_of(store), self._subgraphs(), corrections)
            else:
                rest = canonical_lines(store.records(vectors=full), full=full)
                lines = chain(list(islice(rest, 1)), rest)  # sorting reads all lines before the first one
        yield from lines

    def _subgraphs(self) -> Iterator[Subgraph]:
        """Yield all subgraphs, sorted by source id. The store is borrowed for one page at a time."""
        after = ""
        while True:
            with self._resources.store() as store:
                page = [item.id for item in store.sources(after=after, limit=SUBGRAPHS_PER_PAGE)]
                subgraphs = store.read(page)
            yield from subgraphs
            if len(page) < SUBGRAPHS_PER_PAGE:
                return
            after = page[-1]

    def import_(
        self,
        source: str | os.PathLike[str] | BinaryIO,
        *,
        replace: bool = False,
        on_progress: Callable[[int], None] = lambda _number: None,
        wait: bool = True,
    ) -> RunHandle[ImportReport]:
        """Store the subgraphs of a file (or of a binary stream) that `export("subgraphs")` wrote.

        A subgraph that is stored with different content is a conflict and stays as it is, unless `replace`. `on_progress`
        receives the number of lines read so far. Import the same file again to resume.

        Raises InputError if this is not such a file, StoreUnfit if another embedder filled the store.
        """
        name = os.fspath(source) if isinstance(source, str | os.PathLike) else "standard input"
        resources = self._resources.changed({})

        def work(interruption: Interruption) -> ImportReport:
            parts = subgraph_files.read_file(Path(name), None if isinstance(source, str | os.PathLike) else source)
            first = next(parts)  # before a store is created for a file that is not usable
            numbers = count(1)
            with resources.store(read_only=False, create=True) as store:
                importer = Importer(
                    store,
                    replace=replace,
                    make_embedder=partial(_embedder_named, resources),
                    on_result=lambda _result: on_progress(next(numbers)),
                    interruption=interruption,
                )
                report = importer.run(chain([first], parts))
            report.file = name
            return report

        return RunHandle(work, resources, wait=wait)


def _embedder_named(resources: Resources, name: str) -> Embedder:
    """Return the embedder of that name: a built-in one, or that of the settings behind the privacy gate."""
    built_in = follow_store(resources.settings.model_copy(update={"embedder": "auto"}), (name, 0))
    if built_in.embedder != "auto":
        return make_embedder(built_in)
    embedder = resources.gated_embedder()
    if embedder.name != name:
        raise ConfigurationError(f"The file was made with the embedder {name}.", hint="Choose it with `embedder=NAME`.")
    return embedder
