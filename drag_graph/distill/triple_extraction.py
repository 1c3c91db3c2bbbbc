"""Extract triples from the kept evidence, with the teacher or by rules.

`lean` sends all evidence in one request; `paper` sends one request per evidence (the paper's step 3). `from_patterns` uses
rules instead of a model.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from drag_graph.distill.patterns.language import are_english
from drag_graph.distill.patterns.reader import ExtractedTriple
from drag_graph.distill.patterns.reader import extract as extract_by_rules
from drag_graph.distill.teacher_messages import Plan, chat, numbered, question
from drag_graph.graph.grounding import Grounds
from drag_graph.graph.name_forms import clean
from drag_graph.identity import content_id, sha256_of
from drag_graph.model import ENTITY_TYPES, Evidence, Query, Source, TeacherCall, sentence_of
from drag_graph.ports.model_roles import TeacherReply, TeacherRequest
from drag_graph.ports.run_journal import UNREAD
from drag_graph.ports.teacher_replies import TripleItem, TriplesReply

PROMPT_VERSIONS: dict[Plan, str] = {"lean": "triples-lean/2", "paper": "triples-paper/2"}
PATTERNS_MODEL = "patterns/3"
LONGEST_END = 200
"""Maximum length of a subject or object in characters; a longer one is a sentence, not an entity."""
LONGEST_PREDICATE = 120

_LEAN_SYSTEM = (
    "Extract knowledge-graph triples from numbered statements. Short noun phrases in their words as ends, one name per entity, "
    "no pronouns; confidence 0-1: how directly the statement says it. Reply in JSON: "
    '{"triples": [{"subject": string, "predicate": string, "object": string, "confidence": number, "evidence": [integer]}]}.'
)
_PAPER_SYSTEM = (
    "Your task is to find the entity pairs in an evidence statement, and how they are related. "
    "Name every pair of entities that the statement relates, in its own words, and describe each relationship with a short "
    "predicate. Use the same name for the same entity and no pronouns. Rate each relationship with a confidence from 0 to 1 by "
    "how directly the evidence supports it.\n"
    'Reply with a JSON object {"triples": [{"subject": string, "predicate": string, "object": string, "confidence": number, '
    '"evidence": [integer], "subject_type": string, "object_type": string}]}; "evidence" is always [0], and a type is one of '
    f"{', '.join(ENTITY_TYPES)}."
)
_PAPER_USER = "Question: {question}\n\nEvidence:\n{statements}"
_SIMPLER_SYSTEM = (
    'Reply with JSON only: {"triples": [{"subject": "A", "predicate": "causes", "object": "B", "confidence": 0.9, '
    '"evidence": [0]}]}. Make simple facts of this form from the numbered sentences.'
)


@dataclass(frozen=True, slots=True)
class RawTriple:
    """A triple whose ends are not yet entities; `confidence` is 0 to 1."""

    subject: str
    predicate: str
    object: str
    confidence: float
    evidence_id: str
    call_id: str
    subject_type: str = ""
    object_type: str = ""


@dataclass(frozen=True, slots=True)
class Extraction:
    """Raw triples in reading order, and the reasons for discarded and for doubtful ones.

    `notes` says how much evidence the rules left out because it is not in English.
    """

    triples: tuple[RawTriple, ...] = ()
    discarded: tuple[str, ...] = ()
    doubted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __add__(self, other: "Extraction") -> "Extraction":
        """Join two extractions; the paper plan has one per evidence."""
        doubted, notes = self.doubted + other.doubted, self.notes + other.notes
        return Extraction(self.triples + other.triples, self.discarded + other.discarded, doubted, notes)


def batches(evidence: Sequence[Evidence], plan: Plan = "lean") -> tuple[tuple[Evidence, ...], ...]:
    """Return the kept evidence, best first, in one group per request of the plan."""
    usable = tuple(sorted((item for item in evidence if item.kept), key=lambda item: item.rank))
    if plan == "paper":
        return tuple((item,) for item in usable)
    return (usable,) if usable else ()


def request(query: Query, batch: Sequence[Evidence], plan: Plan = "lean", *, blind: bool = False) -> TeacherRequest:
    """Return the request for the triples of one batch; the reply refers to evidence by position."""
    texts = tuple(item.text for item in batch)
    statements = numbered(texts)
    if plan == "lean":
        messages = chat(_LEAN_SYSTEM, statements)
    else:
        messages = chat(_PAPER_SYSTEM, _PAPER_USER.format(question=question(query, blind=blind), statements=statements))
    return TeacherRequest(
        source=query,
        stage="triples",
        schema=TriplesReply,
        messages=messages,
        prompt_version=PROMPT_VERSIONS[plan],
        simpler=chat(_SIMPLER_SYSTEM, statements),
        parameters={"temperature": 0.0},
        texts=texts,
    )


def read(reply: TeacherReply, batch: Sequence[Evidence], *, by_people: bool = False) -> Extraction:
    """Return one raw triple for each triple and evidence that it names, and the reasons for discarded ones.

    A triple whose ends do not occur in its evidence is discarded. With `by_people` it is kept as doubtful.
    """
    assert isinstance(reply.payload, TriplesReply)
    grounds = [Grounds(item.text) for item in batch]
    triples: list[RawTriple] = []
    discarded = list(reply.payload.discarded)
    doubted: list[str] = []
    for place, item in enumerate(reply.payload.triples):
        problem = unusable(item.subject, item.predicate, item.object)
        if problem:
            discarded.append(f"triples[{place}]: {problem}")
            continue
        for index in dict.fromkeys(item.evidence):
            if index >= len(batch):
                discarded.append(f"triples[{place}]: there is no evidence {index}, only {len(batch)}")
                continue
            problem = grounds[index].problem(clean(item.subject), clean(item.object))
            if problem:
                sentence = sentence_of(clean(item.subject), clean(item.predicate), clean(item.object))
                (doubted if by_people else discarded).append(f'"{sentence}": {problem} "{batch[index].text}"')
            if by_people or not problem:
                triples.append(_raw(item, batch[index].id, reply.call.id, (item.subject_type, item.object_type)))
    return Extraction(tuple(triples), tuple(discarded), tuple(doubted))


def unusable(subject: str, predicate: str, object_: str) -> str:
    """Return the reason why a triple is unusable, or ""."""
    parts = {"subject": (clean(subject), LONGEST_END), "object": (clean(object_), LONGEST_END)}
    for name, (text, longest) in {**parts, "predicate": (clean(predicate), LONGEST_PREDICATE)}.items():
        if not any(map(str.isalnum, text)):
            return f"the {name} is empty"
        if len(text) > longest:
            return f"the {name} has {len(text)} characters, more than {longest}"
    return "subject and object are the same" if clean(subject).casefold() == clean(object_).casefold() else ""


def _raw(item: TripleItem | ExtractedTriple, evidence_id: str, call_id: str, types: tuple[str, str] = ("", "")) -> RawTriple:
    parts = clean(item.subject), clean(item.predicate), clean(item.object)
    return RawTriple(*parts, item.confidence, evidence_id, call_id, *types)


def from_patterns(source: Source, evidence: Sequence[Evidence], created_at: str = "") -> tuple[Extraction, TeacherCall]:
    """Extract triples from the kept evidence by rules, and record that as a "call" without tokens and cost.

    Evidence in other languages than English has none. The call's hashes cover the evidence and the triples, so the same
    evidence results in the same call.
    """
    usable = [item for batch in batches(evidence) for item in batch]
    request_hash = sha256_of([item.text for item in usable])
    call_id = content_id(source.namespace, "call", source.id, "triples", PATTERNS_MODEL, request_hash)
    triples: list[RawTriple] = []
    discarded: list[str] = []
    readable = [
        item for item, is_english in zip(usable, are_english([item.text for item in usable]), strict=True) if is_english
    ]
    unread = len(usable) - len(readable)
    for item in readable:
        for triple in extract_by_rules(item.text):
            problem = unusable(triple.subject, triple.predicate, triple.object)
            if problem:
                discarded.append(f"{triple.rule} in evidence {item.position}: {problem}")
            else:
                triples.append(_raw(triple, item.id, call_id))
    rows = [[raw.subject, raw.predicate, raw.object, raw.confidence, raw.evidence_id] for raw in triples]
    call = TeacherCall(
        id=call_id,
        source_id=source.id,
        stage="triples",
        model=PATTERNS_MODEL,
        prompt_version=PATTERNS_MODEL,
        request_sha256=request_hash,
        response_sha256=sha256_of(rows),
        created_at=created_at,
    )
    notes = (f"{UNREAD}; {unread} of {len(usable)} passages are in another language.",) if unread else ()
    return Extraction(tuple(triples), tuple(discarded), notes=notes), call
