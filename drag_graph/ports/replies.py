"""The reply shapes of a teacher, and their validation item by item.

A reply is a pydantic model of one list. An item of that list that is unusable is discarded with a reason that can be shown; the
reply as a whole is unusable only when nothing usable is left of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from drag_graph.model import ENTITY_TYPES, FRAMINGS, Confidence, Framing, Relevance


def _no_flag(value: Any) -> Any:
    # Python counts True as 1; a model that says true has given no number.
    if isinstance(value, bool):
        raise ValueError("Input should be a number")  # noqa: TRY004 - pydantic turns a ValueError into its own error
    return value


Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=20_000)]
Index = Annotated[int, Field(ge=0), BeforeValidator(_no_flag)]
Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """What stands for a JSON object that gave one `key` two different values: neither the first nor the last is believed."""

    key: str


def _object(**properties: Schema) -> Schema:
    """Return the JSON schema of an object of which every key is required and no other allowed (what strict servers want)."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


_STRING: Schema = {"type": "string"}
_ENTITY_TYPE: Schema = {"type": "string", "enum": list(ENTITY_TYPES)}
_POSITION: Schema = {"type": "integer", "description": "0-based position in the request"}


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


class TripleItem(Item):
    """One triple; `evidence` are the 0-based positions in the request of the evidence that it was read from.

    A type of an end is one of ENTITY_TYPES, or empty where none was given.
    """

    subject: Words
    predicate: Words
    object: Words
    confidence: Annotated[Confidence, BeforeValidator(_no_flag)]
    evidence: Annotated[tuple[Index, ...], Field(min_length=1), BeforeValidator(_one_or_more)]
    subject_type: EntityType = ""
    object_type: EntityType = ""

    @model_validator(mode="after")
    def _ends_differ(self) -> Self:
        if self.subject.casefold() == self.object.casefold():
            raise ValueError("subject and object are the same")
        return self


UNSTATED_CONFIDENCE = 0.7
"""What a triple counts that was written in a form without a confidence: the default threshold of an edge, so that it stays by
default and is the first to go under a stricter one."""
_NAMES = {
    "subject": ("subject", "head", "source"),
    "predicate": ("predicate", "relation", "relationship", "type", "label"),
    "object": ("object", "tail", "target"),
}
_MEMBERS = 3


class LooseTriple(TripleItem):
    """A triple in another form than was asked for: the list [subject, predicate, object], or under other names.

    It may name no evidence (then `evidence` is empty) and state no confidence; one that is stated must be valid.
    """

    confidence: Annotated[Confidence, BeforeValidator(_no_flag)] = UNSTATED_CONFIDENCE
    evidence: Annotated[tuple[Index, ...], Field(min_length=1), BeforeValidator(_one_or_more)] = ()

    @model_validator(mode="before")
    @classmethod
    def _accept_other_forms(cls, value: Any) -> Any:
        if isinstance(value, list | tuple):
            if len(value) != _MEMBERS:
                raise ValueError(f"it has {len(value)} members, not subject, predicate and object")
            return dict(zip(_NAMES, value, strict=True))
        if isinstance(value, str):
            raise ValueError("it does not name one subject and one object")  # noqa: TRY004 - pydantic's own error
        if isinstance(value, Mapping):
            found = {key: next((value[name] for name in names if name in value), None) for key, names in _NAMES.items()}
            return {**value, **{key: given for key, given in found.items() if given is not None}}
        return value


class StatementItem(Item):
    """The merged sentence of one entity pair; `pair` is its 0-based position in the request."""

    pair: Index
    statement: Words


class ReplacementItem(Item):
    """One private string and what stands in its place."""

    original: Words
    placeholder: Words


class Reply(BaseModel):
    """A validated reply. `discarded` has one sentence for each item that was unusable."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    schema_name: ClassVar[str]
    list_name: ClassVar[str]
    item_type: ClassVar[type[Item]]
    json_schema: ClassVar[Schema]
    """What the model is asked to keep to. Part of the tape's keys: changing it makes recorded replies unfindable."""

    discarded: tuple[str, ...] = Field((), exclude=True)

    @classmethod
    def parse(cls, document: Any) -> Self:
        """Validate a JSON document; a bare list stands for the one list of the shape.

        Raises ValueError, with a sentence that can be sent back to the model, when the shape is wrong or no item is usable.
        An empty list is a valid reply.
        """
        if isinstance(document, list):
            document = {cls.list_name: document}
        if isinstance(document, Ambiguous):
            raise ValueError(f"the key {document.key!r} occurs twice with different values")  # noqa: TRY004
        if not isinstance(document, Mapping) or not isinstance(document.get(cls.list_name), list):
            raise ValueError(f'the reply must be a JSON object with a list "{cls.list_name}"')  # noqa: TRY004
        usable, discarded = [], []
        for position, entry in enumerate(document[cls.list_name]):
            if isinstance(entry, Ambiguous):
                discarded.append(f"{cls.list_name}[{position}]: the key {entry.key!r} occurs twice with different values")
                continue
            try:
                usable.append(cls.item_type.model_validate(entry))
            except ValidationError as error:
                discarded.append(f"{cls.list_name}[{position}]: {_first_reason(error)}")
        if discarded and not usable:
            raise ValueError(f"no usable entry; the first: {discarded[0]}")
        rest = {key: value for key, value in document.items() if key in cls.model_fields and key != cls.list_name}
        try:
            return cls.model_validate({**rest, cls.list_name: usable, "discarded": discarded})
        except ValidationError as error:
            raise ValueError(_first_reason(error)) from error


def _first_reason(error: ValidationError) -> str:
    first = error.errors(include_input=False, include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])


class EvidenceReply(Reply):
    """`{"evidence": [{"text", "framing"}]}`."""

    schema_name = "evidence"
    list_name = "evidence"
    item_type = EvidenceItem
    json_schema = _object(evidence=_list(_object(text=_STRING, framing={"type": "string", "enum": list(FRAMINGS)})))
    evidence: tuple[EvidenceItem, ...]


class ScoresReply(Reply):
    """`{"scores": [{"index", "score"}]}`."""

    schema_name = "scores"
    list_name = "scores"
    item_type = ScoreItem
    json_schema = _object(scores=_list(_object(index=_POSITION, score={"type": "number", "description": "1 to 10"})))
    scores: tuple[ScoreItem, ...]


class TriplesReply(Reply):
    """`{"triples": [{"subject", "predicate", "object", "confidence", "evidence", "subject_type"?, "object_type"?}]}`."""

    schema_name = "triples"
    list_name = "triples"
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


class LooseTriplesReply(TriplesReply):
    """Triples in another form than was asked for; `replies.fit` makes a TriplesReply of it."""

    item_type = LooseTriple
    triples: tuple[LooseTriple, ...]


class StatementsReply(Reply):
    """`{"statements": [{"pair", "statement"}]}`."""

    schema_name = "statements"
    list_name = "statements"
    item_type = StatementItem
    json_schema = _object(statements=_list(_object(pair=_POSITION, statement=_STRING)))
    statements: tuple[StatementItem, ...]


class RewriteReply(Reply):
    """`{"question", "replacements": [{"original", "placeholder"}]}` (local model only)."""

    schema_name = "rewrite"
    list_name = "replacements"
    item_type = ReplacementItem
    json_schema = _object(question=_STRING, replacements=_list(_object(original=_STRING, placeholder=_STRING)))
    question: Words
    replacements: tuple[ReplacementItem, ...]


REPLIES: dict[str, type[Reply]] = {
    reply.schema_name: reply for reply in (EvidenceReply, ScoresReply, TriplesReply, StatementsReply, RewriteReply)
}
