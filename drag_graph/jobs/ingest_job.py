"""Reading in many files: the run of `drag-graph ingest` (docs/documents.md).

No I/O of its own but the files: store and models come in by their ports. What is stored under the same hash of file and
settings is left alone. Files are worked on by a pool of threads; each ends stored, or failed with its reason. What
became ready meanwhile is saved in one transaction, so what was reported is stored, and the same command goes on with the rest.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import Any, Literal

from drag_graph import log
from drag_graph.concurrency.coalesce import RequestCoalescer
from drag_graph.concurrency.interruption import Interruption, interrupted, on_ctrl_c
from drag_graph.concurrency.threads import Workers, long_turns
from drag_graph.distill.query_distillation import Usage
from drag_graph.documents.document_files import SourceFile, lies_in
from drag_graph.documents.document_reader import DocumentReader
from drag_graph.documents.file_loaders import LoadedFile, load
from drag_graph.errors import DocumentUnusable, DragGraphError, StoreError, SubgraphRefused, Withheld
from drag_graph.graph.paging import iter_sources, pages, settings_hashes
from drag_graph.identity import document_id
from drag_graph.model import Document, Subgraph
from drag_graph.ports.graph_store import GraphStore, SaveOutcome
from drag_graph.ports.vectors import Vectors

WINDOW = 32
"""Files whose state is looked up in one round trip."""
SAVED_TOGETHER = 16
"""Documents that one transaction saves at most."""
READ_AT_ONCE = 50
"""Stored documents that are read in one round trip."""

Status = Literal["added", "changed", "unchanged", "removed", "failed"]
STATUSES: tuple[Status, ...] = ("added", "changed", "unchanged", "removed", "failed")
_OUTCOMES: Mapping[str, Status] = {"created": "added", "replaced": "changed", "unchanged": "unchanged"}


@dataclass(frozen=True, slots=True)
class DocumentResult:
    """What became of one file. `place` is its number among the files; `usage.notes` says what was done otherwise."""

    id: str
    name: str
    status: Status
    chunks: int = 0
    evidence: int = 0
    triples: int = 0
    error: str | None = None
    usage: Usage = field(default_factory=Usage)
    place: int = 0

    def document(self) -> dict[str, Any]:
        """Return its entry of the `ingest --json` document."""
        names = ("id", "name", "status", "chunks", "evidence", "triples", "error")
        return {name: getattr(self, name) for name in names} | {"notes": self.usage.notes}


@dataclass(slots=True)
class IngestReport:
    """What became of the files. `stopped` is why the run ended early; then `pending` files were not come to."""

    documents: list[DocumentResult] = field(default_factory=list)
    stopped: DragGraphError | None = None
    pending: int = 0
    seconds: float = 0.0
    seconds_in_store: float = 0.0
    usage: Usage = field(default_factory=Usage)

    def count(self, result: DocumentResult) -> None:
        """Keep a result."""
        self.documents.append(result)
        self.usage.add(result.usage)

    def count_removed(self, gone: Iterable[Document]) -> None:
        """Keep that documents were erased."""
        for document in gone:
            self.count(DocumentResult(document.id, document.name, "removed", place=len(self.documents)))

    @property
    def exit_code(self) -> int:
        """0 all stored, 1 some failed, or the code of what stopped the run."""
        if self.stopped is not None:
            return self.stopped.exit_code
        return 1 if any(item.status == "failed" for item in self.documents) else 0

    def totals(self) -> dict[str, Any]:
        """Return counts by status, sums of what is stored of these files now, and what the run took."""
        counts: dict[str, Any] = {status: sum(item.status == status for item in self.documents) for status in STATUSES}
        sums = {name: sum(getattr(item, name) for item in self.documents) for name in ("chunks", "evidence", "triples")}
        spent = {name: getattr(self.usage, name) for name in ("calls", "cached_calls", "tokens_in", "tokens_out")}
        times = {"seconds": round(self.seconds, 3), "seconds_in_store": round(self.seconds_in_store, 3)}
        cost = {"cost_usd": round(self.usage.cost_usd, 6)}
        return {"documents": len(self.documents), **counts, "pending": self.pending, **sums, **spent, **cost, **times}

    def document(self) -> dict[str, Any]:
        """Return the `ingest --json` document."""
        stopped = str(self.stopped) if self.stopped else None
        return {"documents": [item.document() for item in self.documents], "totals": self.totals(), "stopped": stopped}


@dataclass(frozen=True, slots=True)
class _Job:
    """A file, and the id of its document."""

    place: int
    file: SourceFile
    id: str


@dataclass(frozen=True, slots=True)
class _Saving:
    """A subgraph on its way into the store, with the vectors of its evidence."""

    subgraph: Subgraph
    vectors: Mapping[str, Vectors]


class Ingester:
    """Reads files into one store, `workers` at once."""

    def __init__(
        self,
        store: GraphStore,
        reader: DocumentReader,
        *,
        workers: int = 4,
        erase: Callable[[Sequence[str]], None],
        interruption: Interruption | None = None,
        on_result: Callable[[float], None] = lambda _cost: None,
    ) -> None:
        """`erase` takes documents from the store and the ledger; `on_result` is called with the cost so far in US dollars."""
        self._store = store
        self._reader = reader
        self._workers = workers
        self._interruption = interruption or Interruption()
        self._erase = erase
        self._on_result = on_result
        self._saves: RequestCoalescer[_Saving, SaveOutcome] = RequestCoalescer(
            self._save, most=SAVED_TOGETHER, divides=lambda error: isinstance(error, SubgraphRefused)
        )
        self._stop = Event()
        self._fatal: list[DragGraphError] = []
        self._report = IngestReport()
        self._places = count()

    def run(self, files: Iterable[SourceFile], sync: Sequence[Path] = ()) -> IngestReport:
        """Read the files and return the report. Once only.

        Nothing that goes wrong with one file stops the others; a model or store that cannot be used at all, the budget, or
        Ctrl-C end the run: what is in flight is finished, the rest is pending. A second Ctrl-C raises KeyboardInterrupt.

        With `sync`, stored documents of these files and folders go that are no more among `files`.
        """
        began, workers, done = time.monotonic(), Workers(self._workers, "ingest"), _Done()
        seen: set[str] = set()
        try:
            with long_turns(), on_ctrl_c(lambda: done.put(None)):
                self._work(workers, done, pages(self._noted(files, seen), WINDOW))
                if sync and not self._stop.is_set():
                    self._remove_gone(seen, sync)
        except StoreError as error:
            self._end(error)
        except BaseException:
            self._stop.set()
            raise
        finally:
            workers.abandon()
            self._report.seconds = time.monotonic() - began
            self._report.documents.sort(key=lambda item: item.place)
        return self._report

    def _noted(self, files: Iterable[SourceFile], seen: set[str]) -> Iterator[SourceFile]:
        for file in files:
            seen.add(document_id(self._store.namespace, file.uri))
            yield file

    def _work(self, workers: Workers, done: "_Done", windows: Iterator[list[SourceFile]]) -> None:
        """Submit ahead of what is done, by at most a window and the workers, so that memory does not grow with the files."""
        waiting, more = 0, True
        while more or waiting:
            while more and waiting <= 2 * self._workers:
                window = next(windows, None)
                more = window is not None
                waiting += self._submit(workers, done, window or [])
            if waiting:
                waiting -= self._keep([done.get(), *(done.get() for _ in range(done.qsize()))])

    def _keep(self, items: list["DocumentResult | _Left | BaseException | None"]) -> int:
        """Record what the workers have done, and return how many files that were."""
        if None in items:
            self._interruption.interrupt()
            self._end(interrupted())
            log.event("interrupted: files in flight are being finished; Ctrl-C again abandons them", level=logging.WARNING)
        for item in items:
            if isinstance(item, BaseException):
                raise item
            if isinstance(item, DocumentResult):
                self._report.count(item)
                self._on_result(self._report.usage.cost_usd)
            elif item is not None:
                self._report.pending += 1
                self._report.usage.add(item.usage)
        if self._fatal:
            self._end(self._fatal[0])
        return sum(item is not None for item in items)

    def _end(self, error: DragGraphError) -> None:
        """End the run because of `error`; the first one counts."""
        self._stop.set()
        if self._report.stopped is None:
            self._report.stopped = error

    def _submit(self, workers: Workers, done: "_Done", window: list[SourceFile]) -> int:
        """Hand files to the workers, put those that are settled into `done`, and return how many there are."""
        hashes: dict[str, str] = {}
        jobs = [_Job(next(self._places), file, document_id(self._store.namespace, file.uri)) for file in window]
        if not self._stop.is_set():
            wanted = {job.id: wanted_hash(self._reader, job.file) for job in jobs}
            hashes = settings_hashes(self._store, [job.id for job in jobs])
            same = sorted(id_ for id_, hash_ in hashes.items() if hash_ == wanted[id_])
            stored = {graph.source_id: graph for graph in self._store.read(same)} if same else {}
        else:
            stored = {}
        for job in jobs:
            if job.id in stored:
                done.put(_counted(job, "unchanged", stored[job.id], Usage()))
            else:
                workers.submit_into(done, partial(self._one, job))
        return len(jobs)

    def _one(self, job: _Job) -> "DocumentResult | _Left":
        """Read one file (in a worker). What ends the run is kept in `_fatal`, and the file is left."""
        usage = Usage()
        if self._stop.is_set():
            return _Left(usage)
        try:
            with log.timed("ingest", job.id):
                loaded = load(job.file.path)
                document = document_of(job.file, job.id, self._store.namespace, loaded)
                subgraph, vectors = self._reader.read(document, loaded.text, usage)
                outcome = self._saves(_Saving(subgraph, vectors))
        except (DocumentUnusable, SubgraphRefused, Withheld) as error:
            log.event("failed", query=job.id, reason=type(error).__name__)
            return DocumentResult(job.id, job.file.name, "failed", error=error.message, usage=usage, place=job.place)
        except MemoryError:
            return DocumentResult(
                job.id, job.file.name, "failed", error="it does not fit into memory", usage=usage, place=job.place
            )
        except DragGraphError as error:
            self._fatal.append(error)
            self._stop.set()  # before another worker begins what would end the same way
            return _Left(usage)
        return _counted(job, _OUTCOMES[outcome], subgraph, usage)

    def _save(self, savings: list[_Saving]) -> list[SaveOutcome]:
        """Save in one transaction what became ready while the one before was under way."""
        began = time.monotonic()
        vectors = {id_: vector for saving in savings for id_, vector in saving.vectors.items()}
        try:
            return self._store.save([saving.subgraph for saving in savings], self._reader.aggregation(), vectors=vectors)
        finally:
            self._report.seconds_in_store += time.monotonic() - began

    def _remove_gone(self, seen: set[str], roots: Sequence[Path]) -> None:
        """Erase the stored documents of these files and folders that are not `seen`, and what changed ones said from disk."""
        gone = documents_gone(self._store, seen, roots)
        if gone or any(item.status == "changed" for item in self._report.documents):
            self._erase([document.id for document in gone])
        self._report.count_removed(gone)


@dataclass(frozen=True, slots=True)
class _Left:
    """A file that was left because the run ended, with what was paid for it until then."""

    usage: Usage


def wanted_hash(reader: DocumentReader, file: SourceFile) -> str:
    """Return the settings hash that a file's document should have; '' where it cannot be read: that is said later."""
    try:
        with file.path.open("rb") as content:
            return reader.settings_hash(hashlib.file_digest(content, "sha256").hexdigest())
    except OSError:
        return ""


def document_of(file: SourceFile, id_: str, namespace: str, loaded: LoadedFile) -> Document:
    """Return the document of a file that was loaded."""
    facts = {"sha256": loaded.sha256, "media_type": loaded.media_type, "modified_at": loaded.modified_at}
    return Document(id=id_, namespace=namespace, name=file.name, uri=file.uri, **facts)


def documents_gone(store: GraphStore, seen: Collection[str], roots: Sequence[Path]) -> list[Document]:
    """Return the stored documents of these files and folders whose ids are not `seen`."""
    others = (item.id for item in iter_sources(store) if item.is_document and item.id not in seen)
    gone: list[Document] = []
    for some in pages(others, READ_AT_ONCE):
        found = (graph.document for graph in store.read(some))
        gone += [document for document in found if document is not None and lies_in(document.uri, roots)]
    return gone


def _counted(job: _Job, status: Status, subgraph: Subgraph, usage: Usage) -> DocumentResult:
    sizes = (len(subgraph.chunks), len(subgraph.evidence), len(subgraph.triples))
    return DocumentResult(job.id, job.file.name, status, *sizes, usage=usage, place=job.place)


_Done = SimpleQueue["DocumentResult | _Left | BaseException | None"]
"""What the workers have finished, the fault that there is instead, and None for Ctrl-C."""
