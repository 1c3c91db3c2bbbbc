"""One document to its subgraph: chunks, passages as evidence, triples by rules or by a model, and the canonical graph.

No I/O of its own: models come in by their ports.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime

from drag_graph.distill import canonical_subgraph as canonical
from drag_graph.distill import triple_extraction as extract
from drag_graph.distill.entity_merging import Thresholds, thresholds_for
from drag_graph.distill.plans import chosen
from drag_graph.distill.query_distillation import Usage
from drag_graph.distill.spacy_extractor import PhraseReader
from drag_graph.documents import document_prompts as prompts
from drag_graph.documents import file_loaders as loaders
from drag_graph.documents import passages
from drag_graph.errors import DragGraphError, ReplyError, Withheld
from drag_graph.graph.edge_text import one_line
from drag_graph.graph.grounding import TOLERANCE
from drag_graph.identity import chunk_id, content_id, sha256_of
from drag_graph.model import Aggregation, Chunk, Document, Evidence, Subgraph, TeacherCall, Triple
from drag_graph.ports.model_roles import Embedder, Teacher, TeacherReply
from drag_graph.ports.question_gate import LookFor
from drag_graph.ports.vectors import Vectors
from drag_graph.settings import Settings

TEXTS_AT_ONCE = 256
"""Passages that are embedded together."""


@dataclass(frozen=True, slots=True)
class PassagePrivacy:
    """What passages are looked at with before they leave this machine; None where they do not leave it.

    `fingerprint` is the gate's level and detectors.
    """

    before_extractor: LookFor | None = None
    before_embedder: LookFor | None = None
    fingerprint: str = "off"


@dataclass(slots=True)
class Passages:
    """The chunks of a document, and the passages of each."""

    chunks: list[Chunk] = field(default_factory=list)
    by_chunk: list[list[Evidence]] = field(default_factory=list)

    @property
    def evidence(self) -> list[Evidence]:
        """All passages in their order."""
        return [item for some in self.by_chunk for item in some]


class DocumentReader:
    """Reads documents under fixed settings. `extractor` is a model; None: the rules read the triples. Thread-safe."""

    def __init__(
        self,
        settings: Settings,
        embedder: Embedder,
        extractor: Teacher | None,
        privacy: PassagePrivacy,
        phrases: PhraseReader | None = None,
    ) -> None:
        """`phrases` finds triples beside the rules."""
        self._settings = settings
        self._embedder = embedder
        self._extractor = extractor
        self._privacy = privacy
        self._phrases = phrases

    def settings_hash(self, sha256: str) -> str:
        """Return the hash of everything that determines a document's subgraph; `sha256` is that of the file."""
        model = self._extractor
        return sha256_of(
            {
                "file": sha256,
                "chunk_size": self._settings.chunk_size,
                "extractor": model.fingerprint if model else "",
                "versions": [
                    loaders.VERSION,
                    passages.VERSION,
                    extract.patterns_model(self._phrases),
                    prompts.PROMPT_VERSION if model else "",
                ],
                "merging": asdict(self._thresholds()),
                "grounding": TOLERANCE,
                "embedder": self._embedder.name,
                "privacy": self._privacy.fingerprint if model and self._privacy.before_extractor else "off",
            }
        )

    def aggregation(self) -> Aggregation:
        """Return how the simple edges of documents are made."""
        settings = self._settings
        return Aggregation(strategy=settings.strategy, merge=settings.merge, threshold=chosen(settings, "threshold"))

    def passages_of(self, document: Document, text: str) -> Passages:
        """Return the chunks and passages of a text. A passage that the document has before is evidence once."""
        found, seen, created_at = Passages(), set[str](), datetime.now(UTC).isoformat(timespec="seconds")
        own, position = {"source_id": document.id, "created_at": created_at}, 0
        for number, (span, spans) in enumerate(passages.chunks(text, self._settings.chunk_size)):
            whole = span.of(text)
            id_ = chunk_id(document.namespace, document.id, number, whole)
            found.chunks.append(
                Chunk(id=id_, source_id=document.id, position=number, start=span.start, end=span.end, text=whole)
            )
            found.by_chunk.append([])
            for part in spans:
                said = part.of(text)
                if said in seen or not any(map(str.isalpha, said)):
                    continue
                seen.add(said)
                place = {"position": position, "rank": position, "chunk_id": id_, "start": part.start, "end": part.end}
                evidence_id = content_id(document.namespace, "evidence", document.id, said)
                found.by_chunk[-1].append(Evidence(id=evidence_id, text=said, **own, **place))
                position += 1
        return found

    def read(self, document: Document, text: str, usage: Usage) -> tuple[Subgraph, dict[str, Vectors]]:
        """Return the document's subgraph, without edges, and the vectors of its evidence by id.

        Raises Withheld where it may not leave this machine and would have to, ModelError where a model cannot be used at all,
        and BudgetReached. `usage` is filled as calls are made, also when an error is raised.
        """
        found = self.passages_of(document, text)
        evidence = found.evidence
        self._check_embedding([chunk.text for chunk in found.chunks])
        extraction, calls = self._triples(document, found, usage)
        graph = canonical.build(document, extraction.triples, self._embedder.embed, self._thresholds(), ranks=False)
        subgraph = Subgraph(
            source=document,
            settings_hash=self.settings_hash(document.sha256),
            created_at=datetime.now(UTC).isoformat(timespec="seconds"),
            chunks=tuple(found.chunks),
            evidence=tuple(evidence),
            entities=graph.entities,
            triples=_ranked(graph.triples, evidence),
            calls=tuple(sorted(calls, key=lambda call: call.id)),
        )
        return subgraph, self._vectors(evidence)

    def _thresholds(self) -> Thresholds:
        return thresholds_for(self._embedder.name, self._settings.entity_similarity, self._settings.predicate_similarity)

    def _check_embedding(self, texts: Sequence[str]) -> None:
        """Raise Withheld where the embedder is not on this machine and the texts hold something private."""
        if self._privacy.before_embedder is not None:
            for kind in filter(None, self._privacy.before_embedder(texts)):
                raise Withheld(f"a passage holds something of type {kind}, and the embedder is not on this machine")

    def _triples(self, document: Document, found: Passages, usage: Usage) -> tuple[extract.Extraction, list[TeacherCall]]:
        extraction, calls, by_rules = extract.Extraction(), list[TeacherCall](), list[Evidence]()
        if self._extractor is None:
            by_rules = found.evidence
        else:
            private = self._private(found)
            for position, some in enumerate(found.by_chunk):
                if not some:
                    continue
                try:
                    reply = self._asked(self._extractor, document, some, private[position], usage)
                except (ReplyError, Withheld) as error:
                    usage.notes.append(f"chunk {position} was read by the rules: {error}")
                    by_rules += some
                    continue
                calls += reply.calls
                extraction += extract.read(reply, some)
        texts = [_on_one_line(item) for item in by_rules]
        read, call = extract.from_patterns(document, texts, created_at=_now(), phrases=self._phrases)
        if read.triples:
            calls.append(call)
        return extraction + read, list({item.id: item for item in calls}.values())

    @staticmethod
    def _asked(extractor: Teacher, document: Document, some: Sequence[Evidence], private: str, usage: Usage) -> TeacherReply:
        """Return the model's reply about passages; of those that hold something `private` it is not asked."""
        if private:
            raise Withheld(f"it holds something of type {private}")
        try:
            reply = extractor.ask(prompts.request(document, some))
        except DragGraphError as error:
            usage.pay(error.spent)
            raise
        usage.book(reply)
        return reply

    def _private(self, found: Passages) -> Sequence[str]:
        texts = [chunk.text for chunk in found.chunks]
        look = self._privacy.before_extractor
        return look(texts) if look is not None else [""] * len(texts)

    def _vectors(self, evidence: Sequence[Evidence]) -> dict[str, Vectors]:
        vectors: dict[str, Vectors] = {}
        for start in range(0, len(evidence), TEXTS_AT_ONCE):
            some = evidence[start : start + TEXTS_AT_ONCE]
            rows = self._embedder.embed([item.text for item in some])
            vectors.update((item.id, row) for item, row in zip(some, rows, strict=True))
        return vectors


def _ranked(triples: Sequence[Triple], evidence: Sequence[Evidence]) -> tuple[Triple, ...]:
    """Return the triples, the most certain first, then in the order of the text: there is no question to rank them by."""
    places = {item.id: item.position for item in evidence}
    ordered = sorted(triples, key=lambda item: (-item.confidence, places[item.evidence_id], item.id))
    return tuple(item.model_copy(update={"rank": rank}) for rank, item in enumerate(ordered))


def _on_one_line(item: Evidence) -> Evidence:
    """Return a passage for the rules, to which a line end is the end of an item of a list."""
    return item.model_copy(update={"text": one_line(item.text)}) if "\n" in item.text else item


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
