"""The method that reads documents: ingest, and its estimate."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from drag_graph.app.distilling import Estimate
from drag_graph.app.resource_user import ResourceUser
from drag_graph.app.resources import Resources
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
        `addresses` are the addresses of files that are copies, by file name: a document is recognised by its address.
        Call it again to resume a run that was stopped. Runs of the same paths share a budget, or with `job` those of this name.

        Raises DocumentUnusable, before anything changes, if `sync` is set and a folder cannot be listed.
        """
        resources, files, roots = self._documents(settings, paths, text, name, sync=sync)
        files = [replace(file, address=(addresses or {}).get(file.name, "")) for file in files]
        given = GivenTriples(Path(triples)) if triples is not None else None
        own_tags = None if tags is None else [tag.strip() for tag in tags if tag.strip()]

        def run(interruption: Interruption) -> IngestReport:
            meter = ProgressMeter(len(files), on_progress)
            with resources.writing(role="extractor") as session:
                ingester = make_ingester(
                    session,
                    job or " ".join(map(str, roots)) or f"text {name}",
                    compacts=compact,
                    given=given,
                    tags=own_tags,
                    on_result=meter.count,
                    interruption=interruption,
                )
                report = ingester.run(files, roots if sync else ())
                report.count_unmatched(given, files)
                return report

        return RunHandle(run, resources, wait=wait)

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
        given = GivenTriples(Path(triples)) if triples is not None else None
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
            if not name.strip() or any("\ud800" <= one <= "\udfff" for one in text + name):
                raise ConfigurationError("The text or its name is unusable.", hint="Pass a name, and text without surrogates.")
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
