"""The audit of an answer as a JSON document, and a subgraph as text."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from drag_graph.ask.audit_snapshot import contradicting, contradicting_passages, unshown
from drag_graph.errors import NotStored
from drag_graph.graph.rejected_claims import claims_of_edges, without_rejected
from drag_graph.manage.content_ids import is_evidence_id, wrong_ids
from drag_graph.manage.short_ids import full_id
from drag_graph.model import Answer, Subgraph, Triple, labelled, sentence_of
from drag_graph.ports.correction_store import Correction, RejectedClaims, claim_of
from drag_graph.ports.graph_store import GraphStore
from drag_graph.report.document_versions import documents_of, with_paths


def add_corrections(document: dict[str, Any], stored: Mapping[str, Subgraph], corrections: Iterable[Correction]) -> None:
    """Add `correction` to an audit, and `claims` to its lines and what contradicts them: id, text and `correction` of each.

    The claims of an edge are those of its triples, also of those that were not shown; the claims of evidence are those that
    were read from it. `stored` are the subgraphs by id.
    """
    by_target = {item.target_id: item.to_dict() for item in corrections}
    document["correction"] = by_target.get(document["answer_id"])
    for line in document["lines"]:
        if "elsewhere" not in line:
            for part in (line, *(other for other in line["contradicted_by"] if "edge" in other)):
                texts = dict(_claims(part, stored.get(line["source_id"])))
                part["claims"] = [{"id": id_, "text": text, "correction": by_target.get(id_)} for id_, text in texts.items()]


def correction_note(document: Mapping[str, Any] | None) -> str:
    """Return the JSON of a correction in prose; empty for None."""
    return str(Correction(**document)) if document else ""


def _claims(line: Mapping[str, Any], graph: Subgraph | None) -> Iterator[tuple[str, str]]:
    """Yield id and text of each claim. An answer of an earlier version has only the ids of its triples."""
    triples: Sequence[Triple] = graph.triples if graph else ()
    if line["edge"]:
        ids = {item.id: claim_of(item) for item in triples}
        for triple in (*line["triples"], *line.get("not_shown", ())):
            if id_ := triple.get("claim_id") or ids.get(triple["id"]):
                yield id_, sentence_of(triple["subject"], triple["predicate"], triple["object"])
        return
    evidence = {one["id"] for one in line.get("passages", (line["evidence"],))}
    for item in triples:
        if item.evidence_id in evidence:
            yield claim_of(item), sentence_of(item.subject, item.predicate, item.object)


Sent = Callable[[str], Mapping[str, Any] | None]
"""Returns the request of a teacher call by its hash, or None."""
_FACTS = {"label", "confidence", "mode", "gold", "correct", "source_ids", "prompt_tokens", "latency_ms", "created_at"}
_NOT_COMPARED: Mapping[str, Any] = {"not_shown": [], "contradicted_by": [], "claims": []}
SHORT = 12
"""Digits of an id that are shown."""
Provenance = tuple[str, str, str, tuple[str, ...]]
"""Triple id (empty for a line of evidence), evidence id, evidence text, ids of the teacher calls."""


def stored_answer(store: GraphStore, prefix: str, asked_as: Collection[str] = ()) -> Answer:
    """Return a stored answer with its snapshot. Takes the arguments of `full_id` and raises its errors."""
    answers = store.answers(prefix=full_id(store, "answer", prefix, asked_as=asked_as))
    if not answers:
        raise NotStored(f"Answer {prefix!r} was erased while it was read.", hint="Run the same command again.")
    return answers[0]


def compare_with_store(document: dict[str, Any], store: GraphStore) -> None:
    """Add to each line of an audit how it compares with the store.

    `live` is true if the store has the same triples, evidence texts and teacher calls behind the line, possibly with more
    calls, and false after a refresh or tampering. `changed` is true if a text behind it does not match its id, which is a hash,
    in the store or in the answer. `moved_to` of a document is its new address if its file was renamed after the answer.
    `not_shown` are the triples between the edge's entities that are not shown, `contradicted_by` the edges that contradict the
    line, each with its triples, and the lines from other documents that do. A line that another site released is skipped.
    `chunks` are the parts of documents around the evidence. Corrections are added as `add_corrections` does.
    """
    own = [line for line in document["lines"] if "elsewhere" not in line]
    graphs = store.read(list(dict.fromkeys(line["source_id"] for line in own)))
    stored = {graph.source_id: graph for graph in graphs}
    for item in document["documents"]:
        graph = stored.get(item["id"])
        now = graph.document.uri if graph and graph.document else ""
        item["moved_to"] = now if item["uri"] and now != item["uri"] else ""
    wrong = {id_ for graph in graphs for id_, _ in wrong_ids(graph)}
    corrections = store.corrections.read()
    rejected, passages = RejectedClaims.of(corrections), contradicting_passages(own)
    for line in own:
        graph = stored.get(line["source_id"])
        left = without_rejected(graph, rejected, is_whole=True) if graph else None
        line["live"] = _is_live(line, graph) or _is_live(line, left)
        line["changed"] = bool(line["changed"]) or not wrong.isdisjoint(_ids_behind(line))
        line["not_shown"] = unshown(line["edge"], graph, rejected) if graph and line["live"] and line["edge"] else []
        line["contradicted_by"] = contradicting(line, graph) if graph and line["live"] else []
        line["contradicted_by"] += passages.get(line["n"], [])
    wanted = {one["chunk"]["id"] for line in own for one in _evidence_behind(line) if one.get("chunk")}
    document["chunks"] = [
        {"id": chunk.id, "start": chunk.start, "text": chunk.text}
        for graph in graphs
        for chunk in graph.chunks
        if chunk.id in wanted
    ]
    add_corrections(document, stored, corrections)


def answer_document(answer: Answer) -> dict[str, Any]:
    """Return the audit of an answer from the answer alone.

    `live` is null, and `changed` is true or null. The `file` of each document is null.
    """
    calls = answer.snapshot.get("calls", [])
    documents = documents_of(answer.snapshot)
    lines = with_paths(answer.snapshot.get("lines", []), documents)
    return {
        "answer_id": answer.id,
        "answer": answer.text,
        **answer.model_dump(mode="json", include=_FACTS),
        "question": answer.question,
        "options": list(answer.options),
        "student": answer.student,
        "abstained": False,
        "truncated": False,
        **answer.snapshot.get("reply", {}),
        "line_order": answer.snapshot.get("line_order", "best-first"),
        "lines": [{**_NOT_COMPARED, **line, "live": None, "changed": _is_altered(line, answer.namespace)} for line in lines],
        "documents": documents,
        "chunks": answer.snapshot.get("chunks", []),
        "calls": calls,
        "cost_usd": round(sum(call["cost_usd"] for call in calls), 6),
        "privacy": answer.snapshot.get("privacy", {}),
        "correction": None,
        **({"site": answer.snapshot["site"]} if "site" in answer.snapshot else {}),
    }


def seen_by_teacher(calls: Iterable[Mapping[str, Any]], sent: Sent) -> list[dict[str, Any]]:
    """Return the request of each call; `messages` is None if only the hash is known."""
    return [
        {
            "call_id": call["id"],
            "model": call["model"],
            "stage": call["stage"],
            "request_sha256": call["request_sha256"],
            "messages": (sent(call["request_sha256"]) or {}).get("messages"),
        }
        for call in calls
    ]


def counted(number: int, name: str) -> str:
    """Return a number with a name that takes an s in the plural: "1 passage", "2 passages"."""
    return f"{number} {name}{'' if number == 1 else 's'}"


def place_of(evidence: Mapping[str, Any]) -> str:
    """Describe the position of a passage in its document; empty for evidence of a teacher."""
    document, chunk = evidence.get("document"), evidence.get("chunk")
    if not document:
        return ""
    path = " > ".join([document.get("path") or document["name"], *document.get("heading", ())])
    page = f"page {document['page']}" if document.get("page") else ""
    characters = f"characters {document['start']}-{document['end']}"
    part = f"chunk {chunk['position'] + 1}" if chunk else ""
    return ", ".join(filter(None, (path, document.get("date", ""), page, characters, part)))


def proof_of(evidence: Mapping[str, Any], calls: Iterable[Mapping[str, Any]]) -> str:
    """Describe where evidence is from: its place in a document, or how it was judged and by which calls it was written."""
    score = "" if evidence["llm_score"] is None else f", teacher's score {evidence['llm_score']:g}"
    judgement = place_of(evidence) or f"rank {evidence['rank'] + 1}, cosine {evidence['cosine']:.2f}{score}"
    return ", ".join([judgement, *calls_in_prose(calls)])


def calls_in_prose(calls: Iterable[Mapping[str, Any]]) -> list[str]:
    """Describe each call of a model."""
    return [f"by {call['model']} ({call['stage']}, ${call['cost_usd']:.4f}, {call['created_at']})" for call in calls]


def filter_in_words(privacy: Mapping[str, Any]) -> str:
    """Describe the privacy gate: its level, its detectors, and how much of the question each generalised."""
    found = ", ".join(f"{item['number']} {item['type']} by {item['detector']}" for item in privacy.get("generalised", ()))
    detectors = f" ({privacy['detectors']}); generalised: {found or 'nothing'}" if "detectors" in privacy else ""
    return f"{privacy.get('filter', 'not recorded')}{detectors}"


def evidence_of(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the evidence behind a line that is not an edge: of a span, that of each passage, with its own place."""
    best = line["evidence"]
    return [
        {
            **best,
            "id": one["id"],
            "text": one["text"],
            "document": {**best["document"], "start": one["start"], "end": one["end"]},
        }
        for one in line.get("passages", ())
    ] or [best]


def line_marks(line: Mapping[str, Any]) -> list[str]:
    """Return warnings about a context line."""
    if line.get("changed"):
        return ["text changed in the store: it no longer matches its id"]
    if line["live"] is False:
        return ["no longer in the graph with the same text, triples and teacher calls"]
    return []


def describe_elsewhere(elsewhere: Mapping[str, Any]) -> list[str]:
    """Describe a line that another site released: its origin and, if that site was asked, the evidence."""
    place = f"from the site {elsewhere['site']}, {place_of(elsewhere)}".rstrip(", ")
    lines = [f"{place}, generalised" if elsewhere["generalised"] else place]
    if origin := elsewhere.get("origin"):
        lines += [f"evidence {one['text']} {place_of(one)}".rstrip() for one in origin["passages"]]
        if origin["withheld"] and origin["passages"]:
            lines.append(f"{origin['withheld']} more are not released")
        if origin["problem"]:
            lines.append(f"{elsewhere['site']}: {origin['problem']}")
    return lines


def provenance_of(kind: str, refs: Sequence[str], subgraph: Subgraph) -> set[Provenance]:
    """Return the provenance of a line in a stored subgraph; empty if the line or its proof is missing.

    `refs` are the ids of the evidence of a span, or that of the one evidence or edge.
    """
    calls = {call.id for call in subgraph.calls}
    evidence = {item.id: item for item in subgraph.evidence if calls.issuperset(item.call_ids)}
    if kind != "edge":
        return {("", ref, evidence[ref].text, evidence[ref].call_ids) for ref in refs if ref in evidence}
    (ref,) = refs
    triple_ids = next((edge.triple_ids for edge in subgraph.edges if edge.id == ref), (ref,))
    return {
        (item.id, item.evidence_id, evidence[item.evidence_id].text, item.call_ids)
        for item in subgraph.triples
        if item.id in triple_ids and item.evidence_id in evidence and calls.issuperset(item.call_ids)
    }


def _is_altered(line: Mapping[str, Any], namespace: str) -> bool | None:
    """Return True if the answer's copy of a text does not match its id, else None."""
    own = [*_evidence_behind(line), *line.get("passages", ())] if "elsewhere" not in line else []
    return not all(is_evidence_id(part["id"], namespace, line["source_id"], part["text"]) for part in own) or None


def _evidence_behind(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the evidence of a line and of its triples."""
    triples = (triple["evidence"] for triple in line.get("triples", ()))
    return [*triples, *([line["evidence"]] if line.get("evidence") else ())]


def _ids_behind(line: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids of the texts behind a line of an audit."""
    yield from (line["source_id"], line["ref"])
    if line["edge"]:
        yield from (line["edge"]["subject_id"], line["edge"]["object_id"])
    for triple in line["triples"]:
        yield from (triple["id"], triple["evidence"]["id"])
    for passage in line.get("passages", ()):
        yield passage["id"]


def _is_live(line: dict[str, Any], subgraph: Subgraph | None) -> bool:
    if subgraph is None:
        return False
    parts = line["triples"]
    if line["kind"] != "edge":
        texts = line.get("passages") or [line["evidence"]]
        parts = [{"id": "", "evidence": text, "calls": line["calls"]} for text in texts]
    recorded = {
        (part["id"], part["evidence"]["id"], part["evidence"]["text"]): {call["id"] for call in part["calls"]} for part in parts
    }
    refs = [line["ref"]] if line["kind"] == "edge" else [part["evidence"]["id"] for part in parts]
    stored = {one[:3]: one[3] for one in provenance_of(line["kind"], refs, subgraph)}
    return stored.keys() == recorded.keys() and all(calls.issubset(stored[part]) for part, calls in recorded.items())


def claims_in_words(ids: Iterable[str], wrong: Collection[str]) -> str:
    """Return the short ids of claims. Those that a person marked wrong say so."""
    return ", ".join(f"{id_[:SHORT]}{' (marked wrong)' if id_ in wrong else ''}" for id_ in ids)


def subgraph_text(subgraph: Subgraph, wrong: Collection[str] = ()) -> str:
    """Return a subgraph as plain text: title, evidence and edges, best first. `wrong` are the ids of claims marked wrong."""
    lines = [subgraph.title]
    if subgraph.document is None:
        lines += [f"  {option}" for option in labelled(subgraph.query.options)]
    lines += ["", "EVIDENCE"]
    lines += [f"{number}. {item.text}" for number, item in enumerate(subgraph.kept_evidence, start=1)]
    lines += ["", f"KNOWLEDGE GRAPH ({subgraph.graph})"]
    claims_of = claims_of_edges(subgraph, subgraph.usable_edges)
    for edge in subgraph.usable_edges:
        disputed = ", disputed" if edge.contradicts else ""
        claims = claims_in_words(claims_of[edge.id], wrong)
        weight = f"({edge.confidence:.2f}, {edge.support}x{disputed}, claim {claims})"
        lines.append(f"[{edge.subject}] --{', '.join(edge.predicates)}--> [{edge.object}] {weight}")
    return "\n".join(lines)
