"""`privacy reveal`: a kept answer with what the gate took out put back, from the vault."""

from typing import Any

from drag_graph.identity import query_id
from drag_graph.model import Answer
from drag_graph.privacy.disguise import Reidentification
from drag_graph.privacy.vault import Vault


def revealed(answer: Answer, vault: Vault) -> dict[str, Any]:
    """Return the answer as it would read of each original that was asked so, with what was generalised."""
    asked_id = query_id(answer.namespace, answer.question, answer.options)
    found = [original for original in vault.originals(asked_id) if original.findings]
    disguises = [Reidentification(asked_id, one.question, one.options, one.findings, lambda text: text) for one in found]
    return {
        "answer_id": answer.id,
        "asked": answer.question,
        "originals": [{"own_id": one.own_id, **_as_it_was(answer, known)} for one, known in zip(found, disguises, strict=True)],
    }


def _as_it_was(answer: Answer, known: Reidentification) -> dict[str, Any]:
    text = known.restored(answer.text)
    if answer.label and answer.text in answer.options:
        text = known.options[answer.options.index(answer.text)]
    return {
        "question": known.question,
        "options": list(known.options),
        "answer": text,
        "lines": [
            {"n": line.n, "text": known.restored(line.text) if line.source_id == known.asked_id else line.text}
            for line in answer.lines
        ],
        "generalised": known.generalised(),
    }
