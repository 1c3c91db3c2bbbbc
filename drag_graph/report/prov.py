"""`audit --format prov`: an audit as W3C PROV-JSON (https://www.w3.org/submissions/prov-json/).

Answer, lines, edges, triples and evidence are entities; answering, merging and teacher calls are activities; student and
teachers are agents.
"""

from typing import Any

from drag_graph.report.audit_document import evidence_of

PREFIX = "drag"
NAMESPACE = "urn:drag-graph:"


def prov_document(audit: dict[str, Any]) -> dict[str, Any]:
    """Return an audit document as PROV-JSON."""
    book = _Book()
    answer = book.entity("answer", audit["answer_id"], "Answer", {"text": audit["answer"], "confidence": audit["confidence"]})
    student = book.agent("student", audit["student"])
    answering = book.activity("answering", audit["answer_id"], "Answering", ended=audit["created_at"])
    book.relate("wasGeneratedBy", {"entity": answer, "activity": answering})
    book.relate("wasAssociatedWith", {"activity": answering, "agent": student})
    book.relate("wasAttributedTo", {"entity": answer, "agent": student})
    for call in audit["calls"]:
        book.call(call)
    for item in audit["documents"]:
        names = ("name", "uri", "sha256", "modified_at", "read_at", "file")
        book.entity("document", item["id"], "Document", {name: item[name] for name in names if item[name]})
    for line in audit["lines"]:
        shown = book.entity("line", f"{audit['answer_id']}/{line['n']}", "Line", {"text": line["text"], "kind": line["kind"]})
        book.relate("used", {"activity": answering, "entity": shown})
        book.derive(answer, shown)
        if "elsewhere" in line:
            _released(book, shown, line["elsewhere"])
        elif line["kind"] != "edge":
            for evidence in evidence_of(line):
                book.derive(shown, book.evidence(evidence, line["calls"]))
        else:
            _edge(book, shown, line)
    return book.document()


def _released(book: "_Book", shown: str, elsewhere: dict[str, Any]) -> None:
    """Add the site that released a line, and the evidence behind it if that site was asked."""
    agent = book.agent("site", elsewhere["site"])
    book.relate("wasAttributedTo", {"entity": shown, "agent": agent})
    for passage in elsewhere.get("origin", {"passages": ()})["passages"]:
        name = book.entity("evidence", f"{elsewhere['site']}/{passage['ref']}", "Evidence", {"text": passage["text"]})
        book.relate("wasAttributedTo", {"entity": name, "agent": agent})
        book.derive(shown, name)


def _edge(book: "_Book", shown: str, line: dict[str, Any]) -> None:
    edge = line["edge"]
    facts = {name: edge[name] for name in ("statement", "confidence", "support")}
    if edge.get("contradicts"):
        facts["contradicts"] = [f"{PREFIX}:edge/{id_}" for id_ in edge["contradicts"]]
    simple = book.entity("edge", edge["id"], "SimpleEdge", facts)
    merging = book.activity("merging", edge["id"], "Merging")
    book.relate("wasGeneratedBy", {"entity": simple, "activity": merging})
    book.derive(shown, simple)
    for triple in line["triples"]:
        words = f"{triple['subject']} {triple['predicate']} {triple['object']}"
        read = book.entity("triple", triple["id"], "Triple", {"text": words, "confidence": triple["confidence"]})
        book.relate("used", {"activity": merging, "entity": read})
        for call in triple["calls"]:
            book.relate("wasGeneratedBy", {"entity": read, "activity": book.call(call)})
        book.derive(simple, read)
        book.derive(read, book.evidence(triple["evidence"], triple["evidence"]["calls"]))


class _Book:
    """Collects records by kind; the same thing is written once."""

    def __init__(self) -> None:
        self._records: dict[str, dict[str, dict[str, Any]]] = {}
        self._relations: dict[str, dict[tuple[str, ...], dict[str, str]]] = {}

    def entity(self, kind: str, key: str, type_: str, facts: dict[str, Any]) -> str:
        return self._add("entity", kind, key, type_, {f"{PREFIX}:{name}": value for name, value in facts.items()})

    def agent(self, kind: str, name: str) -> str:
        return self._add("agent", kind, name, "SoftwareAgent", {f"{PREFIX}:name": name}, prefix="prov")

    def activity(self, kind: str, key: str, type_: str, *, ended: str = "") -> str:
        return self._add("activity", kind, key, type_, {"prov:endTime": ended} if ended else {})

    def call(self, call: dict[str, Any]) -> str:
        name = self.activity("call", call["id"], "TeacherCall", ended=call["created_at"])
        facts = ("stage", "prompt_version", "tokens_in", "tokens_out", "cost_usd")
        self._records["activity"][name].update({f"{PREFIX}:{fact}": call[fact] for fact in facts})
        self.relate("wasAssociatedWith", {"activity": name, "agent": self.agent("teacher", call["model"])})
        return name

    def evidence(self, evidence: dict[str, Any], calls: list[dict[str, Any]]) -> str:
        document = evidence.get("document")
        place = (
            {name: document[name] for name in ("start", "end", "page", "heading", "date") if name in document}
            if document
            else {}
        )
        judged = {} if document else {name: evidence[name] for name in ("rank", "cosine", "score")}
        name = self.entity("evidence", evidence["id"], "Evidence", {"text": evidence["text"], **judged, **place})
        if document:
            self.derive(name, self.entity("document", document["id"], "Document", {"name": document["name"]}))
        for call in calls:
            self.relate("wasGeneratedBy", {"entity": name, "activity": self.call(call)})
        return name

    def derive(self, result: str, source: str) -> None:
        self.relate("wasDerivedFrom", {"generatedEntity": result, "usedEntity": source})

    def relate(self, kind: str, ends: dict[str, str]) -> None:
        named = {f"prov:{role}": name for role, name in ends.items()}
        self._relations.setdefault(kind, {}).setdefault(tuple(ends.values()), named)

    def document(self) -> dict[str, Any]:
        relations = {
            kind: {f"_:{kind}{number}": ends for number, ends in enumerate(records.values(), start=1)}
            for kind, records in self._relations.items()
        }
        return {"prefix": {PREFIX: NAMESPACE}, **self._records, **relations}

    def _add(self, group: str, kind: str, key: str, type_: str, facts: dict[str, Any], *, prefix: str = PREFIX) -> str:
        name = f"{PREFIX}:{kind}/{key}"
        kind_of = {"$": f"{prefix}:{type_}", "type": "prov:QUALIFIED_NAME"}
        self._records.setdefault(group, {}).setdefault(name, {"prov:type": kind_of, **facts})
        return name
