"""Files of subgraphs (docs/import.md): a head, a line a subgraph with all that hangs on its source, an end.

Simple edges are left out, as they are made of the triples. Reading holds one line in memory at a time.
"""

import gzip
import io
import math
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, TypeVar, cast

from pydantic import Field, ValidationError

from drag_graph.errors import InputError, QueryInvalid, StoreError, StoreUnfit
from drag_graph.graph import subgraph_checks as checks
from drag_graph.graph.aggregate import aggregate, edge_ids
from drag_graph.graph.paging import pages, source_ids
from drag_graph.inputs import json_object
from drag_graph.manage.canonical_export import VOLATILE, json_line
from drag_graph.manage.content_ids import wrong_ids, wrong_keys
from drag_graph.model import LABELS, Subgraph, Value
from drag_graph.ports.graph_store import GraphStore

LINE_LIMIT = 64_000_000
"""Bytes of a line."""
LARGEST_INTEGER = 2**63 - 1
MOST_EDGES = 2**31 - 1
"""The largest number of edges to keep that every store takes: Neo4j slices a list by integers of 32 bits."""
UNIT = 1e-3
"""How far a vector's length may be from 1; vectors of single precision are, by less."""
PAGE = 100
"""Subgraphs that are read in one round trip."""
AGAIN = "Make the file again with `drag-graph export --format subgraphs`; what was stored stays."
_MAKE = "Make one with `drag-graph export --format subgraphs -o FILE`."
_GZIP = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", re.ASCII)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Control characters but tabs and line ends: a terminal would take them for commands."""

Model = TypeVar("Model", bound=Value)


class EmbedderSpec(Value):
    """The embedder of a file's vectors."""

    name: Annotated[str, Field(min_length=1)]
    dimension: Annotated[int, Field(ge=1)]


class Head(Value):
    """The first line of a file: what its subgraphs have in common. `embedder` is None where nothing filled the namespace."""

    format: Literal["drag-graph subgraphs"] = "drag-graph subgraphs"
    version: Literal[2] = 2
    namespace: Annotated[str, Field(min_length=1)]
    embedder: EmbedderSpec | None = None


FORMAT, VERSION = (Head.model_fields[name].default for name in ("format", "version"))


class SubgraphLine(Value):
    """A line of a file: its number from 1, and the subgraph or why there is none."""

    number: int
    subgraph: Subgraph | None = None
    problem: str = ""


def iter_subgraphs(store: GraphStore) -> Iterator[Subgraph]:
    """Yield every subgraph of the namespace, by the ids of their sources; streams."""
    for page in pages(source_ids(store), PAGE):
        yield from store.read(page)


def read_undamaged(store: GraphStore, ids: Sequence[str]) -> tuple[list[Subgraph], list[tuple[str, StoreUnfit]]]:
    """Return the stored subgraphs of these sources, and by their ids the errors of those that cannot be read."""
    try:
        return store.read(ids), []
    except StoreUnfit as error:
        if len(ids) == 1:
            return [], [(ids[0], error)]
    found, damaged = zip(*(read_undamaged(store, [id_]) for id_ in ids), strict=True)
    return list(chain(*found)), list(chain(*damaged))


def stored_lines(store: GraphStore) -> Iterator[str]:
    """Yield the lines of a file of all that is stored; streams."""
    found = store.embedder()
    embedder = EmbedderSpec(name=found[0], dimension=found[1]) if found else None
    return lines_of(Head(namespace=store.namespace, embedder=embedder), iter_subgraphs(store))


def lines_of(head: Head, subgraphs: Iterable[Subgraph]) -> Iterator[str]:
    """Yield the lines of a whole file; streams."""
    yield json_line(head.model_dump())
    number = 0
    for number, subgraph in enumerate(subgraphs, start=1):  # noqa: B007 - the last number is that of all
        yield subgraph_line(subgraph)
    yield json_line({"end": FORMAT, "subgraphs": number})


def subgraph_line(subgraph: Subgraph) -> str:
    """Return the line of a subgraph. Raises StoreUnfit for a number that JSON has not (no store of ours takes one)."""
    whole = with_statements(subgraph)
    document = whole.model_dump(exclude={"edges": True, "graph": True, "status": True, "source": {"gold", "metadata"}})
    if subgraph.document is None:
        document["source"]["metadata"] = subgraph.query.metadata
    try:
        return json_line(document)
    except ValueError as error:
        said = f"source {subgraph.source_id} holds a number that JSON cannot write (NaN or infinite)"
        raise StoreUnfit(said, hint="Distill it again with --replace, or erase it.") from error


def with_statements(subgraph: Subgraph) -> Subgraph:
    """Return a stored subgraph whose aggregation has the sentences of edges that say something else than their triples."""
    if subgraph.aggregation is None:
        return subgraph
    given = {edge.id: edge.statement for edge in subgraph.edges} | subgraph.aggregation.statements
    plain = subgraph.aggregation.model_copy(update={"statements": {}})
    edges, _ = aggregate(subgraph, plain)
    joined = {edge.id: edge.statement for edge in edges}
    other = {id_: text.strip() for id_, text in given.items() if joined.get(id_, text.strip()) != text.strip()}
    return subgraph.model_copy(update={"aggregation": plain.model_copy(update={"statements": other})})


def difference(there: Subgraph, given: Subgraph) -> str:
    """Return, in words, what differs between two subgraphs of one source; "" where the content is the same.

    Times, latencies, costs and vectors are no content.
    """
    if there.settings_hash != given.settings_hash:
        return "it was made under other settings"
    for name in Subgraph.model_fields.keys() - {"settings_hash", "status", "graph", "edges", "aggregation", *VOLATILE}:
        mine, theirs = getattr(there, name), getattr(given, name)
        if mine != theirs and _lasting(mine) != _lasting(theirs):
            return f"another {name}" if name == "source" else f"other {name}"
    if with_statements(there).aggregation != given.aggregation:
        return "its simple edges are made in another way"
    return ""


def _lasting(value: Any) -> Any:
    """Return a part without what is no content."""
    if isinstance(value, tuple):
        return [_lasting(item) for item in value]
    if isinstance(value, Value):
        return {name: entry for name, entry in vars(value).items() if name not in VOLATILE}
    return value


# ---- reading


def read(path: Path | None, stdin: BinaryIO) -> Iterator[Head | SubgraphLine]:
    """Yield what is in a file of subgraphs, or where `path` is None in `stdin`; what is compressed is known by its first bytes.

    A Head comes first; a bad line is a SubgraphLine with its reason. Raises InputError, which names the file and the line, for
    what is no such file, of another version, or not whole.
    """
    name = str(path) if path is not None else "standard input"
    try:
        with ExitStack() as opened:
            file = opened.enter_context(path.open("rb")) if path is not None else stdin
            content = _uncompressed(file)  # named, so that it goes after the file was closed, and does not close it itself
            yield from read_lines(_bounded(content), name)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or type(error).__name__}", hint=_MAKE) from error


def read_lines(found: Iterable[bytes], name: str) -> Iterator[Head | SubgraphLine]:
    """Yield what is in the lines of a file of that name, as `read` does."""
    number = 0

    def numbered() -> Iterator[tuple[int, bytes]]:
        nonlocal number
        try:
            for number, line in enumerate(found, start=1):
                if line.strip():
                    yield number, line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            number += 1
            raise QueryInvalid(f"the compressed file is cut off or damaged: {error}") from error
        number += 1

    try:
        yield from _parts(numbered())
    except QueryInvalid as error:
        raise InputError(f"{name}:{number}: {error}", hint=error.hint or AGAIN) from error


def _parts(numbered: Iterable[tuple[int, bytes]]) -> Iterator[Head | SubgraphLine]:
    """Yield the head and the subgraphs. Raises QueryInvalid where the reading cannot go on, or there is less than was said."""
    head: Head | None = None
    subgraphs = 0
    is_whole = False
    for number, line in numbered:
        if is_whole:
            raise QueryInvalid("something comes after the end of the file")
        if head is None:
            head = _head_of(line.removeprefix(_BYTE_ORDER_MARK))
            yield head
            continue
        part = _part_of(line, number, head)
        if isinstance(part, SubgraphLine):
            subgraphs += 1
            yield part
        elif part != subgraphs:
            raise QueryInvalid(f"the file says that it holds {part} subgraphs, and {subgraphs} were read")
        else:
            is_whole = True
    if head is None:
        raise QueryInvalid("the file is empty", hint=_MAKE)
    if not is_whole:
        raise QueryInvalid(f"the file is cut off: {subgraphs} subgraphs were read")


def _head_of(line: bytes) -> Head:
    """Return the head of a file. Raises QueryInvalid for what is none."""
    try:
        document = _document(line)
    except QueryInvalid as error:
        raise QueryInvalid(f"this is not a file of subgraphs: {error}", hint=_MAKE) from error
    if "kind" in document and "properties" in document:
        raise QueryInvalid("this is a canonical export, which is for comparing stores", hint=_MAKE)
    if document.get("format") != FORMAT:
        raise QueryInvalid(f"this is not a file of subgraphs: its first line has no format {FORMAT!r}", hint=_MAKE)
    if document.get("version") != VERSION:
        said = f"the file is of version {document.get('version')!r}, and this program reads {VERSION}"
        raise QueryInvalid(said, hint="Update drag-graph.")
    try:
        return _valid(Head, line)
    except QueryInvalid as error:
        raise QueryInvalid(f"the head: {error}", hint=_MAKE) from error


def _part_of(line: bytes, number: int, head: Head) -> SubgraphLine | int:
    """Return a line's subgraph, or why there is none; of the last line the number of subgraphs that it tells."""
    try:
        document = _document(line)
        if document.get("end") == FORMAT:
            said = document.get("subgraphs")
            return said if isinstance(said, int) else -1
        return SubgraphLine(number=number, subgraph=subgraph_of(line, head))
    except QueryInvalid as error:
        return SubgraphLine(number=number, problem=str(error))


def _uncompressed(file: BinaryIO) -> BinaryIO:
    buffered = io.BufferedReader(cast("io.RawIOBase", file))
    if buffered.peek(len(_GZIP))[: len(_GZIP)] == _GZIP:
        return cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", gzip.GzipFile(fileobj=buffered))))
    return cast("BinaryIO", buffered)


def _bounded(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines; of one that is too long the beginning."""
    while line := file.readline(LINE_LIMIT + 1):
        rest = line
        while len(line) > LINE_LIMIT and not rest.endswith(b"\n") and (rest := file.readline(LINE_LIMIT)):
            pass
        yield line


def _document(line: bytes) -> dict[str, Any]:
    if len(line) > LINE_LIMIT:
        raise QueryInvalid(f"the line is longer than {LINE_LIMIT:,} bytes")
    return json_object(line)


# ---- what a line must be


def subgraph_of(line: bytes, head: Head) -> Subgraph:
    """Return the subgraph of a line, every tuple in the order of `GraphStore.read`. Raises QueryInvalid with the reason.

    All that a store would refuse is refused here, and what `db verify` would find.
    """
    given = _valid(Subgraph, line)
    graph = given.model_copy(
        update={
            "calls": tuple(sorted(given.calls, key=lambda item: item.id)),
            "chunks": tuple(sorted(given.chunks, key=lambda item: (item.position, item.id))),
            "evidence": tuple(sorted(given.evidence, key=lambda item: (item.position, item.id))),
            "entities": tuple(sorted(given.entities, key=lambda item: (item.name, item.id))),
            "triples": tuple(sorted(given.triples, key=lambda item: (item.rank, item.id))),
        }
    )
    try:
        checks.check([graph], head.namespace)
    except StoreError as error:
        raise QueryInvalid(error.message) from error
    _check_parts(graph)
    _check_vector(graph, head)
    for id_, kind in wrong_ids(graph):
        raise QueryInvalid(f"the {kind} {id_} is not what its id is the hash of")
    for id_ in wrong_keys(graph):
        raise QueryInvalid(f"the triple {id_} has another predicate key than others of its predicate")
    return _with_known_statements(graph)


def _valid(model: type[Model], line: bytes) -> Model:
    """Return a line as a model, in which every field is given and is of just its type in JSON: "3" is no number."""
    try:
        item = model.model_validate_json(line, strict=True)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise QueryInvalid(f"{_path(first['loc'])}{first['msg']}") from error
    _check_given(item, "")
    return item


def _path(places: Sequence[int | str]) -> str:
    path = "".join(f"[{place}]" if isinstance(place, int) else f".{place}" for place in places)
    return f"{path.removeprefix('.')}: " if path else ""


_MADE = {"edges", "graph", "status", "gold"}
"""Fields that are not in a file: a store makes them, or does not keep them."""


def _check_given(item: Value, path: str) -> None:
    if lacking := type(item).model_fields.keys() - item.model_fields_set - _MADE:
        raise QueryInvalid(f"{path or 'the line'} lacks {', '.join(sorted(lacking))}")
    for name, value in item:
        for place, part in enumerate(value if isinstance(value, tuple) else (value,)):
            if isinstance(part, Value):
                _check_given(part, f"{path}{'.' * bool(path)}{name}{f'[{place}]' if isinstance(value, tuple) else ''}")


def _check_parts(graph: Subgraph) -> None:
    if graph.document is None and len(graph.query.options) > len(LABELS):
        raise QueryInvalid(f"query: {len(graph.query.options)} options; at most {len(LABELS)} can be labelled")
    names = {entity.id: entity.name for entity in graph.entities}
    for triple in graph.triples:
        if (names[triple.subject_id], names[triple.object_id]) != (triple.subject, triple.object):
            raise QueryInvalid(f"triple {triple.id}: its subject or object is called otherwise among the entities")
    for part in (graph, graph.source, *graph.chunks, *graph.calls, *graph.evidence, *graph.entities, *graph.triples):
        for name, value in part:
            _check_value(name, value)


def _check_value(name: str, value: Any) -> None:
    if type(value) is int and value > LARGEST_INTEGER:
        raise QueryInvalid(f"{name} is too large a number")
    for text in value if isinstance(value, tuple) else (value,):
        if isinstance(text, str) and _CONTROL.search(text):
            raise QueryInvalid(f"{name} holds control characters")
    if name in ("created_at", "expires_at") and value and not _is_time(value):
        raise QueryInvalid(f"{name} {value[:50]!r} is not a time in UTC such as 2026-01-31T12:00:00+00:00")


def _is_time(moment: str) -> bool:
    try:
        datetime.fromisoformat(moment)
    except ValueError:
        return False
    return _TIME.fullmatch(moment) is not None


def _check_vector(graph: Subgraph, head: Head) -> None:
    vector = graph.embedding
    if not vector:
        return
    if head.embedder is None or len(vector) != head.embedder.dimension:
        says = f"{head.embedder.name} has {head.embedder.dimension}" if head.embedder else "the head names no embedder"
        raise QueryInvalid(f"the embedding has {len(vector)} numbers, and {says}")
    length = math.hypot(*vector)
    if not (abs(length - 1.0) <= UNIT or length == 0.0):
        raise QueryInvalid(f"the embedding is not a unit vector: its length is {length:.4g}")
    if graph.lost_vector:
        raise QueryInvalid("the embedding is all zeros: it was lost, so that nothing near the question would find it")


def _with_known_statements(graph: Subgraph) -> Subgraph:
    """Return the subgraph with the statements of its own edges that say something else than their triples joined."""
    aggregation = graph.aggregation
    if aggregation is None:
        raise QueryInvalid("the line does not say how its simple edges are made (aggregation)")
    if aggregation.top_k > MOST_EDGES:
        raise QueryInvalid("aggregation.top_k is too large a number")
    own = {id_ for triple in graph.triples for id_ in edge_ids(triple, aggregation.strategy)}
    for id_, text in aggregation.statements.items():
        if id_ not in own:
            raise QueryInvalid(f"aggregation.statements: {id_!r} is no edge of the query's triples")
        if not text.strip():
            raise QueryInvalid(f"aggregation.statements: that of {id_} is empty")
    return with_statements(graph)
