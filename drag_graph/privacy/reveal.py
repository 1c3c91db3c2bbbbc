"""`privacy reveal`: a kept answer with what the gate took out put back, from the vault."""

from typing import Any

from drag_graph.identity import query_id
from drag_graph.model import Answer
from drag_graph.privacy.disguise import Reidentification
from drag_graph.privacy.vault import Original, Vault


def revealed(answer: Answer, vault: Vault) -> dict[str, Any]:
    """Return the answer as it would read of each original that was asked so, with what was generalised."""
    asked_id = query_id(answer.namespace, answer.question, answer.options)
    found = [original for original in vault.originals(asked_id) if original.findings]
    return {"answer_id": answer.id, "asked": answer.question, "originals": [_as_it_was(answer, asked_id, one) for one in found]}


def _as_it_was(answer: Answer, asked_id: str, original: Original) -> dict[str, Any]:
    known = Reidentification(asked_id, original.question, original.options, original.findings, lambda text: text)
    restored = known.restored_answer(answer)
    return {
        "own_id": original.own_id,
        "question": restored.question,
        "options": list(restored.options),
        "answer": restored.text,
        "lines": [{"n": line.n, "text": line.text} for line in restored.lines],
        "generalised": known.generalised(),
    }
