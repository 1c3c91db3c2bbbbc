"""The method that reads documents: ingest, and its estimate."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from drag_graph.app.distilling import Estimate
from drag_graph.app.resources import Resources, ResourceUser
from drag_graph.app.run_handle import RunHandle
from drag_graph.compose.document_setup import foreseen, make_ingester
from drag_graph.compose.model_factories import role_name
from drag_graph.concurrency.interruption import Interruption
from drag_graph.documents.document_files import SourceFile, files_in, require_complete, roots_of
from drag_graph.documents.given_triples import GivenTriples
from drag_graph.errors import ConfigurationError
from drag_graph.jobs.ingest_job import IngestReport
from drag_graph.jobs.runner import OnProgress, ProgressMeter

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class Ingesting(ResourceUser):
    """Read documents into the graph."""

    def ingest(
        self,
        paths: Paths = (),
        *,
        text: str | None = None,
        name: str | None = None,
        sync: bool = False,
        compact: bool = True,
        triples: str | os.PathLike[str] | None = None,
        tags: Iterable[str] | None = None,
        addresses: Mapping[str, str] | None = None,
        job: str = "",
        on_progress: OnProgress | None = None,
        wait: bool = True,
        **settings: Any,
    ) -> RunHandle[IngestReport]:
        """Read documents, each into a graph of its own: files, folders with everything in them, or one `text` with a `name`.

        Unchanged documents are skipped, changed ones replaced. A file that cannot be read is reported, and the others are read.
        With `sync`, stored documents of these folders are erased if their file is gone, and renamed if it has another name now.
        Without `compact`, deleted text remains in an embedded store's file. `triples` is a JSONL file of triples to use instead
        of an extractor's, for the documents that it names. `tags` replace the tags of all these documents; None leaves them.
        `addresses` has the original addresses of copied files by file name, because an address identifies a document.
        Call it again to resume a run that was stopped. Runs of the same paths share a budget; with `job`, runs of this job do.

        Raises DocumentUnusable, before anything changes, if `sync` is set and a folder cannot be listed.
        """
        resources, files, roots = self._documents(settings, paths, text, name, sync=sync)
        files = [replace(file, address=(addresses or {}).get(file.name, "")) for file in files]
        given = GivenTriples.of_file(Path(triples)) if triples is not None else None
        what = job or " ".join(map(str, roots)) or f"text {name}"
        work = _Work(resources, what, files, given, _clean(tags), roots if sync else (), compacts=compact)
        return work.started(on_progress, wait=wait)

    def ingest_triples(
        self,
        texts: Mapping[str, str],
        triples: Iterable[Mapping[str, Any]],
        *,
        origin: str = "given triples",
        tags: Iterable[str] | None = None,
        on_progress: OnProgress | None = None,
        wait: bool = True,
        **settings: Any,
    ) -> RunHandle[IngestReport]:
        """Read texts, each under its name, with existing triples, such as those of another library.

        A triple has the texts `document` (a name), `subject`, `predicate` and `object`, and optionally a `confidence` from 0
        to 1. It is stored with the passage that states it; without one, its confidence is at most 0.3. Audits show `origin` as
        the origin of the triples. Otherwise as `ingest` with `triples`.
        """
        return self._given(texts, triples, origin, tags=tags, settings=settings).started(on_progress, wait=wait)

    def import_lightrag(
        self,
        folder: str | os.PathLike[str],
        *,
        tags: Iterable[str] | None = None,
        on_progress: OnProgress | None = None,
        wait: bool = True,
        **settings: Any,
    ) -> RunHandle[IngestReport]:
        """Read the texts and relations of LightRAG's working folder, as `ingest_triples` does (docs/how-to/clients.md).

        `left_out` of the report counts what is not imported. Raises InputError if this is not such a folder.
        """
        from drag_graph.documents.lightrag_folder import read_lightrag

        contents = read_lightrag(Path(folder))
        work = self._given(contents.texts, contents.triples, "lightrag", tags=tags, settings=settings)
        return replace(work, left_out=contents.left_out).started(on_progress, wait=wait)

    def _given(
        self,
        texts: Mapping[str, str],
        triples: Iterable[Mapping[str, Any]],
        origin: str,
        *,
        tags: Iterable[str] | None,
        settings: Mapping[str, Any],
    ) -> "_Work":
        for name, text in texts.items():
            require_text(text, name)
        lines = (json.dumps(dict(triple), default=str).encode() for triple in triples)
        files = [SourceFile(Path(name), name, text=text) for name, text in texts.items()]
        resources = self._resources.changed(settings)
        return _Work(resources, origin, files, GivenTriples(lines, f"file:{origin}"), _clean(tags))

    def estimate_ingest(
        self,
        paths: Paths = (),
        *,
        text: str | None = None,
        name: str | None = None,
        sync: bool = False,
        triples: str | os.PathLike[str] | None = None,
        **settings: Any,
    ) -> Estimate:
        """Return what `ingest` would do with each document, and the calls, tokens and price of it."""
        resources, files, roots = self._documents(settings, paths, text, name, sync=sync)
        given = GivenTriples.of_file(Path(triples)) if triples is not None else None
        return Estimate(foreseen(resources.settings, files, roots if sync else (), given))

    def _documents(
        self, values: dict[str, Any], paths: Paths, text: str | None, name: str | None, *, sync: bool
    ) -> tuple[Resources, list[SourceFile], list[Path]]:
        resources = self._resources.changed(values)
        role_name(resources.settings, "extractor")  # raises an error for a file of evidence
        places = [Path(paths)] if isinstance(paths, str | os.PathLike) else [Path(path) for path in paths]
        if (text is None) != (name is None) or (text is None) != bool(places):
            raise ConfigurationError("Pass either paths, or a text and its name.", hint="See `drag-graph ingest --help`.")
        if text is not None and name is not None:
            require_text(text, name)
            return resources, [SourceFile(Path(name), name, text=text)], []
        roots = roots_of(places)
        files = list(files_in(roots, resources.settings.own_files))
        if sync:
            require_complete(files)
            if not files:  # an unmounted disk looks like an empty folder
                folders = " and ".join(map(str, places))
                hint = "To erase all stored documents of it, use `drag-graph db erase --query-id ID`."
                raise ConfigurationError(f"{folders} contains no document; `sync=True` would erase everything.", hint=hint)
        return resources, files, roots


@dataclass(frozen=True, slots=True)
class _Work:
    """Documents to read. With `sync_roots`, stored documents of these folders are compared with their files."""

    resources: Resources
    name: str
    files: Sequence[SourceFile]
    given: GivenTriples | None
    tags: list[str] | None
    sync_roots: Sequence[Path] = ()
    compacts: bool = True
    left_out: Mapping[str, int] = field(default_factory=dict)

    def started(self, on_progress: OnProgress | None, *, wait: bool) -> RunHandle[IngestReport]:
        def run(interruption: Interruption) -> IngestReport:
            meter = ProgressMeter(len(self.files), on_progress)
            with self.resources.writing(role="extractor") as session:
                ingester = make_ingester(
                    session,
                    self.name,
                    compacts=self.compacts,
                    given=self.given,
                    tags=self.tags,
                    on_result=meter.count,
                    interruption=interruption,
                )
                report = ingester.run(self.files, self.sync_roots)
                report.count_unmatched(self.given, self.files)
                report.left_out = self.left_out
                return report

        return RunHandle(run, self.resources, wait=wait)


def require_text(text: str, name: str) -> None:
    """Raise ConfigurationError for an empty name, or a surrogate in the text or its name."""
    if not name.strip() or any("\ud800" <= one <= "\udfff" for one in text + name):
        raise ConfigurationError("The text or its name is unusable.", hint="Pass a name, and text without surrogates.")


def _clean(tags: Iterable[str] | None) -> list[str] | None:
    return None if tags is None else [tag.strip() for tag in tags if tag.strip()]
