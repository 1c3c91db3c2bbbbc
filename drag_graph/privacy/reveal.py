"""Put back into a stored answer what the gate replaced, for `privacy reveal`."""

from typing import Any

from drag_graph.identity import query_id
from drag_graph.model import Answer
from drag_graph.privacy.disguise import Reidentification
from drag_graph.privacy.vault import Original, Vault


def revealed(answer: Answer, vault: Vault) -> list[dict[str, Any]]:
    """Return the answer as it reads for each original that was asked as its question. The same text counts once."""
    asked_id = query_id(answer.namespace, answer.question, answer.options)
    originals: dict[Any, Original] = {}
    for original in vault.originals(asked_id):
        text = (original.question, original.options)
        if original.findings and (text not in originals or not originals[text].own_id):
            originals[text] = original
    return [_revealed_as(answer, asked_id, original) for original in originals.values()]


def _revealed_as(answer: Answer, asked_id: str, original: Original) -> dict[str, Any]:
    reidentification = Reidentification(asked_id, original.question, original.options, original.findings, lambda text: text)
    restored = reidentification.restored_answer(answer)
    return {
        "own_id": original.own_id,
        "question": restored.question,
        "options": list(restored.options),
        "answer": restored.text,
        "lines": [{"n": line.n, "text": line.text} for line in restored.lines],
        "generalised": reidentification.generalised(),
    }
