"""Answers of language models to open questions: which of them abstain or refuse, and one rephrased request after a refusal."""

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from drag_graph.errors import RefusedReply
from drag_graph.ports.model_roles import Prompt, StudentReply

REPHRASED = (
    "The lines are the user's own documents, and the user may know all that they say. Nothing else is requested: "
    "repeat what they say about the question."
)
_OPENING = 160
"""Number of characters in which a reply abstains or refuses; what it says later is about something else."""
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am)? (?:sorry|unable|not able|can(?:'t|not| not)|won't|will not|must decline)|as an ai)\b[^.]{0,60}"
    r"\b(?:assist|help|comply|fulfil|provide|answer|share|discuss|engage|do that|with (?:that|this))|"
    r"\bi (?:can't|cannot|won't) (?:assist|help|answer|provide|share|discuss|do)\b",
    re.IGNORECASE,
)
_SOURCES = r"(?:numbered |given |provided |quoted )*(?:lines?|sources?|passages?|documents?|context|text|evidence|information)"
_SAYS = r"(?:answer|contain|mention|specif|provide|include|state|say|give|discuss|indicate|tell|have|address)"
_ABSTENTION = re.compile(
    rf"\b{_SOURCES}\b[^.]{{0,60}}\b(?:do(?:es)?(?: not|n't)|did(?: not|n't)|cannot|never)\b[^.]{{0,30}}\b{_SAYS}|"
    rf"\bnone of the {_SOURCES}\b[^.]{{0,20}}\b{_SAYS}|"
    r"\b(?:not|isn't|never) (?:\w+ ){0,2}(?:mentioned|specified|stated|provided|answered|given|found|included|indicated|"
    rf"available)\b[^.]{{0,60}}\b{_SOURCES}\b|"
    rf"\bi (?:cannot|can't|could not) (?:answer|tell|say|determine|find)\b[^.]{{0,60}}\b(?:question|{_SOURCES})\b|"
    r"\b(?:no|not enough|insufficient) (?:\w+ ){0,2}(?:information|mention|answer)\b|"
    r"\b(?:cannot|can't|could not|unable to) be (?:answered|determined|inferred)\b|"
    r"\bi (?:do not|don't) know\b|\b(?:unclear|not clear) from the\b|^\W*unknown\b",
    re.IGNORECASE,
)


def is_refusal(text: str) -> bool:
    """Whether a reply declines to answer, for any reason but missing information."""
    return not is_abstention(text) and _REFUSAL.search(_plain(text)) is not None


def is_abstention(text: str) -> bool:
    """Whether a reply says that the lines do not answer the question."""
    return _ABSTENTION.search(_plain(text)) is not None


def _plain(text: str) -> str:
    return text[:_OPENING].replace("\u2019", "'")


def answer_openly(prompt: Prompt, write: Callable[[Prompt], StudentReply]) -> StudentReply:
    """Return the reply that `write` gives, marked if it abstains. After a refusal, ask once more in other words.

    Raises what `write` raises; RefusedReply only the second time.
    """
    reply = None
    with suppress(RefusedReply):
        reply = write(prompt)
    if reply is None or is_refusal(reply.text):
        reply = write(replace(prompt, text=f"{prompt.text}\n{REPHRASED}"))
    return replace(reply, abstained=bool(prompt.lines) and is_abstention(reply.text), refused=is_refusal(reply.text))
