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
_SOURCES = (
    r"(?:numbered |given |provided |quoted )*(?:lines?|sources?|passages?|documents?|context|text|evidence|facts|information)\b"
)
_SAYS = (
    r"(?:answer|contain|mention|specif|provide|include|state|say|give|discuss|indicate|tell|have|address|settle|allow|disclose|"
    r"explain|cover|reveal|refer)(?!\w* (?:any |an)?(?:other|more|further))"
)
_NOT = r"\b(?:do(?:es)?(?: not|n't)|did(?: not|n't)|cannot|never|fails? to)\b"
_NOT_STATED = (
    r"\b(?:not|isn't|aren't|never) (?:\w+ ){0,2}"
    r"(?:mentioned|specified|stated|provided|answered|given|found|included|indicated|disclosed|available)\b"
)
_FINDS = r"(?:answer|tell|say|determine|find|infer|conclude|know)\b"
_FACTS = r"(?:information|details?|evidence|data|context)"
_ABOUT = r"(?:about|on|of|regarding|to|that|in|available|given|provided|here)\b"
_ABSTENTION = re.compile(
    "|".join(
        [
            # What the sources do not say
            rf"\b{_SOURCES}[^.]{{0,60}}{_NOT}[^.]{{0,30}}\b{_SAYS}",
            rf"^\W*(?:it|they) {_NOT} {_SAYS}",
            rf"\b(?:none|nothing) (?:of|in) the {_SOURCES}[^.]{{0,20}}\b{_SAYS}",
            rf"\b{_SOURCES} (?:say nothing|(?:is|are) silent|makes? no|(?:has|have|contains?|gives?) no|lacks?)\b",
            rf"\b{_SOURCES} only (?:are|is|talk|say|state|give|mention|describe|cover|contain|discuss)",
            rf"\b{_SOURCES}[^.]{{0,60}}\bbut not\b",
            # What is not in them
            rf"{_NOT_STATED}[^.]{{0,60}}\b{_SOURCES}",
            rf"(?:^\W*|\b(?:is|are) |(?=isn't|aren't)){_NOT_STATED}(?: here)?[\W\d]*$",
            rf"\b(?:it|that|this) (?:is |was )?{_NOT_STATED} (?:who|what|when|where|why|how|which|whether|if)\b",
            rf"\b(?:not|missing|absent|left open)\b (?:in|from|by) the {_SOURCES}",
            # What is missing
            rf"^\W*(?:no|insufficient|not enough) (?:\w+ ){{0,2}}(?:{_FACTS}|answer)(?: can\b| could\b|\W*$)",
            rf"^\W*no (?:\w+ )?(?:{_FACTS}|answer|mention) (?:(?:is|was) (?:found|stated) )?{_ABOUT}",
            rf"\bthere(?: is|'s| isn't| are) (?:no|not enough|insufficient|any|enough) (?:\w+ )?(?:{_FACTS}|mention) {_ABOUT}",
            rf"\b{_FACTS} (?:\w+ )?(?:is|are) (?:insufficient|not enough|not sufficient|missing|needed)\b",
            r"\bi (?:(?:do not|don't|would) )?(?:have|need) (?:no|enough|any|more|further)\b",
            rf"\bwithout (?:more|further) {_FACTS}\b",
            # What the student does not know
            rf"\bi (?:cannot|can't|could not|couldn't|am (?:unable|not able) to|do not|don't) {_FINDS}",
            r"\bi(?: am|'m) (?:not sure|not certain|unsure|uncertain)\b|\bwe are not told\b",
            rf"(?:^\W*(?:cannot|unable to)|\b(?:not possible|impossible|no way) to|\bdo(?:es)? not allow \w+ to) {_FINDS}",
            r"\b(?:cannot|can't|could not|unable to) be (?:answered|determined|inferred|known|stated|concluded)\b",
            rf"\b(?:unclear|not clear|unknown)\b (?:from|in) the\b|\bunclear\b[^.]{{0,20}}\b{_SOURCES}",
            r"^\W*(?:unknown|n/a|not known|it is un(?:known|clear))\W*$",
        ]
    ),
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
