"""Reading and writing subgraphs and answers in the embedded engine, in a transaction that the caller has open."""

import uuid
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from drag_graph.graph.aggregate import Claim, Part, edges_of
from drag_graph.graph.paging import pages
from drag_graph.graph.proof import own_refs, proof_of, proven_part
from drag_graph.model import Aggregation, Answer, Subgraph
from drag_graph.stores.ladybug.ladybug_transaction import LadybugTransaction
from drag_graph.stores.shared.shared_concepts import recount_concepts, touched_concepts
from drag_graph.stores.shared.shared_parts import open_communities, rejoin_communities
from drag_graph.stores.shared.shared_rows import aggregation_text, answer_row, evidence_again, source_row, subgraph_of
from drag_graph.stores.shared.transaction import Row

PARTS = ("evidence", "entities", "triples", "edges")


def read_subgraphs(session: LadybugTransaction, namespace: str, source_ids: Sequence[str]) -> list[Subgraph]:
    """Return the stored subgraphs in the given order; ids that are not stored are left out."""
    heads = session.run("read_subgraphs", namespace=namespace, ids=list(dict.fromkeys(source_ids)))
    subgraphs = {head["id"]: _subgraph(session, namespace, head) for head in heads}
    return [subgraphs[id_] for id_ in source_ids if id_ in subgraphs]


def _subgraph(session: LadybugTransaction, namespace: str, head: Row) -> Subgraph:
    source = {"namespace": namespace, "source_id": head["id"]}
    parts = {part: session.run(f"read_subgraphs_{part}", **source) for part in PARTS}
    _add_call_ids(parts["evidence"], session.run("read_subgraphs_evidence_calls", **source))
    parts["calls"] = session.run("read_subgraphs_calls", ids=head["call_ids"]) if head["call_ids"] else []
    if head["kind"] == "document":
        parts["chunks"] = session.run("read_subgraphs_chunks", **source)
    return subgraph_of(namespace, head, parts)


def _add_call_ids(evidence: Iterable[Row], links: Iterable[Row]) -> None:
    """Add to each row of evidence the ids of its calls. Each of `links` has the ids of an evidence and a call."""
    calls: dict[str, list[str]] = {}
    for link in links:
        calls.setdefault(link["id"], []).append(link["call_id"])
    for row in evidence:
        row["call_ids"] = calls.get(row["id"], ())


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
    parts["evidence"] = session.run_by_ids("search_parts_evidence", [*evidence_ids, *behind], namespace=namespace)
    of_queries = [row["id"] for row in parts["evidence"] if not row["chunk_id"]]
    links = (row for id_ in of_queries for row in session.run("search_parts_calls", evidence_id=id_))
    _add_call_ids(parts["evidence"], links)
    chunk_ids = [row["chunk_id"] for row in parts["evidence"] if row["chunk_id"]]
    parts["chunks"] = session.run_by_ids("search_parts_chunks", chunk_ids)
    by_source: dict[str, dict[str, list[Row]]] = {}
    for part, rows in parts.items():
        for row in rows:
            by_source.setdefault(row.pop("source_id"), {name: [] for name in parts})[part].append(row)
    heads = {head["id"]: head for head in session.run_by_ids("read_subgraphs", sorted(by_source), namespace=namespace)}
    calls = session.run_by_ids("read_subgraphs_calls", [id_ for head in heads.values() for id_ in head["call_ids"]])
    by_id = {call["id"]: call for call in calls}
    for id_, head in heads.items():
        by_source[id_]["calls"] = [by_id[call_id] for call_id in head["call_ids"] if call_id in by_id]
    return [
        part
        for id_, head in sorted(heads.items())
        for part in [proven_part(subgraph_of(namespace, head, by_source[id_]), evidence_ids)]
        if part.evidence
    ]


HEADS = ("save_subgraphs_queries", "save_subgraphs_documents")
"""Statements that create the nodes of sources."""


def subgraph_rows(subgraphs: Collection[Subgraph]) -> dict[str, Iterable[Row]]:
    """Return the rows of sources and their parts, by statement, in writing order. They stream: a long document has many."""
    rows: dict[str, Iterable[Row]] = {
        "queries": (_marked(source_row(graph), "options") for graph in subgraphs if graph.document is None),
        "documents": (_marked(source_row(graph), "tags") for graph in subgraphs if graph.document is not None),
        "calls": (call.model_dump() for graph in subgraphs for call in graph.calls),
        "chunks": (_marked(item.model_dump(mode="json"), "heading") for graph in subgraphs for item in graph.chunks),
        "evidence": (item.model_dump(mode="json", exclude={"call_ids"}) for graph in subgraphs for item in graph.evidence),
        "evidence_calls": (
            {"evidence_id": item.id, "id": id_} for graph in subgraphs for item in graph.evidence for id_ in item.call_ids
        ),
        "evidence_chunks": (
            {"evidence_id": item.id, "id": item.chunk_id} for graph in subgraphs for item in graph.evidence if item.chunk_id
        ),
        "entities": (_marked(item.model_dump(mode="json"), "variants") for graph in subgraphs for item in graph.entities),
        "triples": (
            _marked(item.model_dump(mode="json", exclude={"subject", "object"}), "opposes")
            for graph in subgraphs
            for item in graph.triples
        ),
    }
    return {f"save_subgraphs_{part}": items for part, items in rows.items()}


def edge_rows(source_id: str, merged: Iterable[Row], aggregation: Aggregation) -> tuple[Iterator[Row], str]:
    """Return the rows of a source's simple edges and the kind of its graph, from the claims that `aggregate` merged."""
    edges, kind = edges_of(source_id, map(_claim, merged), aggregation)
    return (_marked(edge.model_dump(mode="json", exclude={"subject", "object"}), "contradicts") for edge in edges), kind


def _claim(row: Row) -> Claim:
    """Return the claim of a row. Its lists are nested: per teacher, and per evidence."""
    parts = {part["id"]: Part(**part) for groups in row["triples"] for part in chain.from_iterable(groups)}
    return Claim(
        **{name: row[name] for name in ("subject_id", "subject", "object_id", "object", "key")},
        confidence=min(1.0, max(0.0, row["confidence"])),
        opposes=frozenset(key for groups in row["opposes"] for keys in chain.from_iterable(groups) for key in keys or ()),
        parts=tuple(sorted(parts.values(), key=lambda part: (part.rank, part.id))),
    )


def _marked(row: Row, *names: str) -> Row:
    """Put a blank before each list of these names, which the statement removes.

    The engine infers types from the values. For rows with empty lists only, that takes longer than all the rest.
    """
    return {**row, **{name: ["", *row[name]] for name in names}}


ROWS_AT_ONCE = 32
HEADS_AT_ONCE = 4
"""Rows per call; fewer for sources, which have vectors. The engine keeps the rows that a statement was planned with and
processes them again in every later call. A large batch would therefore slow down all small ones after it."""


def write_subgraphs(
    session: LadybugTransaction,
    namespace: str,
    wanted: Mapping[str, Subgraph],
    replaced: Collection[str],
    aggregation: Aggregation,
) -> None:
    """Write subgraphs by source id with their simple edges. Those that are `replaced` are erased first."""
    answers = {id_: session.run("relink_answers", source_id=id_) for id_ in replaced}
    touched = touched_concepts(session.run, namespace, list(replaced))
    members = open_communities(session.run, namespace, list(replaced))
    erase_parts(session, namespace, replaced)
    recount_concepts(session.run, namespace, touched)
    write_rows(session, namespace, subgraph_rows(wanted.values()))
    rejoin_communities(session.run, namespace, members, ROWS_AT_ONCE)
    for id_, answer_rows in answers.items():
        again = {item.id for item in wanted[id_].evidence}
        sources = [{"answer_id": row["id"], "id": id_} for row in answer_rows]
        links = {"save_answers_sources": sources, "save_answers_evidence": evidence_again(answer_rows, again)}
        write_rows(session, namespace, links)
    are_documents = {id_: subgraph.document is not None for id_, subgraph in wanted.items()}
    write_edges(session, namespace, are_documents, aggregation)


def write_edges(
    session: LadybugTransaction, namespace: str, are_documents: Mapping[str, bool], aggregation: Aggregation
) -> None:
    """Derive the simple edges of sources without any; `are_documents` tells documents from queries, by id."""
    marks = list[Row]()
    for id_, is_document in are_documents.items():
        own = aggregation.of_documents() if is_document else aggregation
        claims = session.stream("aggregate", namespace=namespace, source_id=id_, merge=own.merge)
        edges, kind = edge_rows(id_, claims, own)
        write_rows(session, namespace, {"save_edges": edges})
        marks.append({"id": id_, "graph": kind, "aggregation": aggregation_text(own), "revision": uuid.uuid4().hex})
    write_rows(session, namespace, {"mark_graphs": marks})


def erase_parts(session: LadybugTransaction, namespace: str, source_ids: Collection[str]) -> Counter[str]:
    """Erase sources with their parts. Return the numbers of erased nodes and relationships by label."""
    counts = Counter[str]()
    for source_id in source_ids:
        for name in ("erase_subgraphs_triples", "erase_subgraphs", "erase_subgraphs_calls", "erase_sources"):
            for row in session.run(name, namespace=namespace, source_id=source_id):
                counts[row["label"]] += row["number"]
    return counts


def write_rows(session: LadybugTransaction, namespace: str, by_statement: Mapping[str, Iterable[Row]]) -> list[Row]:
    """Run each statement over its rows, a few at a time, and return their rows."""
    return [
        row
        for name, items in by_statement.items()
        for page in pages(items, HEADS_AT_ONCE if name in HEADS else ROWS_AT_ONCE)
        for row in session.run(name, namespace=namespace, rows=page)
    ]


def write_answers(session: LadybugTransaction, namespace: str, answers: Sequence[Answer]) -> set[str]:
    """Write answers, unless they rest on something that is not stored. Return the ids of all that are stored now.

    Their sources must be stored. A stored answer stays as it is.
    """
    proofs = [proof_of(answer) for answer in answers]
    existing = {
        row["id"]
        for row in session.run(
            "save_answers_proof",
            answer_ids=sorted({answer.id for answer in answers}),
            evidence_ids=sorted({id_ for proof in proofs for id_ in proof.evidence_ids}),
            call_ids=sorted({id_ for proof in proofs for id_ in proof.call_ids}),
        )
    }
    resting = {id_ for answer, proof in zip(answers, proofs, strict=True) for id_ in answer.source_ids if proof.triple_ids}
    for source_id in sorted(resting):
        existing |= {row["id"] for row in session.run("read_subgraphs_triples", namespace=namespace, source_id=source_id)}
    fresh = {
        answer.id: answer
        for answer, proof in zip(reversed(answers), reversed(proofs), strict=True)
        if answer.id not in existing and proof.evidence_ids | proof.triple_ids | proof.call_ids <= existing
    }
    lists = ("options", "source_ids", "lines", "edge_ids")
    rows_by_statement = {
        "save_answers": [_marked(answer_row(answer), *lists) for answer in fresh.values()],
        "save_answers_sources": [
            {"answer_id": item.id, "id": id_} for item in fresh.values() for id_ in dict.fromkeys(item.source_ids)
        ],
        "save_answers_evidence": [
            {"answer_id": item.id, "id": id_} for item in fresh.values() for id_ in own_refs(item, "evidence")
        ],
    }
    write_rows(session, namespace, rows_by_statement)
    return fresh.keys() | existing
