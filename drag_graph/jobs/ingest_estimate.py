"""`ingest --dry-run`: what would be read, and the calls, tokens and price of a model that reads the triples, without a call.

Files are loaded and cut, as that is what tells how many calls there are. What is on the tape counts as free.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from drag_graph.distill.cost_estimate import TOKENS_TRIPLE, TRIPLES_AN_EVIDENCE, Known, Pricing
from drag_graph.documents import document_prompts as prompts
from drag_graph.documents.document_files import SourceFile
from drag_graph.documents.document_reader import DocumentReader, Passages
from drag_graph.documents.file_loaders import load
from drag_graph.errors import DocumentUnusable
from drag_graph.graph.paging import pages
from drag_graph.identity import document_id
from drag_graph.jobs.ingest_job import WINDOW, DocumentResult, IngestReport, Status, document_of, wanted_hash
from drag_graph.model import Document


def foresee(
    files: Iterable[SourceFile], namespace: str, reader: DocumentReader, known: Known, *, model: str, pricing: Pricing | None
) -> tuple[IngestReport, dict[str, Any]]:
    """Return what a run would report, as far as that is known without reading triples, and what a `model` would cost."""
    report, tokens_in, tokens_out = IngestReport(), 0, 0
    for window in pages(files, WINDOW):
        ids = {file: document_id(namespace, file.uri) for file in window}
        hashes = known.stored(list(ids.values()))
        for file, id_ in ids.items():
            found = DocumentResult(id_, file.name, "unchanged", place=len(report.documents))
            if hashes.get(id_, " ") != wanted_hash(reader, file):
                found, document, passages = _read(found, file, namespace, reader, is_stored=id_ in hashes)
                if model and document and passages:
                    for some in filter(None, passages.by_chunk):
                        request = prompts.request(document, some)
                        found.usage.calls += 1
                        if known.tape is not None and known.tape.find(model, request) is not None:
                            found.usage.cached_calls += 1
                        else:
                            tokens_in += pricing.count_tokens(model, request.messages) if pricing else 0
                            tokens_out += round(len(some) * TRIPLES_AN_EVIDENCE * TOKENS_TRIPLE)
            report.count(found)
    price = pricing.price_of(model, tokens_in, tokens_out) if pricing and model else 0.0
    paid = {"price_usd": round(price or 0.0, 4), "price_known": price is not None}
    cost = {"tokens_in": tokens_in, "tokens_out": tokens_out, **paid}
    return report, cost


def _read(
    found: DocumentResult, file: SourceFile, namespace: str, reader: DocumentReader, *, is_stored: bool
) -> tuple[DocumentResult, Document | None, Passages | None]:
    try:
        loaded = load(file.path)
    except DocumentUnusable as error:
        return replace(found, status="failed", error=error.message), None, None
    document = document_of(file, found.id, namespace, loaded)
    passages = reader.passages_of(document, loaded.text)
    status: Status = "changed" if is_stored else "added"
    sizes = replace(found, chunks=len(passages.chunks), evidence=len(passages.evidence))
    return replace(sizes, status=status), document, passages
