"""Read many documents into one store: a job of the runner (docs/how-to/documents.md).

All I/O except reading files goes through ports. A document stored under the same file and settings hash is unchanged. Every
other file ends stored, or failed with a reason; what is reported is stored.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Any, Literal

from drag_graph import log
from drag_graph.concurrency.interruption import Interruption
from drag_graph.concurrency.threads import RequestCoalescer
from drag_graph.distill.query_distillation import Usage
from drag_graph.documents.document_dates import document_date
from drag_graph.documents.document_files import SourceFile, lies_in, load_source
from drag_graph.documents.document_reader import DocumentReader
from drag_graph.documents.file_loaders import LoadedFile
from drag_graph.documents.given_triples import UNGROUNDED_VERSION, GivenTriples
from drag_graph.errors import DocumentUnusable, DragGraphError, StoreError, SubgraphRefused, Withheld
from drag_graph.graph.aggregate import with_statements
from drag_graph.graph.paging import iter_sources, pages
from drag_graph.jobs.document_lookup import DocumentLookup, FoundDocument, sha256_of_file
from drag_graph.jobs.freed_memory import return_freed_memory
from drag_graph.jobs.runner import Runner
from drag_graph.model import Document, Subgraph
from drag_graph.ports.graph_store import GraphStore, Reduction, SaveOutcome
from drag_graph.ports.vectors import Vectors

WINDOW = 32
"""Number of files whose state is looked up in one round trip."""
SAVED_TOGETHER = 16
"""Maximum number of documents per transaction."""
LONG = 200_000
"""Number of characters from which the memory that reading a document took is returned before it is saved."""
READ_AT_ONCE = 50
"""Number of stored documents read in one round trip."""

Status = Literal["added", "changed", "renamed", "unchanged", "removed", "failed"]
STATUSES: tuple[Status, ...] = ("added", "changed", "renamed", "unchanged", "removed", "failed")
_OUTCOMES: Mapping[str, Status] = {"created": "added", "replaced": "changed", "unchanged": "unchanged"}


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """The outcome of one file. `place` is its number among the files; `usage.notes` lists departures from the settings.

    `ungrounded` is the number of given triples that no passage says (`drag_graph.documents.given_triples`).

    Sizes of unchanged documents are None, because reading them takes longer than everything else.
    """

    id: str
    name: str
    status: Status | Literal["pending"]
    chunks: int | None = 0
    evidence: int | None = 0
    triples: int | None = 0
    ungrounded: int = 0
    error: str | None = None
    usage: Usage = field(default_factory=Usage)
    place: int = 0

    def document(self) -> dict[str, Any]:
        """Return its entry of the `ingest --json` document."""
        names = ("id", "name", "status", "chunks", "evidence", "triples", "ungrounded", "error")
        return {name: getattr(self, name) for name in names} | {"notes": self.usage.notes}


@dataclass(slots=True)
class IngestReport:
    """The outcome of a run. `stopped` is why it ended early; `pending` files were not reached.

    `given` are the given triples, and `unmatched` is the number of those about documents that are not among the files.
    `left_out` counts what an import leaves out. With a model, runs of one `job` share a budget.
    """

    documents: list[DocumentResult] = field(default_factory=list)
    stopped: DragGraphError | None = None
    pending: int = 0
    seconds: float = 0.0
    seconds_in_store: float = 0.0
    usage: Usage = field(default_factory=Usage)
    given: GivenTriples | None = None
    unmatched: int = 0
    left_out: Mapping[str, int] = field(default_factory=dict)
    job: str = ""

    def count(self, result: DocumentResult) -> None:
        """Add a result."""
        if result.status == "pending":
            self.pending += 1
        else:
            self.documents.append(result)
        self.usage.add(result.usage)

    def count_removed(self, documents: Iterable[Document]) -> None:
        """Add erased documents."""
        for document in documents:
            self.count(DocumentResult(document.id, document.name, "removed", place=len(self.documents)))

    @property
    def exit_code(self) -> int:
        """0 all stored, 1 some failed, or the code of what stopped the run."""
        if self.stopped is not None:
            return self.stopped.exit_code
        has_rejected = self.given is not None and bool(self.given.rejected_lines)
        return 1 if has_rejected or any(item.status == "failed" for item in self.documents) else 0

    def totals(self) -> dict[str, Any]:
        """Return counts by status, the sizes of the documents that were read, and the cost and time of the run."""
        counts: dict[str, Any] = {status: sum(item.status == status for item in self.documents) for status in STATUSES}
        sums = {
            name: sum(getattr(item, name) or 0 for item in self.documents)
            for name in ("chunks", "evidence", "triples", "ungrounded")
        }
        spent = {name: getattr(self.usage, name) for name in ("calls", "cached_calls", "tokens_in", "tokens_out")}
        times = {"seconds": round(self.seconds, 3), "seconds_in_store": round(self.seconds_in_store, 3)}
        cost = {"cost_usd": round(self.usage.cost_usd, 6)}
        return {"documents": len(self.documents), **counts, "pending": self.pending, **sums, **spent, **cost, **times}

    def to_dict(self) -> dict[str, Any]:
        """Return the `ingest --json` document."""
        stopped = str(self.stopped) if self.stopped else None
        return {
            "documents": [item.document() for item in self.documents],
            "totals": self.totals(),
            **({"given_triples": {**self.given.summary(), "unmatched_lines": self.unmatched}} if self.given else {}),
            **({"left_out": dict(self.left_out)} if self.left_out else {}),
            "stopped": stopped,
        }

    def count_unmatched(self, given: GivenTriples | None, files: Iterable[SourceFile]) -> None:
        """Count the given triples that are about none of the files."""
        self.given = given
        self.unmatched = given.unmatched([file.name for file in files]) if given else 0


@dataclass(frozen=True, slots=True)
class FileStep:
    """A file to read, and its document."""

    place: int
    found: FoundDocument

    def tags(self, wanted: Sequence[str] | None) -> tuple[str, ...]:
        """Return the tags that the document should have: the wanted ones, or if they are None those that are stored."""
        if wanted is not None:
            return tuple(sorted(set(wanted)))
        return self.found.stored.tags if self.found.stored else ()

    def result(self, status: Status | Literal["pending"], usage: Usage | None = None, **facts: Any) -> DocumentResult:
        """Return a result of this file."""
        return DocumentResult(self.found.id, self.found.file.name, status, usage=usage or Usage(), place=self.place, **facts)

    def unchanged(self, usage: Usage | None = None) -> DocumentResult:
        """Return the result of an unchanged document, without sizes."""
        return self.result("unchanged", usage, chunks=None, evidence=None, triples=None)


_Saving = tuple[Subgraph, Mapping[str, Vectors]]
"""A subgraph to be saved, with the vectors of its evidence."""


@dataclass(eq=False)
class Ingester:
    """One run over files; use it once.

    `erase` removes documents from store and ledger; `on_result` receives the cost so far in US dollars. `tags` are those of all
    files; None leaves the tags of stored documents as they are.
    """

    store: GraphStore
    reader: DocumentReader
    _: KW_ONLY
    workers: int = 4
    erase: Callable[[Sequence[str]], None]
    tags: Sequence[str] | None = None
    interruption: Interruption | None = None
    on_result: Callable[[float], None] = lambda _cost: None
    job: str = ""

    def __post_init__(self) -> None:
        self.runner = Runner("ingest", workers=self.workers, interruption=self.interruption)
        self._lookup = DocumentLookup(self.store, self.store.namespace)
        self._report = IngestReport(job=self.job)
        self._seen: set[str] = set()
        self._saves: RequestCoalescer[_Saving, SaveOutcome] = RequestCoalescer(
            self._save, most=SAVED_TOGETHER, divides=lambda error: isinstance(error, SubgraphRefused)
        )

    def run(self, files: Iterable[SourceFile], sync: Sequence[Path] = ()) -> IngestReport:
        """Read the files and return the report.

        A problem with one file stops no other. An unusable model or store, the budget, and Ctrl-C end the run: files in flight
        are finished, the others are pending. With `sync`, stored documents below these paths are erased if they are not among
        `files`, which must then be complete (`require_complete`).
        """
        began = time.monotonic()
        if sync:
            files = list(files)
            self._lookup = DocumentLookup(self.store, self.store.namespace, files, sync)
        try:
            self.runner.run(files, self, window=WINDOW)
            if sync and not self.runner.is_stopping:
                self._remove_others(sync)
        except StoreError as error:
            self.runner.stop(error)
        finally:
            self._report.stopped = self.runner.stopped
            self._report.seconds = time.monotonic() - began
            self._report.documents.sort(key=lambda item: item.place)
        return self._report

    def settle(self, window: Sequence[SourceFile]) -> tuple[list[DocumentResult], list[FileStep]]:
        """Return the results of unchanged documents, and a step for each other file."""
        if self.runner.is_stopping:
            return [], [FileStep(0, FoundDocument(file, "")) for file in window]
        results, steps = list[DocumentResult](), list[FileStep]()
        for found in self._lookup.find(window):
            step = FileStep(len(self._seen), found)
            self._seen.add(step.found.id)
            result = self._settled(step)
            if result is None:
                steps.append(step)
            else:
                results.append(result)
        return results, steps

    def step(self, item: FileStep) -> DocumentResult:
        """Read one file and save its graph."""
        if self.runner.is_stopping:
            return item.result("pending")
        usage = Usage()
        try:
            with log.timed("ingest", item.found.id):
                loaded = load_source(item.found.file)
                document = document_of(
                    item.found.file,
                    item.found.id,
                    self.store.namespace,
                    loaded,
                    origin=item.found.origin,
                    tags=item.tags(self.tags),
                )
                subgraph, vectors = self.reader.read(document, loaded, usage)
                if len(loaded.text) > LONG:
                    return_freed_memory()
                outcome = self._saves((subgraph, vectors))
        except (DocumentUnusable, SubgraphRefused, Withheld) as error:
            log.event("failed", query=item.found.id, reason=type(error).__name__)
            return item.result("failed", usage, error=error.message)
        except MemoryError:
            return item.result("failed", usage, error="The document does not fit into memory.")
        except DragGraphError as error:
            self.runner.stop(error)
            return item.result("pending", usage)
        return _counted(item, _OUTCOMES[outcome], subgraph, usage)

    def sink(self, results: Sequence[DocumentResult]) -> None:
        """Add results to the report."""
        for result in results:
            self._report.count(result)
            if result.status != "pending":
                self.on_result(self._report.usage.cost_usd)

    def _settled(self, step: FileStep) -> DocumentResult | None:
        """Return the result of a document that need not be read again. Its name, address and tags are changed if necessary."""
        found = step.found
        if found.stored is None or found.stored.settings_hash != wanted_hash(self.reader, step.found.file):
            return None
        if not found.is_renamed and found.stored.tags == step.tags(self.tags):
            return step.unchanged()
        graphs = self.store.read([step.found.id])
        if not graphs or graphs[0].document is None:
            return None
        before, document = graphs[0], graphs[0].document
        names = {"name": step.found.file.name, "uri": step.found.file.uri, "input_id": found.origin} if found.is_renamed else {}
        new = document.model_copy(update={**names, "tags": step.tags(self.tags)})
        if self.store.erase((), [Reduction(before, with_statements(before).model_copy(update={"source": new}))]).stale:
            return None
        if found.is_renamed:
            return _counted(step, "renamed", before, Usage(notes=[f"It was {document.name} before."]))
        return step.unchanged(Usage(notes=[f"Its tags are: {', '.join(new.tags) or 'none'}."]))

    def _save(self, savings: list[_Saving]) -> list[SaveOutcome]:
        """Save, in one transaction, the documents that became ready during the previous one."""
        began = time.monotonic()
        vectors = {id_: vector for _, of_evidence in savings for id_, vector in of_evidence.items()}
        try:
            return self.store.save([subgraph for subgraph, _ in savings], self.reader.aggregation(), vectors=vectors)
        finally:
            return_freed_memory()
            self._report.seconds_in_store += time.monotonic() - began

    def _remove_others(self, roots: Sequence[Path]) -> None:
        """Erase stored documents below `roots` whose file is gone, and what changed documents left on disk."""
        removed = missing_documents(self.store, self._seen, roots)
        if removed or any(item.status in ("changed", "renamed") for item in self._report.documents):
            self.erase([document.id for document in removed])
        self._report.count_removed(removed)


def wanted_hash(reader: DocumentReader, file: SourceFile) -> str:
    """Return the settings hash that a file's document should have; "" if the file cannot be read."""
    sha256 = sha256_of_file(file)
    return reader.settings_hash(sha256, file.name) if sha256 else ""


def document_of(
    file: SourceFile, id_: str, namespace: str, loaded: LoadedFile, *, origin: str = "", tags: Sequence[str] = ()
) -> Document:
    """Return the document of a loaded file. `origin` is the address of which `id_` is the hash, if it is another one."""
    facts = {"sha256": loaded.sha256, "media_type": loaded.media_type, "modified_at": loaded.modified_at}
    facts |= {"date": document_date(file.name, loaded.text, loaded.metadata)}
    return Document(id=id_, namespace=namespace, name=file.name, uri=file.uri, input_id=origin, tags=tuple(tags), **facts)


def missing_documents(store: GraphStore, ids: Collection[str], roots: Sequence[Path]) -> list[Document]:
    """Return the stored documents below `roots` whose ids are not among `ids`."""
    missing = (item.id for item in iter_sources(store) if item.is_document and item.id not in ids and lies_in(item.uri, roots))
    return [graph.document for page in pages(missing, READ_AT_ONCE) for graph in store.read(page) if graph.document]


def _counted(step: FileStep, status: Status, subgraph: Subgraph, usage: Usage) -> DocumentResult:
    sizes = {"chunks": len(subgraph.chunks), "evidence": len(subgraph.evidence), "triples": len(subgraph.triples)}
    calls = {call.id for call in subgraph.calls if call.prompt_version == UNGROUNDED_VERSION}
    return step.result(status, usage, ungrounded=sum(not calls.isdisjoint(item.call_ids) for item in subgraph.triples), **sizes)
