"""Turn a student's reply into an answer: its id, and whether it is correct."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from drag_graph.ask.support import without_citations
from drag_graph.identity import canonical_text, content_id, sha256_of
from drag_graph.model import LABELS, Answer, Line, Mode, Query, Subgraph
from drag_graph.ports.model_roles import Prompt, StudentReply
from drag_graph.ports.question_gate import Disguise

NOTHING_RELEVANT = "Nothing relevant is stored."
_PUNCTUATION = re.compile(r"[^\w\s]|_")
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


def gold_text(query: Query) -> str | None:
    """Return a query's gold answer as answers record it: the letter of an option, or the first correct text."""
    return LABELS[query.gold] if isinstance(query.gold, int) else next(iter(gold_texts(query)), None)


def gold_texts(query: Query) -> tuple[str, ...]:
    """Return the correct texts of a query: of the option, or all accepted ones; none without a gold answer."""
    if isinstance(query.gold, int):
        return (query.options[query.gold],)
    return (query.gold,) if isinstance(query.gold, str) else query.gold or ()


def is_correct(query: Query, text: str, label: str | None) -> bool | None:
    """Return whether an answer is correct: the same letter, or one of the gold texts (`plain_answer`). None without gold.

    Citations of lines do not count as part of the answer.
    """
    if query.gold is None:
        return None
    if isinstance(query.gold, int):
        return label == LABELS[query.gold]
    return plain_answer(without_citations(text)) in {plain_answer(gold) for gold in gold_texts(query)}


def make_answer(
    query: Query,
    reply: StudentReply,
    prompt: Prompt,
    *,
    student: str,
    mode: Mode,
    latency_ms: int,
    created_at: str,
    snapshot: dict[str, Any],
    subgraphs: Sequence[Subgraph],
) -> Answer:
    """Return the answer to a question from these subgraphs.

    Its id is a hash of question, gold answer, student, mode, prompt, lines, reply and the settings of the subgraphs, so the
    same outcome from the same knowledge is the same answer. Its sources are those of its lines; without lines, the first one.
    """
    stored = [subgraph.source_id for subgraph in subgraphs]
    source_ids = tuple(dict.fromkeys(line.source_id for line in prompt.lines)) or tuple(stored[:1])
    provenance = [f"{subgraph.source_id}:{subgraph.settings_hash}" for subgraph in subgraphs]
    return Answer(
        id=_answer_id(query, student, mode, sha256_of([prompt.text]), reply.text, *provenance, lines=prompt.lines),
        namespace=query.namespace,
        question=query.text,
        options=query.options,
        source_ids=source_ids,
        text=reply.text,
        label=reply.label,
        gold=gold_text(query),
        correct=is_correct(query, reply.text, reply.label),
        confidence=reply.confidence,
        mode=mode,
        student=student,
        lines=prompt.lines,
        prompt_tokens=prompt.tokens,
        latency_ms=latency_ms,
        created_at=created_at,
        snapshot=snapshot,
    )


def no_answer(query: Query, *, student: str, created_at: str) -> Answer:
    """Return the answer if nothing relevant is stored: no lines, no label, confidence 0."""
    return Answer(
        id=_answer_id(query, student, "none", NOTHING_RELEVANT),
        namespace=query.namespace,
        question=query.text,
        options=query.options,
        text=NOTHING_RELEVANT,
        gold=gold_text(query),
        mode="none",
        student=student,
        created_at=created_at,
    )


def _answer_id(query: Query, *facts: str, lines: Sequence[Line] = ()) -> str:
    shown = (f"{line.kind}:{line.ref}:{line.text}" for line in lines)
    return content_id(query.namespace, "answer", query.id, gold_text(query) or "", *facts, *shown)


def plain_answer(text: str) -> str:
    """Return an answer without case, punctuation and articles, as in SQuAD's evaluation. A text of nothing else stays."""
    words = canonical_text(text)
    return " ".join(_ARTICLE.sub(" ", _PUNCTUATION.sub("", words)).split()) or words


def disguised(
    known: Disguise | None, query: Query, lines: Sequence[Line], prompt: Prompt, reply: StudentReply
) -> tuple[Prompt, StudentReply]:
    """Return prompt and reply as they may be stored after a local student was asked the original question."""
    if known is None:
        return prompt, reply
    plain = {(line.kind, line.ref): line.text for line in lines}
    shown = tuple(line.model_copy(update={"text": plain[line.kind, line.ref]}) for line in prompt.lines)
    text = query.options[LABELS.index(reply.label)] if reply.label else known.hidden(reply.text)
    return replace(prompt, question=query.text, options=query.options, lines=shown), replace(reply, text=text)
