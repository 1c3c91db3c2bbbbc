"""Estimate an ingest: documents, calls, tokens and price, without a call (`ingest --dry-run`).

Files are loaded and split, because the number of calls depends on it. Recorded replies are free.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from drag_graph.distill.cost_estimate import TOKENS_TRIPLE, TRIPLES_AN_EVIDENCE, EstimateBasis, Pricing
from drag_graph.documents import document_prompts as prompts
from drag_graph.documents.document_files import SourceFile, load_source
from drag_graph.documents.document_reader import DocumentReader, Passages
from drag_graph.errors import DocumentUnusable
from drag_graph.graph.paging import pages
from drag_graph.jobs.document_lookup import DocumentLookup
from drag_graph.jobs.ingest_job import WINDOW, DocumentResult, FileStep, IngestReport, Status, document_of, wanted_hash
from drag_graph.model import Document


def foresee(
    files: Sequence[SourceFile],
    namespace: str,
    reader: DocumentReader,
    basis: EstimateBasis,
    sync: Sequence[Path] = (),
    *,
    model: str,
    pricing: Pricing | None,
) -> tuple[IngestReport, dict[str, Any]]:
    """Return the report of a run as far as it is known without extracting triples, and the cost of a `model`."""
    report, tokens_in, tokens_out = IngestReport(), 0, 0
    lookup = DocumentLookup(basis.store, namespace, files, sync)
    for window in pages(files, WINDOW):
        for found in lookup.find(window):
            file, stored = found.file, found.stored
            result = FileStep(len(report.documents), found).unchanged()
            if stored is not None and stored.settings_hash == wanted_hash(reader, file):
                result = replace(result, status="renamed" if found.is_renamed else "unchanged")
            else:
                result, document, passages = _read(result, file, namespace, reader, is_stored=stored is not None)
                if model and document and passages and not reader.has_triples(file.name):
                    for chunk in filter(None, passages.by_chunk):
                        request = prompts.request(document, chunk)
                        result.usage.calls += 1
                        if basis.tape is not None and basis.tape.find(model, request) is not None:
                            result.usage.cached_calls += 1
                        else:
                            tokens_in += pricing.count_tokens(model, request.messages) if pricing else 0
                            tokens_out += round(len(chunk) * TRIPLES_AN_EVIDENCE * TOKENS_TRIPLE)
            report.count(result)
    price = pricing.price_of(model, tokens_in, tokens_out) if pricing and model else 0.0
    paid = {"price_usd": round(price or 0.0, 4), "price_known": price is not None}
    cost = {"tokens_in": tokens_in, "tokens_out": tokens_out, **paid}
    return report, cost


def _read(
    result: DocumentResult, file: SourceFile, namespace: str, reader: DocumentReader, *, is_stored: bool
) -> tuple[DocumentResult, Document | None, Passages | None]:
    try:
        loaded = load_source(file)
    except DocumentUnusable as error:
        return replace(result, status="failed", error=error.message), None, None
    document = document_of(file, result.id, namespace, loaded)
    passages = reader.passages_of(document, loaded)
    status: Status = "changed" if is_stored else "added"
    sizes = replace(result, chunks=len(passages.chunks), evidence=len(passages.evidence))
    return replace(sizes, status=status), document, passages
