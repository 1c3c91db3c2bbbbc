"""Reading whole subgraphs from the embedded engine, in a transaction that the caller has open."""

from collections.abc import Iterable, Sequence

from drag_graph.graph.paging import pages
from drag_graph.graph.proof import proven_part
from drag_graph.model import Subgraph
from drag_graph.stores.ladybug.ladybug_transaction import LadybugTransaction
from drag_graph.stores.shared.shared_rows import subgraph_of
from drag_graph.stores.shared.transaction import Row

ROWS_AT_ONCE = 32
"""The engine processes the rows that a statement was planned with again in every later call."""
PARTS = ("evidence", "entities", "triples", "edges")


def read_subgraphs(session: LadybugTransaction, namespace: str, source_ids: Iterable[str]) -> list[Subgraph]:
    """Return the stored subgraphs in the given order; ids that are not stored are left out."""
    ids = list(source_ids)
    heads = session.run("read_subgraphs", namespace=namespace, source_ids=list(dict.fromkeys(ids)))
    subgraphs = {head["id"]: _subgraph(session, namespace, head) for head in heads}
    return [subgraphs[id_] for id_ in ids if id_ in subgraphs]


def _subgraph(session: LadybugTransaction, namespace: str, head: Row) -> Subgraph:
    source = {"namespace": namespace, "source_id": head["id"]}
    parts = {part: session.run(f"read_subgraphs_{part}", **source) for part in PARTS}
    calls: dict[str, list[str]] = {}
    for row in session.run("read_subgraphs_evidence_calls", **source):
        calls.setdefault(row["id"], []).append(row["call_id"])
    for row in parts["evidence"]:
        row["call_ids"] = calls.get(row["id"], ())
    parts["calls"] = session.run("read_subgraphs_calls", ids=head["call_ids"]) if head["call_ids"] else []
    if head["kind"] == "document":
        parts["chunks"] = session.run("read_subgraphs_chunks", **source)
    return subgraph_of(namespace, head, parts)


def read_parts(
    session: LadybugTransaction, namespace: str, evidence_ids: Sequence[str], pairs: Sequence[tuple[str, str]]
) -> list[Subgraph]:
    """Return the parts of subgraphs with this evidence and with the simple edges between these pairs of entities."""
    wanted = dict.fromkeys(pairs)
    subjects = dict.fromkeys(subject for subject, _ in wanted)
    parts: dict[str, list[Row]] = {
        part: [
            row
            for subject in subjects
            for row in session.run(f"search_parts_{part}", subject_id=subject)
            if (subject, row["object_id"]) in wanted
        ]
        for part in ("edges", "triples")
    }
    behind = [row["evidence_id"] for row in parts["triples"]]
    parts["evidence"] = _by_ids(session, "search_parts_evidence", [*evidence_ids, *behind], namespace=namespace)
    made: dict[str, list[str]] = {}
    of_queries = [row["id"] for row in parts["evidence"] if not row["chunk_id"]]
    for row in (row for id_ in of_queries for row in session.run("search_parts_calls", evidence_id=id_)):
        made.setdefault(row["id"], []).append(row["call_id"])
    for row in parts["evidence"]:
        row["call_ids"] = made.get(row["id"], ())
    chunk_ids = [row["chunk_id"] for row in parts["evidence"] if row["chunk_id"]]
    parts["chunks"] = _by_ids(session, "search_parts_chunks", chunk_ids)
    by_source: dict[str, dict[str, list[Row]]] = {}
    for part, rows in parts.items():
        for row in rows:
            by_source.setdefault(row.pop("source_id"), {name: [] for name in parts})[part].append(row)
    heads = {
        head["id"]: head
        for page in pages(sorted(by_source), ROWS_AT_ONCE)
        for head in session.run("read_subgraphs", namespace=namespace, source_ids=page)
    }
    calls = _by_ids(session, "read_subgraphs_calls", [id_ for head in heads.values() for id_ in head["call_ids"]])
    by_id = {call["id"]: call for call in calls}
    for id_, head in heads.items():
        by_source[id_]["calls"] = [by_id[call_id] for call_id in head["call_ids"] if call_id in by_id]
    return [
        part
        for id_, head in sorted(heads.items())
        for part in [proven_part(subgraph_of(namespace, head, by_source[id_]), evidence_ids)]
        if part.evidence
    ]


def _by_ids(session: LadybugTransaction, name: str, ids: Iterable[str], **values: str) -> list[Row]:
    distinct = list(dict.fromkeys(ids))
    return [row for page in pages(distinct, ROWS_AT_ONCE) for row in session.run(name, ids=page, **values)]
