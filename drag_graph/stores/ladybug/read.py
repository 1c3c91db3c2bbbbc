"""Reading whole subgraphs from the embedded engine, in a transaction that the caller has open.

A source is found by its primary key in the table of its label, and what hangs on it from its place there: a pattern of both
labels and an id would be a scan of both tables.
"""

from collections.abc import Iterable, Sequence

from drag_graph.model import Subgraph
from drag_graph.stores.ladybug.engine import Row, Session
from drag_graph.stores.shared.rows import subgraph_of

PARTS = ("evidence", "entities", "triples", "edges")


def read_subgraphs(session: Session, namespace: str, source_ids: Iterable[str]) -> list[Subgraph]:
    """Return the stored subgraphs in the given order; ids that are not stored are left out."""
    ids = list(source_ids)
    left = list(dict.fromkeys(ids))
    found: dict[str, Subgraph] = {}
    for name in ("read_subgraphs", "read_documents"):
        for head in session.run(name, namespace=namespace, source_ids=left) if left else ():
            found[head["id"]] = _subgraph(session, namespace, head)
        left = [id_ for id_ in left if id_ not in found]
    return [found[id_] for id_ in ids if id_ in found]


def read_edges(session: Session, namespace: str, source_id: str) -> list[Row]:
    """Return the rows of a source's simple edges; none where it is not stored."""
    places = find_places(session, namespace, [source_id])
    return [row for found in places for row in session.run("read_subgraphs_edges", **at(found))]


def find_places(session: Session, namespace: str, source_ids: Sequence[str]) -> list[Row]:
    """Return of each source that is stored: id, is_document, place (see `at`)."""
    return session.run("find_places", namespace=namespace, source_ids=list(source_ids))


def at(source: Row) -> dict[str, int]:
    """Return the place of a source as the parameters that statements take."""
    return {"node_table": source["place"]["table"], "node_offset": source["place"]["offset"]}


def _subgraph(session: Session, namespace: str, head: Row) -> Subgraph:
    place = at(head)
    parts = {part: session.run(f"read_subgraphs_{part}", **place) for part in PARTS}
    calls: dict[str, list[str]] = {}
    for row in session.run("read_subgraphs_evidence_calls", **place):
        calls.setdefault(row["id"], []).append(row["call_id"])
    for row in parts["evidence"]:
        row["call_ids"] = calls.get(row["id"], ())
    parts["calls"] = session.run("read_subgraphs_calls", ids=head["call_ids"]) if head["call_ids"] else []
    if "uri" in head:
        parts["chunks"] = session.run("read_subgraphs_chunks", **place)
    return subgraph_of(namespace, head, parts)
