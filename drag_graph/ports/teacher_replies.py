"""The reply shapes of a teacher, and their validation item by item.

A reply is a pydantic model of one list. An item of that list that is unusable is discarded with a reason that can be shown; the
reply as a whole is unusable only when nothing usable is left of it.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from drag_graph.model import ENTITY_TYPES, FRAMINGS, Confidence, Framing, Relevance


def _no_flag(value: Any) -> Any:
    # Python counts True as 1; a model that says true has given no number.
    if isinstance(value, bool):
        raise ValueError("Input should be a number")  # noqa: TRY004 - pydantic turns a ValueError into its own error
    return value


Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
Index = Annotated[int, Field(ge=0), BeforeValidator(_no_flag)]
Schema = dict[str, Any]


def _object(**properties: Schema) -> Schema:
    """Return the JSON schema of an object of which every key is required and no other allowed (what strict servers want)."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_STRING: Schema = {"type": "string"}
_LONGEST = {"text": 240, "statement": 240, "subject": 80, "predicate": 60, "object": 80, "name": 80, "summary": 1000}
"""Characters of a string, by the key that it stands under, where a schema is bounded."""
_MOST_POSITIONS = 3
"""Evidence that one triple names, where a schema is bounded."""
_SHORT = 12
"""Characters of a value that is no free text: a number, a short list of them, a word of a few."""
_ENTITY_TYPE: Schema = {"type": "string", "enum": list(ENTITY_TYPES)}
_POSITION: Schema = {"type": "integer", "description": "0-based position in the request"}


def _bounded(key: str, schema: Schema) -> Schema:
    if schema["type"] == "array":
        return {**schema, "maxItems": _MOST_POSITIONS}
    return {**schema, "maxLength": _LONGEST[key]} if key in _LONGEST else schema


class Item(BaseModel):
    """One entry of a reply; keys that nobody asked for are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class EvidenceItem(Item):
    """One factual statement; a framing that is not one of the five counts as unspecified."""

    text: Words
    framing: Framing = "unspecified"

    @model_validator(mode="before")
    @classmethod
    def _accept_plain_text(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"text": value}
        if isinstance(value, Mapping) and value.get("framing") not in FRAMINGS:
            return {**value, "framing": "unspecified"}
        return value


class ScoreItem(Item):
    """The relevance of one evidence, 1 to 10; `index` is its 0-based position in the request."""

    index: Index
    score: Annotated[Relevance, BeforeValidator(_no_flag)]


def _entity_type(value: Any) -> str:
    """Return a type of the list, `other` for any other, and nothing for nothing: a type never costs a triple."""
    word = value.strip().lower() if isinstance(value, str) else value
    return word if word in ENTITY_TYPES else "other" if word else ""


EntityType = Annotated[str, BeforeValidator(_entity_type)]


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, int) else value


UNSTATED_CONFIDENCE = 0.7
"""What a triple counts that was written without a confidence: the default threshold of an edge, so that it stays by default and
is the first to go under a stricter one."""
_MEMBERS = ("subject", "predicate", "object")


class TripleItem(Item):
    """One triple; `evidence` are the 0-based positions in the request of the evidence that it was read from.

    Models also write a list [subject, predicate, object] or other names. What states no confidence counts as 0.7; what names no
    evidence gets it by what its ends are found in (`replies.fit`). A type of an end is one of ENTITY_TYPES, or empty.
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
    """What a part of the graph is about: a title and a few sentences."""

    name: Words
    summary: Words


class Reply(BaseModel):
    """A validated reply. `discarded` has one sentence for each item that was unusable."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_name: ClassVar[str]
    """What the model is told that the shape is called; also the name of its list."""
    item_type: ClassVar[type[Item]]
    json_schema: ClassVar[Schema]
    """What the model is asked to keep to. Part of the tape's keys: changing it makes recorded replies unfindable."""

    discarded: tuple[str, ...] = Field((), exclude=True)

    @classmethod
    def bounded_schema(cls, count: int) -> Schema:
        """Return the JSON schema with bounds: `count` entries at most, and strings as long as one needs.

        A small model that is held to a schema without bounds may go on to the limit of its reply. Not all clouds take bounds.
        """
        (name,) = cls.json_schema["properties"]
        entry = cls.json_schema["properties"][name]["items"]
        properties = {key: _bounded(key, schema) for key, schema in entry["properties"].items()}
        return _object(**{name: {**_list({**entry, "properties": properties}), "maxItems": count}})

    @classmethod
    def longest(cls, count: int) -> int:
        """Return the characters that a reply of `count` entries has at most where its schema is bounded."""
        (name,) = cls.json_schema["properties"]
        keys = cls.json_schema["properties"][name]["items"]["properties"]
        marks = len('"": , ')
        entry = sum(len(key) + marks + _LONGEST.get(key, _SHORT) for key in keys)
        return len(name) + marks + count * (entry + marks)

    @property
    def items(self) -> tuple[Any, ...]:
        """The entries of the reply's list."""
        found: tuple[Any, ...] = getattr(self, self.schema_name)
        return found

    @classmethod
    def parse(cls, document: Any) -> Self:
        """Validate a JSON document; a bare list stands for the one list of the shape.

        Raises ValueError, with a sentence that can be sent back to the model, when the shape is wrong or no item is usable.
        An empty list is a valid reply.
        """
        entries = document.get(cls.schema_name) if isinstance(document, Mapping) else document
        if not isinstance(entries, list):
            raise ValueError(f'the reply must be a JSON object with a list "{cls.schema_name}"')  # noqa: TRY004
        usable, discarded = [], []
        for position, entry in enumerate(entries):
            try:
                usable.append(cls.item_type.model_validate(entry))
            except ValidationError as error:
                discarded.append(f"{cls.schema_name}[{position}]: {reason_of(error)}")
        if discarded and not usable:
            raise ValueError(f"no usable entry; the first: {discarded[0]}")
        return cls.model_validate({cls.schema_name: usable, "discarded": discarded})


def reason_of(error: ValidationError) -> str:
    """Return where and why the validation failed first, without the value."""
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])


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
