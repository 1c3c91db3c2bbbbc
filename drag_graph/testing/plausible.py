"""The scripted server's default replies: valid, deterministic, and made from the words of the prompt. No model at all."""

import math
import re
from collections.abc import Callable
from typing import Any

from drag_graph.model import FRAMINGS

_COUNT = re.compile(r"\b(\d{1,3})\s+(?:\w+\s+){0,3}?(?:evidence|evidences|statements|facts)\b", re.IGNORECASE)
_NUMBERED = re.compile(r"^\s*[\[(]?(\d{1,3})[\]):.]+\s+(.+?)\s*$", re.MULTILINE)
_QUESTION = re.compile(r"[^\n.:]*\?")
_WORD = re.compile(r"[A-Za-z][A-Za-z-]{3,}")
_LETTER = re.compile(r"^\s*([A-Z])[.):]\s+(.+)$", re.MULTILINE)
_COMMON = {"which", "what", "when", "where", "about", "with", "from", "that", "this", "these", "those", "best", "does", "most"}
_DEFAULT_COUNT = 15
_PHRASES = (
    "{a} is closely connected with {b}.",
    "{a} differs from {b} in how it works.",
    "{a} leads to changes in {b}.",
    "{a} comes before {b} in the usual order.",
    "{a} can be seen in an example of {b}.",
)


def plausible_tokens(text: str) -> int:
    """Return a count of tokens that a server might report: a quarter of the characters, at least 1."""
    return max(1, math.ceil(len(text) / 4))


def evidence(prompt: str) -> dict[str, Any]:
    """Return as many statements as the prompt asks for, about the words of its question."""
    count = _COUNT.search(prompt)
    questions = _QUESTION.findall(prompt)
    words = _keywords(questions[-1] if questions else prompt)
    entities = []
    for i in range(int(count[1]) if count else _DEFAULT_COUNT):
        first, second = words[i % len(words)], words[(i + 1 + i // len(words)) % len(words)]
        phrase = _PHRASES[i % len(_PHRASES)]
        text = phrase.format(a=first.capitalize(), b=second if second != first else f"the kind {i}")
        entities.append({"text": f"{text[:-1]} (fact {i + 1}).", "framing": FRAMINGS[i % len(FRAMINGS)]})
    return {"evidence": entities}


def scores(prompt: str) -> dict[str, Any]:
    """Return a score for each numbered line of the prompt, spread over 1 to 10."""
    return {"scores": [{"index": i, "score": 1 + (7 * i + 5) % 10} for i, _ in _lines(prompt)]}


def triples(prompt: str) -> dict[str, Any]:
    """Return one triple for each numbered line of the prompt: its first and its last key word."""
    relations = []
    for i, text in _lines(prompt):
        words = _keywords(text)
        subject, object_ = words[0], words[-1] if len(words) > 1 else f"fact {i}"
        confidence = round(0.95 - 0.05 * (i % 6), 2)
        triple = {"subject": subject, "predicate": "relates to", "object": object_, "confidence": confidence, "evidence": [i]}
        relations.append({**triple, "subject_type": "concept", "object_type": "concept"})
    return {"triples": relations}


def statements(prompt: str) -> dict[str, Any]:
    """Return one sentence for each numbered line of the prompt."""
    return {"statements": [{"pair": i, "statement": text} for i, text in _lines(prompt)]}


def summaries(prompt: str) -> dict[str, Any]:
    """Return a title and a sentence of the key words of the prompt's numbered lines."""
    words = _keywords(" ".join(text for _, text in _lines(prompt)))
    return {"summaries": [{"name": f"All about {words[0]}", "summary": f"What is known of {', '.join(words[:12])}."}]}


def rewrite(prompt: str) -> dict[str, Any]:
    """Return the prompt's question as it is."""
    questions = _QUESTION.findall(prompt)
    return {"question": (questions[-1] if questions else prompt).strip(), "replacements": []}


DEFAULTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "evidence": evidence,
    "scores": scores,
    "triples": triples,
    "statements": statements,
    "summaries": summaries,
    "rewrite": rewrite,
}


def answer_of(prompt: str, *, wants_logprobs: bool) -> tuple[str, Any]:
    """Return the letter of the option that shares most words with the rest of the prompt, and its log-probabilities."""
    options = _LETTER.findall(prompt)
    if not options:
        return "I do not know.", None
    text = prompt.casefold()
    shares = [sum(text.count(word.casefold()) for word in _WORD.findall(option)) + 1 for _, option in options]
    letter = options[shares.index(max(shares))][0]
    if not wants_logprobs:
        return letter, None
    total = sum(shares)
    top = [
        {"token": name, "logprob": math.log(share / total), "bytes": None}
        for (name, _), share in zip(options, shares, strict=True)
    ]
    top.sort(key=lambda entry: (-entry["logprob"], entry["token"]))
    return letter, {"content": [{**top[0], "top_logprobs": top}], "refusal": None}


def _lines(prompt: str) -> list[tuple[int, str]]:
    return [(int(number), text) for number, text in _NUMBERED.findall(prompt)]


def _keywords(text: str) -> list[str]:
    words = dict.fromkeys(word.lower() for word in _WORD.findall(text) if word.lower() not in _COMMON)
    return list(words) or ["thing"]
