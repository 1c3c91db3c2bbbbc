"""Reading whole subgraphs from the embedded engine, in a transaction that the caller has open.

A source is read by its primary key. A pattern of both labels would be a scan of both tables, so each has statements of its own.
"""

from collections.abc import Iterable
from typing import Literal

from drag_graph.model import Subgraph
from drag_graph.stores.ladybug.engine import Row, Session
from drag_graph.stores.shared.rows import subgraph_of

PARTS = ("evidence", "entities", "triples", "edges")


def read_subgraphs(session: Session, namespace: str, source_ids: Iterable[str]) -> list[Subgraph]:
    """Return the stored subgraphs in the given order; ids that are not stored are left out."""
    ids = list(source_ids)
    found = {
        head["id"]: _subgraph(session, namespace, "subgraphs", head)
        for head in session.run("read_subgraphs", namespace=namespace, source_ids=list(dict.fromkeys(ids)))
    }
    left = [id_ for id_ in dict.fromkeys(ids) if id_ not in found]
    for head in session.run("read_documents", namespace=namespace, source_ids=left) if left else ():
        found[head["id"]] = _subgraph(session, namespace, "documents", head)
    return [found[id_] for id_ in ids if id_ in found]


def read_edges(session: Session, source_id: str) -> list[Row]:
    """Return the rows of a source's simple edges."""
    return session.run("read_subgraphs_edges", source_id=source_id) or session.run("read_documents_edges", source_id=source_id)


def _subgraph(session: Session, namespace: str, kind: Literal["subgraphs", "documents"], head: Row) -> Subgraph:
    parts = {part: session.run(f"read_{kind}_{part}", source_id=head["id"]) for part in PARTS}
    parts["evidence"] = _with_calls(parts["evidence"])
    parts["calls"] = session.run("read_subgraphs_calls", ids=head["call_ids"]) if head["call_ids"] else []
    if kind == "documents":
        parts["chunks"] = session.run("read_documents_chunks", source_id=head["id"])
    return subgraph_of(namespace, head, parts)


def _with_calls(rows: list[Row]) -> list[Row]:
    """Return one row an evidence, with `call_ids`, of rows with a call each: grouped by the engine it takes twice as long."""
    found: dict[str, Row] = {}
    for row in rows:
        call_id = row.pop("call_id")
        made_by = found.setdefault(row["id"], {**row, "call_ids": []})["call_ids"]
        if call_id is not None:
            made_by.append(call_id)
    return list(found.values())
