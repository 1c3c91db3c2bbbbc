"""The audit document of an answer, and a subgraph as text."""

from typing import Any

from drag_graph.errors import NotStored
from drag_graph.lookup import full_id
from drag_graph.model import LABELS, Answer, Subgraph
from drag_graph.ports import GraphStore

_Rest = tuple[str, str, str, str]
"""The ids of a triple (empty for a line of evidence) and of its evidence, the evidence's text, the id of the teacher call."""


def audit_document(store: GraphStore, prefix: str) -> dict[str, Any]:
    """Return the audit of the answer whose id begins with `prefix` (design, section 6, `audit --json`).

    It is what was recorded when the answer was given. `live` says for each shown line whether the graph still rests it on the
    same triples, evidence texts and teacher calls: `true`, or `false` after a refresh or tampering. Raises as `full_id` does.
    """
    answer = store.read_answer(full_id(store, "answer", prefix))
    if answer is None:
        raise NotStored(f"answer {prefix!r} went away while it was read", hint="Ask again.")
    standing = _standing(store.audit_walk(answer.id))
    lines = [{**line, "live": _is_live(line, standing)} for line in answer.snapshot.get("lines", [])]
    calls = answer.snapshot.get("calls", [])
    return {
        "answer_id": answer.id,
        "answer": answer.text,
        **_facts(answer),
        "question": answer.question,
        "options": list(answer.options),
        "student": answer.student,
        "lines": lines,
        "calls": calls,
        "cost_usd": round(sum(call["cost_usd"] for call in calls), 6),
        "privacy": answer.snapshot.get("privacy", {}),
    }


def _facts(answer: Answer) -> dict[str, Any]:
    fields = {"label", "confidence", "mode", "gold", "correct", "source_ids", "prompt_tokens", "latency_ms", "created_at"}
    return answer.model_dump(mode="json", include=fields)


def _standing(rows: list[dict[str, Any]]) -> dict[tuple[str, str], set[_Rest]]:
    """Return what each shown (kind, ref) rests on in the graph now."""
    found: dict[tuple[str, str], set[_Rest]] = {}
    for row in rows:
        rest = (row.get("triple_id") or "", row["evidence_id"], row["evidence_text"], row["call_id"])
        found.setdefault((row["kind"], row["ref"]), set()).add(rest)
    return found


def _is_live(line: dict[str, Any], standing: dict[tuple[str, str], set[_Rest]]) -> bool:
    if line["kind"] == "evidence":
        wanted = {("", line["evidence"]["id"], line["evidence"]["text"], line["call"]["id"])}
    else:
        wanted = {
            (triple["id"], triple["evidence"]["id"], triple["evidence"]["text"], triple["call"]["id"])
            for triple in line["triples"]
        }
    return standing.get((line["kind"], line["ref"])) == wanted


def subgraph_text(subgraph: Subgraph) -> str:
    """Return a subgraph as plain lines: the question, its evidence and its edges, best first."""
    lines = [subgraph.query.text]
    lines += [f"  {label}. {option}" for label, option in zip(LABELS, subgraph.query.options, strict=False)]
    lines += ["", "EVIDENCE"]
    lines += [f"{number}. {item.text}" for number, item in enumerate(subgraph.kept_evidence, start=1)]
    lines += ["", f"KNOWLEDGE GRAPH ({subgraph.graph})"]
    for edge in subgraph.usable_edges:
        lines.append(
            f"[{edge.subject}] --{', '.join(edge.predicates)}--> [{edge.object}] ({edge.confidence:.2f}, {edge.support}x)"
        )
    return "\n".join(lines)
