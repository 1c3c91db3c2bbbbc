"""Subgraphs as lines of JSON (docs/import.md): a head, a line a subgraph with all that hangs on its query, an end.

Simple edges are left out, as they are made of the triples; so are the query's id and the names of a triple's ends, which would
only repeat what is in the line.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from operator import attrgetter, itemgetter
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json

from drag_graph.adapters import checks
from drag_graph.adapters.checked_rows import CheckedRows
from drag_graph.errors import QueryInvalid, StoreError, StoreUnfit
from drag_graph.exchange import Head, Stored
from drag_graph.inputs import json_object
from drag_graph.model import LABELS, Aggregation, Entity, Evidence, Query, Subgraph, TeacherCall, Triple, Value
from drag_graph.steps.aggregate import aggregate, edge_id
from drag_graph.steps.moving import wrong_id

FORMAT = "drag-graph subgraphs"
VERSION = 1
LARGEST_INTEGER = 2**63 - 1
MOST_EDGES = 2**31 - 1
"""The largest number of edges to keep that every store takes: Neo4j slices a list by integers of 32 bits."""
MOST_STATEMENTS = 10_000
"""The positions of evidence that are taken; a teacher is asked for a few dozen."""
UNIT = 1e-3
"""How far a vector's length may be from 1; vectors of single precision are, by less."""

QUERY = ("id", "text", "options", "domain", "complexity", "input_id", "metadata")
OWN = ("settings_hash", "blind", "created_at", "expires_at", "embedding")
AGGREGATION = ("strategy", "merge", "threshold", "top_k", "statements")

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)
_NUMBERS: Mapping[Any, tuple[frozenset[type], str]] = {
    int: (frozenset((int,)), "a whole number"),
    bool: (frozenset((bool,)), "true or false"),
    float: (frozenset((int, float)), "a number"),
}
"""The types that a parser of JSON makes of what may stand for each of these, and how the type is called."""

Item = TypeVar("Item", bound=Value)
_ENDS = ("subject", "object")


@cache
def _strict(model: type[Value]) -> dict[str, tuple[frozenset[type], str]]:
    """Return the fields of a model that must be of just their type in JSON: "3" is no number and "yes" is not true."""
    found = {}
    for name, field in model.model_fields.items():
        types = _plain(field.annotation)
        numbers = types & _NUMBERS.keys()
        if numbers and types <= {*_NUMBERS, NoneType}:
            allowed = {made for number in numbers for made in _NUMBERS[number][0]} | (types & {NoneType})
            found[name] = frozenset(allowed), " or ".join(_NUMBERS[number][1] for number in numbers)
    return found


def _plain(annotation: Any) -> set[Any]:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _plain(parts[0])
    return {one for part in parts for one in _plain(part)} if origin in (Union, UnionType) else {annotation}


class _Part:
    """A list of a line: the fields of its objects, and how they become values of the model."""

    def __init__(self, name: str, model: type[Item], left_out: Sequence[str] = ()) -> None:
        self.name = name
        self.fields = tuple(field for field in model.model_fields if field not in ("source_id", *left_out))
        self.checked = CheckedRows(model, (*self.fields, *left_out))
        self.values = attrgetter(*self.fields)
        self.getter = itemgetter(*self.fields)
        self.strict = [(self.fields.index(field), field, *kind) for field, kind in _strict(model).items()]
        self.whole = tuple(field for field in self.fields if model.model_fields[field].annotation is int)

    def dumped(self, items: Sequence[Value]) -> list[dict[str, Any]]:
        return [dict(zip(self.fields, self.values(item), strict=True)) for item in items]

    def rows(self, items: Any) -> list[tuple[Any, ...]]:
        """Return what is in a line's list, in the order of the fields. Raises QueryInvalid."""
        if not isinstance(items, list):
            raise QueryInvalid(f"{self.name} is no list")
        try:
            found = [self.getter(item) for item in items]
        except (KeyError, TypeError):
            found = []
        if len(found) != len(items) or any(len(item) != len(self.fields) for item in items):
            for place, item in enumerate(items):
                _check_keys(item, self.fields, f"{self.name}[{place}]")
        for column, name, types, kind in self.strict:
            for place, row in enumerate(found):
                if type(row[column]) not in types:
                    raise QueryInvalid(f"{self.name}[{place}].{name}: not {kind}")
        return found

    def of(self, rows: Sequence[Sequence[Any]], source_id: str) -> list[Any]:
        """Return the values of these rows. Raises QueryInvalid."""
        try:
            items = self.checked.of(rows, source_id)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            row, *place = first["loc"]
            names = (*self.fields, *_ENDS)
            path = ".".join(str(names[part]) if not number else str(part) for number, part in enumerate(place))  # type: ignore[index]
            raise QueryInvalid(f"{self.name}[{row}].{path}: {first['msg']}") from error
        for name in self.whole:
            for item in items:
                if getattr(item, name) > LARGEST_INTEGER:
                    raise QueryInvalid(f"{self.name}: {name} is too large a number")
        return items


CALLS = _Part("calls", TeacherCall)
EVIDENCE = _Part("evidence", Evidence)
ENTITIES = _Part("entities", Entity)
TRIPLES = _Part("triples", Triple, _ENDS)
_LINE = ("query", *OWN, "aggregation", *(part.name for part in (CALLS, EVIDENCE, ENTITIES, TRIPLES)))
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_VECTOR = TypeAdapter(tuple[float, ...])


def head_line(head: Head) -> str:
    """Return the first line of a file."""
    embedder = {"name": head.embedder[0], "dimension": head.embedder[1]} if head.embedder else None
    return _line({"format": FORMAT, "version": VERSION, "namespace": head.namespace, "embedder": embedder})


def end_line(queries: int) -> str:
    """Return the last line of a file of so many subgraphs: one that was cut off lacks it."""
    return _line({"end": FORMAT, "queries": queries})


def subgraph_line(stored: Stored) -> str:
    """Return the line of a subgraph. Raises StoreUnfit for a number that JSON has not (no store of ours takes one)."""
    graph, aggregation = stored.subgraph, stored.aggregation
    document = {
        "query": {name: getattr(graph.query, name) for name in QUERY},
        **{name: getattr(graph, name) for name in OWN},
        "aggregation": aggregation and {name: getattr(aggregation, name) for name in AGGREGATION},
        "calls": CALLS.dumped(graph.calls),
        "evidence": EVIDENCE.dumped(graph.evidence),
        "entities": ENTITIES.dumped(graph.entities),
        "triples": TRIPLES.dumped(graph.triples),
    }
    try:
        return _line(document)
    except ValueError as error:
        said = f"query {graph.query.id} holds a number that JSON has not (NaN or infinite)"
        raise StoreUnfit(said, hint="Distil it again, or erase it.") from error


def parsed(line: bytes, limit: int) -> dict[str, Any]:
    """Return the JSON object of a line of at most so many bytes. Raises QueryInvalid with the reason."""
    if len(line) > limit:
        raise QueryInvalid(f"the line is longer than {limit:,} bytes")
    try:
        document = from_json(line, allow_inf_nan=False)
    except ValueError:  # what is wrong with it, or half a character, which this parser refuses
        return json_object(line, parse_constant=_no_number)
    if not isinstance(document, dict):
        raise QueryInvalid("not a JSON object")
    return document


def head_of(document: Mapping[str, Any]) -> Head:
    """Return the head that a first line is. Raises QueryInvalid."""
    _check_keys(document, ("format", "version", "namespace", "embedder"), "the head")
    name, embedder = document["namespace"], document["embedder"]
    if not isinstance(name, str) or not name:
        raise QueryInvalid("the head names no namespace")
    if embedder is None:
        return Head(name)
    _check_keys(embedder, ("name", "dimension"), "the head's embedder")
    model, dimension = embedder["name"], embedder["dimension"]
    if not isinstance(model, str) or not model or type(dimension) is not int or dimension < 1:
        raise QueryInvalid("the head's embedder is not a name and a dimension")
    return Head(name, (model, dimension))


def stored_of(document: Mapping[str, Any], head: Head) -> Stored:
    """Return the subgraph of a line, every tuple in the order of `GraphStore.read`. Raises QueryInvalid with the reason.

    All that a store would refuse is refused here, and what `db verify` would find: ids that are not the hash of their content.
    """
    _check_keys(document, _LINE, "the subgraph")
    query = _query(document["query"], head.namespace)
    calls, evidence = CALLS.rows(document["calls"]), EVIDENCE.rows(document["evidence"])
    entities = ENTITIES.of(ENTITIES.rows(document["entities"]), query.id)
    names = {item.id: item.name for item in entities}
    try:
        triples = [(*row, names[row[_SUBJECT]], names[row[_OBJECT]]) for row in TRIPLES.rows(document["triples"])]
    except (KeyError, TypeError) as error:
        raise QueryInvalid(f"a triple's subject or object is no entity of the query: {error}") from error
    own = {name: document[name] for name in OWN}
    own["embedding"] = _vector(own["embedding"], head)
    graph = _valid(
        Subgraph,
        {
            **own,
            "query": query,
            "calls": sorted(CALLS.of(calls, query.id), key=lambda item: item.id),
            "evidence": sorted(EVIDENCE.of(evidence, query.id), key=lambda item: (item.position, item.id)),
            "entities": sorted(entities, key=lambda item: (item.name, item.id)),
            "triples": sorted(TRIPLES.of(triples, query.id), key=lambda item: (item.rank, item.id)),
        },
        "the subgraph",
    )
    _check(graph, head.namespace)
    return Stored(graph, _aggregation(document["aggregation"], graph))


_SUBJECT, _OBJECT = TRIPLES.fields.index("subject_id"), TRIPLES.fields.index("object_id")


def _query(document: Any, namespace: str) -> Query:
    _check_keys(document, QUERY, "query")
    query = _valid(Query, {**document, "namespace": namespace}, "query")
    if len(query.options) > len(LABELS):
        raise QueryInvalid(f"query: {len(query.options)} options; at most {len(LABELS)} can be labelled")
    return query


def _aggregation(document: Any, graph: Subgraph) -> Aggregation | None:
    """Return how the edges are made, with the statements of those edges that say something else than their triples joined."""
    if document is None:
        return None
    _check_keys(document, AGGREGATION, "aggregation")
    aggregation = _valid(Aggregation, document, "aggregation")
    if aggregation.top_k > MOST_EDGES:
        raise QueryInvalid("aggregation.top_k is too large a number")
    if not aggregation.statements:
        return aggregation
    own = {edge_id(triple, aggregation.strategy) for triple in graph.triples}
    for id_, text in aggregation.statements.items():
        if id_ not in own:
            raise QueryInvalid(f"aggregation.statements: {id_!r} is no edge of the query's triples")
        if not text.strip():
            raise QueryInvalid(f"aggregation.statements: that of {id_} is empty")
    edges, _ = aggregate(graph.triples, graph.evidence, aggregation.model_copy(update={"statements": {}}))
    joined = {edge.id: edge.statement for edge in edges}
    said = {id_: text.strip() for id_, text in aggregation.statements.items() if joined.get(id_, text.strip()) != text.strip()}
    return aggregation.model_copy(update={"statements": said})


def _vector(numbers: Any, head: Head) -> tuple[float, ...]:
    try:
        vector = _VECTOR.validate_python(numbers)
    except ValidationError as error:
        raise QueryInvalid("the embedding is no list of numbers") from error
    if not vector:
        return vector
    if head.embedder is None or len(vector) != head.embedder[1]:
        says = f"{head.embedder[0]} has {head.embedder[1]}" if head.embedder else "the head names no embedder"
        raise QueryInvalid(f"the embedding has {len(vector)} numbers, and {says}")
    length = math.hypot(*vector)
    if not (abs(length - 1.0) <= UNIT or length == 0.0):
        raise QueryInvalid(f"the embedding is no unit vector: its length is {length:.4g}")
    return vector


def _check(graph: Subgraph, namespace: str) -> None:
    try:
        checks.check([graph], namespace)
    except StoreError as error:
        raise QueryInvalid(error.message) from error
    _check_times(
        "created_at",
        (graph.created_at, *(item.created_at for item in graph.calls), *(item.created_at for item in graph.evidence)),
    )
    _check_times("expires_at", (graph.expires_at,))
    if graph.lost_vector:
        raise QueryInvalid("the embedding is all zeros: it was lost, so that nothing near the question would find it")
    for item in graph.evidence:
        if item.position > MOST_STATEMENTS:
            raise QueryInvalid(f"evidence {item.id}: its position {item.position:,} is beyond {MOST_STATEMENTS:,}")
    wrong = wrong_id(graph)
    if wrong:
        raise QueryInvalid(wrong)


def _check_times(name: str, moments: Iterable[str]) -> None:
    """Refuse times in another form than the product's own: stores compare them as texts."""
    for moment in {*moments} - {""}:
        if not _is_time(moment):
            raise QueryInvalid(f"{name} {moment[:50]!r} is no time in UTC such as 2026-01-31T12:00:00+00:00")


def _is_time(moment: str) -> bool:
    try:
        datetime.fromisoformat(moment)
    except ValueError:
        return False
    return _TIME.fullmatch(moment) is not None


def _valid(model: type[Item], document: Any, what: str) -> Item:
    for name, (types, kind) in _strict(model).items():
        if name in document and type(document[name]) not in types:
            raise QueryInvalid(f"{what}.{name}: not {kind}")
    try:
        return model.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in (what, *first["loc"]))
        raise QueryInvalid(f"{place}: {first['msg']}") from error


def _check_keys(document: Any, names: Sequence[str], what: str) -> None:
    if not isinstance(document, Mapping):
        raise QueryInvalid(f"{what} is no JSON object")
    if document.keys() == set(names):
        return
    for said, wrong in (("lacks", set(names) - document.keys()), ("has an unknown", document.keys() - set(names))):
        if wrong:
            raise QueryInvalid(f"{what} {said} {', '.join(sorted(wrong))}")


def _line(document: Mapping[str, Any]) -> str:
    text = json.dumps(document, sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text if text.isascii() else _HALF_CHARACTER.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")


def lines_of(head: Head, items: Iterator[Stored]) -> Iterator[str]:
    """Yield the lines of a whole file; streams."""
    yield head_line(head)
    queries = 0
    for item in items:
        yield subgraph_line(item)
        queries += 1
    yield end_line(queries)
