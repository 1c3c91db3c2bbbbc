"""Files of subgraphs (docs/how-to/backup.md): a head, one line per subgraph, one per correction of a claim, an end.

Simple edges are not in the file, because a store derives them from the triples. Reading holds one line in memory at a time.
"""

from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from operator import attrgetter
from pathlib import Path
from typing import Annotated, BinaryIO, Literal, NamedTuple, TypeVar

from pydantic import Field, ValidationError

from drag_graph.errors import InputError, QueryInvalid, StoreError
from drag_graph.files import bounded_lines, opened
from drag_graph.graph import subgraph_checks as checks
from drag_graph.graph.aggregate import with_statements
from drag_graph.manage.canonical_export import json_line
from drag_graph.manage.content_ids import check_content
from drag_graph.model import Subgraph
from drag_graph.ports.correction_store import Correction
from drag_graph.ports.graph_store import GraphStore
from drag_graph.values import Count, Value

LINE_LIMIT = 64_000_000
"""Maximum length of a line in bytes."""
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_MAKE = "Create one with `drag-graph export --format subgraphs -o FILE`."
_RESUME = "Export it again with `drag-graph export --format subgraphs`. Subgraphs stored so far are kept."
_ORDERS = {"calls": "id", "chunks": "position", "evidence": "position", "entities": "name", "triples": "rank"}
"""The order of each part in `GraphStore.read`; ties by id."""

Model = TypeVar("Model", bound=Value)


class EmbedderSpec(Value):
    """The embedder of a file's vectors."""

    name: Annotated[str, Field(min_length=1)]
    dimension: Annotated[int, Field(ge=1)]


class Head(Value):
    """The first line of a file. `embedder` is None if the exported namespace has none. Version 2 has no corrections."""

    format: Literal["drag-graph subgraphs"] = "drag-graph subgraphs"
    version: Literal[2, 3] = 3
    namespace: Annotated[str, Field(min_length=1)]
    embedder: EmbedderSpec | None = None


class End(Value):
    """The last line of a file: the number of its subgraphs."""

    end: Literal["drag-graph subgraphs"] = "drag-graph subgraphs"
    subgraphs: Count


class _Corrected(Value):
    correction: Correction


class SubgraphLine(NamedTuple):
    """A line of a file: its number from 1, and the subgraph or why it is unusable."""

    number: int
    subgraph: Subgraph | None = None
    problem: str = ""


Part = Head | SubgraphLine | Correction
"""The content of one line. A correction belongs to a claim."""


# ---- writing


def head_of(store: GraphStore) -> Head:
    """Return the first line of a subgraph file of this store."""
    recorded = store.embedder()
    embedder = EmbedderSpec(name=recorded[0], dimension=recorded[1]) if recorded else None
    return Head(namespace=store.namespace, embedder=embedder)


def claim_corrections(store: GraphStore) -> list[Correction]:
    """Return the corrections that belong in a file: those of claims, because answers are not in it."""
    return sorted((item for item in store.corrections.read() if item.kind == "claim"), key=attrgetter("target_id"))


def lines_of(head: Head, subgraphs: Iterable[Subgraph], corrections: Iterable[Correction]) -> Iterator[str]:
    """Yield the lines of a file; streams."""
    yield json_line(head.model_dump())
    number = 0
    for number, subgraph in enumerate(subgraphs, start=1):  # noqa: B007 - the last number is the total
        yield subgraph_line(subgraph)
    yield from (json_line({"correction": item.to_dict()}) for item in corrections)
    yield json_line(End(subgraphs=number).model_dump())


def subgraph_line(subgraph: Subgraph) -> str:
    """Return the line of a subgraph."""
    exported = with_statements(subgraph)
    document = exported.model_dump(exclude={"edges": True, "graph": True, "status": True, "source": {"gold", "metadata"}})
    if subgraph.document is None:
        document["source"]["metadata"] = subgraph.query.metadata
    return json_line(document)


# ---- reading


def read_file(path: Path, stream: BinaryIO | None = None) -> Iterator[Part]:
    """Yield the lines of a file, or of a binary stream that is called `path`.

    The Head comes first. Raises InputError, which names file and line, if it is not such a file, has another version or is
    incomplete.
    """
    with nullcontext(stream) if stream else opened(path, _MAKE) as file:
        yield from read_lines(bounded_lines(file, LINE_LIMIT), str(path))


def read_lines(lines: Iterable[bytes], name: str) -> Iterator[Part]:
    """Yield the parsed lines of the file called `name`, as `read_file` does."""
    number, subgraphs = 0, 0
    head: Head | None = None
    end: End | None = None
    try:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            if head is None:
                head = _read_head(line)
                yield head
            elif line.lstrip().startswith(b'{"end"'):
                end = _validated(End, line)
            else:
                subgraphs += not _is_correction(line)
                yield _read_part(number, line, head)
        number += end is None
        _check_whole(head, end, subgraphs)
    except QueryInvalid as error:
        raise InputError(f"{name}:{number}: {error}", hint=error.hint or _RESUME) from error


def _check_whole(head: Head | None, end: End | None, subgraphs: int) -> None:
    if head is None:
        raise QueryInvalid("The file is empty.", hint=_MAKE)
    if end is None:
        raise QueryInvalid(f"The file is cut off after {subgraphs} subgraphs.")
    if end.subgraphs != subgraphs:
        raise QueryInvalid(f"The file should contain {end.subgraphs} subgraphs, but has {subgraphs}.")


def _read_part(number: int, line: bytes, head: Head) -> Correction | SubgraphLine:
    try:
        if not _is_correction(line):
            return SubgraphLine(number, read_subgraph(line, head))
        item = _validated(_Corrected, line).correction
        if item.is_of_claim(head.namespace):
            return item
        return SubgraphLine(number, problem="This is not a correction of a claim.")
    except QueryInvalid as error:
        return SubgraphLine(number, problem=str(error))


def _is_correction(line: bytes) -> bool:
    return line.lstrip().startswith(b'{"correction"')


def _read_head(line: bytes) -> Head:
    try:
        return _validated(Head, line.removeprefix(_BYTE_ORDER_MARK))
    except QueryInvalid as error:
        if str(error).startswith("version"):
            message = f"The file has another version than {Head.model_fields['version'].default}."
            raise QueryInvalid(message, hint="Use the version of drag-graph that wrote it, or a newer one.") from error
        raise QueryInvalid(f"This is not a file of subgraphs. {error}", hint=_MAKE) from error


# ---- validating


def read_subgraph(line: bytes, head: Head) -> Subgraph:
    """Return the subgraph of a line, its parts in the order of `GraphStore.read`.

    Raises QueryInvalid for what a store would refuse, and for ids that are not the hash of their content.
    """
    parsed = _validated(Subgraph, line)
    parts = {part: tuple(sorted(getattr(parsed, part), key=attrgetter(order, "id"))) for part, order in _ORDERS.items()}
    graph = parsed.model_copy(update=parts)
    try:
        checks.check([graph], head.namespace)
    except StoreError as error:
        raise QueryInvalid(error.message) from error
    check_content(graph, head.embedder.dimension if head.embedder else 0)
    return with_statements(graph)


def _validated(model: type[Model], line: bytes) -> Model:
    """Parse a line strictly: every field has its JSON type ("3" is not a number)."""
    if len(line) > LINE_LIMIT:
        raise QueryInvalid(f"The line is longer than {LINE_LIMIT:,} bytes.")
    try:
        return model.model_validate_json(line, strict=True)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        raise QueryInvalid(f"{_path(*first['loc'])}: {first['msg']}.".removeprefix(": ")) from error


def _path(*places: int | str) -> str:
    return "".join(f"[{place}]" if isinstance(place, int) else f".{place}" for place in places).removeprefix(".")
