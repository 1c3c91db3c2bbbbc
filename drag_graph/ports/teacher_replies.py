"""The shapes of a teacher's replies: each is a pydantic model of one list (docs/reference/json.md)."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from drag_graph.model import ENTITY_TYPES, FRAMINGS, Framing
from drag_graph.values import Confidence, Relevance


def _no_flag(value: Any) -> Any:
    # Python counts True as 1; a model that says true has given no number.
    if isinstance(value, bool):
        raise ValueError("Input should be a number")  # noqa: TRY004 - pydantic turns a ValueError into its own error
    return value


Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
Index = Annotated[int, Field(ge=0), BeforeValidator(_no_flag)]
Schema = dict[str, Any]


def _object(**properties: Schema) -> Schema:
    """Return the JSON schema of an object with required keys and no others, as strict servers demand."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_STRING: Schema = {"type": "string"}
_ENTITY_TYPE: Schema = {"type": "string", "enum": list(ENTITY_TYPES)}
_POSITION: Schema = {"type": "integer", "description": "0-based position in the request"}


class Item(BaseModel):
    """One entry of a reply; unknown keys are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class EvidenceItem(Item):
    """One factual statement; an unknown framing counts as unspecified."""

    text: Words
    framing: Framing = "unspecified"

    @model_validator(mode="before")
    @classmethod
    def _accept_plain_text(cls, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value if isinstance(value, cls) else {"text": value}
        return value if value.get("framing") in FRAMINGS else {**value, "framing": "unspecified"}


class ScoreItem(Item):
    """The relevance of one evidence, 1 to 10; `index` is its 0-based position in the request."""

    index: Index
    score: Annotated[Relevance, BeforeValidator(_no_flag)]


def _entity_type(value: Any) -> str:
    """Return a known type, `other` for an unknown one, or ""; a wrong type never discards a triple."""
    word = value.strip().lower() if isinstance(value, str) else value
    return word if word in ENTITY_TYPES else "other" if word else ""


EntityType = Annotated[str, BeforeValidator(_entity_type)]


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, int) else value


UNSTATED_CONFIDENCE = 0.7
"""Confidence of a triple that states none: the default threshold, so a stricter threshold prunes such triples first."""
_MEMBERS = ("subject", "predicate", "object")


class TripleItem(Item):
    """One triple; `evidence` are the 0-based positions in the request of the evidence that it was read from.

    Models also write a list [subject, predicate, object] or other names. Without a confidence it is 0.7. Without evidence it
    gets the evidence that contains its ends. Types are from ENTITY_TYPES, or empty.
    """

    subject: Annotated[Words, Field(validation_alias=AliasChoices("subject", "head", "source"))]
    predicate: Annotated[Words, Field(validation_alias=AliasChoices("predicate", "relation", "relationship", "type"))]
    object: Annotated[Words, Field(validation_alias=AliasChoices("object", "tail", "target"))]
    confidence: Annotated[Confidence, BeforeValidator(_no_flag)] = UNSTATED_CONFIDENCE
    evidence: Annotated[tuple[Index, ...], Field(min_length=1), BeforeValidator(_one_or_more)] = ()
    subject_type: EntityType = ""
    object_type: EntityType = ""

    @model_validator(mode="before")
    @classmethod
    def _accept_a_list(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        if len(value) != len(_MEMBERS):
            raise ValueError(f"it has {len(value)} members, not subject, predicate and object")
        return dict(zip(_MEMBERS, value, strict=True))

    @model_validator(mode="after")
    def _ends_differ(self) -> Self:
        if self.subject.casefold() == self.object.casefold():
            raise ValueError("subject and object are the same")
        return self


class StatementItem(Item):
    """The merged sentence of one entity pair; `pair` is its 0-based position in the request."""

    pair: Index
    statement: Words


class SummaryItem(Item):
    """Title and summary of a part of the graph."""

    name: Words
    summary: Words


class Reply(BaseModel):
    """A validated reply. `discarded` has one sentence for each unusable item."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_name: ClassVar[str]
    """Name of the shape for the model, and of its list."""
    item_type: ClassVar[type[Item]]
    json_schema: ClassVar[Schema]
    """The schema in requests. It is part of the tape's keys: after a change, recorded replies are no longer found."""

    discarded: tuple[str, ...] = Field((), exclude=True)

    @property
    def items(self) -> tuple[Any, ...]:
        """The entries of the reply's list."""
        items: tuple[Any, ...] = getattr(self, self.schema_name)
        return items


class EvidenceReply(Reply):
    """`{"evidence": [{"text", "framing"}]}`."""

    schema_name = "evidence"
    item_type = EvidenceItem
    json_schema = _object(evidence=_list(_object(text=_STRING, framing={"type": "string", "enum": list(FRAMINGS)})))
    evidence: tuple[EvidenceItem, ...]


class ScoresReply(Reply):
    """`{"scores": [{"index", "score"}]}`."""

    schema_name = "scores"
    item_type = ScoreItem
    json_schema = _object(scores=_list(_object(index=_POSITION, score={"type": "number", "description": "1 to 10"})))
    scores: tuple[ScoreItem, ...]


class TriplesReply(Reply):
    """`{"triples": [{"subject", "predicate", "object", "confidence", "evidence", "subject_type"?, "object_type"?}]}`."""

    schema_name = "triples"
    item_type = TripleItem
    json_schema = _object(
        triples=_list(
            _object(
                subject=_STRING,
                predicate=_STRING,
                object=_STRING,
                confidence={"type": "number", "description": "0 to 1"},
                evidence=_list(_POSITION),
                subject_type=_ENTITY_TYPE,
                object_type=_ENTITY_TYPE,
            )
        )
    )
    triples: tuple[TripleItem, ...]


class StatementsReply(Reply):
    """`{"statements": [{"pair", "statement"}]}`."""

    schema_name = "statements"
    item_type = StatementItem
    json_schema = _object(statements=_list(_object(pair=_POSITION, statement=_STRING)))
    statements: tuple[StatementItem, ...]


class SummariesReply(Reply):
    """`{"summaries": [{"name", "summary"}]}`."""

    schema_name = "summaries"
    item_type = SummaryItem
    json_schema = _object(summaries=_list(_object(name=_STRING, summary=_STRING)))
    summaries: tuple[SummaryItem, ...]


REPLIES: dict[str, type[Reply]] = {
    reply.schema_name: reply for reply in (EvidenceReply, ScoresReply, TriplesReply, StatementsReply, SummariesReply)
}
