"""Turn one document into its subgraph: chunks, passages as evidence, triples by rules or a model, the canonical graph.

All I/O goes through ports.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, asdict, dataclass, field
from datetime import UTC, datetime

import numpy as np

from drag_graph.distill import canonical_subgraph as canonical
from drag_graph.distill import triple_extraction as extract
from drag_graph.distill.entity_merging import thresholds_for
from drag_graph.distill.plans import chosen
from drag_graph.distill.query_distillation import Usage
from drag_graph.documents import document_prompts as prompts
from drag_graph.documents import file_loaders as loaders
from drag_graph.documents import given_triples
from drag_graph.documents import passages as splitting
from drag_graph.documents.blocks import CELL_GAP
from drag_graph.documents.file_loaders import LoadedFile
from drag_graph.documents.given_triples import GivenTriples
from drag_graph.errors import ReplyError, Withheld
from drag_graph.graph.edge_text import one_line
from drag_graph.graph.grounding import TOLERANCE
from drag_graph.graph.paging import pages
from drag_graph.identity import chunk_id, content_id, sha256_of
from drag_graph.model import Aggregation, Chunk, Document, Evidence, Subgraph, TeacherCall, Triple
from drag_graph.ports.model_roles import Embedder, Teacher
from drag_graph.ports.question_gate import LookFor
from drag_graph.ports.vectors import Vectors
from drag_graph.settings import Settings

TEXTS_AT_ONCE = 128
"""Number of texts embedded together: about a second of MiniLM."""
FEW_PASSAGES = 0.5
"""A long document with fewer passages than this fraction of its chunks gets a note."""


@dataclass(frozen=True, slots=True)
class PassagePrivacy:
    """The checks that passages must pass before they leave this machine; None for a local model.

    `fingerprint` is the gate's level and detectors.
    """

    before_extractor: LookFor | None = None
    before_embedder: LookFor | None = None
    fingerprint: str = "off"


@dataclass(slots=True)
class Passages:
    """The chunks of a document, each with its passages."""

    chunks: list[Chunk] = field(default_factory=list)
    by_chunk: list[list[Evidence]] = field(default_factory=list)

    @property
    def evidence(self) -> list[Evidence]:
        """All passages, in order."""
        return [item for passages in self.by_chunk for item in passages]


@dataclass(eq=False)
class DocumentReader:
    """Reads documents under fixed settings. Without an `extractor`, rules extract the triples. Thread-safe.

    `given` has triples that replace those of an extractor. `check` is called every second or so of a long document, and may
    raise an error that ends the reading.
    """

    settings: Settings
    embedder: Embedder
    extractor: Teacher | None
    privacy: PassagePrivacy
    _: KW_ONLY
    given: GivenTriples | None = None
    check: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self._thresholds = thresholds_for(self.embedder.name, self.settings.merge_similarity)

    def has_triples(self, name: str) -> bool:
        """Whether the triples of a document are given, so that no extractor reads it."""
        return self.given is not None and bool(self.given.hash_of(name))

    def settings_hash(self, sha256: str, name: str) -> str:
        """Return the hash of everything that determines a document's subgraph; `sha256` is the hash of the file."""
        model = self.extractor
        triples = self.given.hash_of(name) if self.given else ""
        return sha256_of(
            {
                **({"triples": [triples, given_triples.VERSION]} if triples else {}),
                "file": sha256,
                "chunk_size": self.settings.chunk_size,
                "extractor": model.fingerprint if model else "",
                "versions": [
                    loaders.VERSION,
                    splitting.VERSION,
                    extract.PATTERNS_MODEL,
                    prompts.PROMPT_VERSION if model else "",
                ],
                "merging": asdict(self._thresholds),
                "grounding": TOLERANCE,
                "embedder": self.embedder.name,
                "privacy": self.privacy.fingerprint if model and self.privacy.before_extractor else "off",
            }
        )

    def aggregation(self) -> Aggregation:
        """Return how the triples of documents are merged into simple edges."""
        settings = self.settings
        strategy, threshold = chosen(settings, "strategy"), chosen(settings, "threshold")
        return Aggregation(strategy=strategy, merge=settings.merge, threshold=threshold)

    def passages_of(self, document: Document, loaded: LoadedFile) -> Passages:
        """Return the chunks and passages of a file. A repeated passage is evidence only once."""
        result, texts, created_at = Passages(), set[str](), datetime.now(UTC).isoformat(timespec="seconds")
        own, position = {"source_id": document.id, "created_at": created_at}, 0
        for number, piece in enumerate(splitting.chunks(loaded.text, loaded.blocks, self.settings.chunk_size)):
            chunk_text = piece.span.of(loaded.text)
            id_ = chunk_id(document.namespace, document.id, number, chunk_text)
            facts = {"start": piece.span.start, "end": piece.span.end, "page": piece.page, "heading": piece.heading}
            result.chunks.append(Chunk(id=id_, source_id=document.id, position=number, text=chunk_text, **facts))
            result.by_chunk.append([])
            for part in piece.passages:
                passage = part.of(loaded.text)
                if passage in texts or not any(map(str.isalpha, passage)):
                    continue
                texts.add(passage)
                place = {"position": position, "rank": position, "chunk_id": id_, "start": part.start, "end": part.end}
                evidence_id = content_id(document.namespace, "evidence", document.id, passage)
                result.by_chunk[-1].append(Evidence(id=evidence_id, text=passage, **own, **place))
                position += 1
        return result

    def read(self, document: Document, loaded: LoadedFile, usage: Usage) -> tuple[Subgraph, dict[str, Vectors]]:
        """Return the document's subgraph without edges, and the vectors of its evidence by id.

        `usage` is updated with every call, also if an error is raised. Raises Withheld if a private passage would have to leave
        this machine, ModelError if a model cannot be used, and BudgetReached.
        """
        passages = self.passages_of(document, loaded)
        evidence, number = passages.evidence, len(passages.chunks)
        if number > 1 and len(evidence) < FEW_PASSAGES * number:
            usage.notes.append(
                f"{number} chunks have only {len(evidence)} different passages: the text repeats itself or has no words."
            )
        self._check_embedding([chunk.text for chunk in passages.chunks])
        extraction, calls = self._triples(document, passages, usage)
        self._check_embedding([f"{one.subject} {one.predicate} {one.object}" for one in extraction.triples])
        graph = canonical.build(document, extraction.triples, self._embed, self._thresholds, ranks=False)
        subgraph = Subgraph(
            source=document,
            settings_hash=self.settings_hash(document.sha256, document.name),
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            chunks=tuple(passages.chunks),
            evidence=tuple(evidence),
            entities=graph.entities,
            triples=_ranked(graph.triples, evidence),
            calls=tuple(sorted(calls, key=lambda call: call.id)),
        )
        rows = self._embed([item.text for item in evidence])
        return subgraph, {item.id: row for item, row in zip(evidence, rows, strict=True)}

    def _check_embedding(self, texts: Sequence[str]) -> None:
        """Raise Withheld if the embedder is remote and the texts contain private details."""
        if self.privacy.before_embedder is not None:
            for kind in filter(None, self.privacy.before_embedder(texts)):
                raise Withheld(f"A passage contains a private detail of type {kind}, and the embedder is remote.")

    def _triples(self, document: Document, passages: Passages, usage: Usage) -> tuple[extract.Extraction, list[TeacherCall]]:
        extraction, calls, by_rules = extract.Extraction(), list[TeacherCall](), list[Evidence]()
        if self.given is not None and self.has_triples(document.name):
            pairs = zip(passages.chunks, passages.by_chunk, strict=True)
            headings = [" ".join((document.name, *chunk.heading)) for chunk, items in pairs for _ in items]
            extraction, calls = self.given.read(document, passages.evidence, headings)
            usage.notes += extraction.notes
            return extraction, calls
        if self.extractor is None:
            by_rules = passages.evidence
        else:
            look = self.privacy.before_extractor
            private = look([chunk.text for chunk in passages.chunks]) if look else [""] * len(passages.chunks)
            for position, chunk in enumerate(passages.by_chunk):
                if not chunk:
                    continue
                try:
                    _refuse_private(private[position])
                    reply = usage.ask(self.extractor, prompts.request(document, chunk))
                except (ReplyError, Withheld) as error:
                    usage.notes.append(f"Rules read chunk {position}: {error}")
                    by_rules += chunk
                    continue
                calls += reply.calls
                extraction += extract.read(reply, chunk)
        texts = [_for_rules(item) for item in by_rules]
        rule_based, call = extract.from_patterns(document, texts, created_at=datetime.now(UTC).isoformat(timespec="seconds"))
        usage.notes += rule_based.notes
        if rule_based.triples:
            calls.append(call)
        return extraction + rule_based, list({item.id: item for item in calls}.values())

    def _embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts; many of them page by page, in as many threads as there are processors."""

        def embed(page: list[str]) -> Vectors:
            self.check()
            return self.embedder.embed(page)

        if len(texts) <= TEXTS_AT_ONCE:
            return self.embedder.embed(texts)
        with ThreadPoolExecutor(os.cpu_count()) as threads:
            return np.concatenate(list(threads.map(embed, pages(texts, TEXTS_AT_ONCE))))


def _refuse_private(kind: str) -> None:
    if kind:
        raise Withheld(f"It contains a private detail of type {kind}.")


def _ranked(triples: Sequence[Triple], evidence: Sequence[Evidence]) -> tuple[Triple, ...]:
    """Return the triples by confidence, then in the order of the text. There is no question to rank them by."""
    places = {item.id: item.position for item in evidence}
    ordered = sorted(triples, key=lambda item: (-item.confidence, places[item.evidence_id], item.id))
    return tuple(item.model_copy(update={"rank": rank}) for rank, item in enumerate(ordered))


def _for_rules(item: Evidence) -> Evidence:
    """Return a passage for the rules, which take a line end for the end of a list item. Of a row, return the sentences."""
    cells = item.text.split(CELL_GAP)
    if len(cells) > 1:
        sentences = [cell.partition(": ")[2] or cell for cell in cells if cell.endswith((".", "!", "?"))]
        return item.model_copy(update={"text": " ".join(sentences)})
    return item.model_copy(update={"text": one_line(item.text)}) if "\n" in item.text else item
