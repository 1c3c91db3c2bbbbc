"""Reading a letter out of what a model said.

Models answer `B`, `(b)`, `The answer is (B).`, `**B. water**`, LaTeX's boxed letter, the option's own words, or think aloud
first. What they said last counts, and an `A` that is only an article never does.
"""

import re
from collections.abc import Sequence

from drag_graph.identity import canonical_text
from drag_graph.model import LABELS
from drag_graph.models.reasoning import without_reasoning

_WORD = re.compile(r"[^\W_]+")
_DECORATION = re.compile(r"[*_`#]+")
_OPTION_PREFIX = re.compile(r"^\(?[A-Za-z][).:]\s+")

# The letter after words that announce it: the last such place wins.
_ANNOUNCED = re.compile(
    r"\b(?i:answer|choice|option|choose|pick|select|letter)\b(?i:\s+(?:of|for)\s+the\s+[\w ]{1,30}?)?"
    r"(?i:\s+(?:is|would be|should be|option|choice|letter|answer)\b)*\s*[:=\-]?\s*"
    r"(?:[\(\[\"'{]\s*([A-Za-z])\s*(?:[\)\]\"'}]|\Z)|([A-Za-z])\)|([A-Z])(?![\w'])"
    # "The answer is A liquid": an article (or, with nine options, the pronoun I), unless a reason follows.
    r"(?!(?<=[AI])\s+(?!because|since|as\b|for\b|due|and\b|which\b|but\b|with\b)[a-z]))",
)
_BOXED = re.compile(r"\\boxed\{\s*(?:\\text\{)?\s*\(?([A-Za-z])\)?")
# A letter that opens the reply or stands alone on a line, with its punctuation.
_OPENING = re.compile(r"\A\s*[\(\[\"']?([A-Za-z])(?:[\)\]\"'.:,]+(?=\s|\Z)|\s*\Z|\s*(?=[\n\u2013\u2014-]))")
_ALONE = re.compile(r"^\s*[\(\[\"']?([A-Za-z])[\)\]\"'.:]*\s*$", re.MULTILINE)
_IN_PARENTHESES = re.compile(r"[\(\[]([A-Z])[\)\]]")


def parse_label(text: str, options: Sequence[str]) -> str | None:
    """Return the letter of the option that a reply chooses, or None where it chooses none or more than one.

    In this order: a letter that is announced (`the answer is (B)`; the last one), a boxed one, one that opens the reply
    (`B.`), one alone on a line, the only one in parentheses, the only option whose words the reply has.
    """
    said = _DECORATION.sub("", without_reasoning(text))
    labels = LABELS[: len(options)]
    for found in (_ANNOUNCED.findall(said), _BOXED.findall(said)):
        letters = [letter for match in found if (letter := _letter(match, labels))]
        if letters:
            return letters[-1]
    opening = _OPENING.match(said)
    if opening and (letter := _letter(opening[1], labels)):
        return letter
    for found in (_ALONE.findall(said), _IN_PARENTHESES.findall(said)):
        distinct = {letter for match in found if (letter := _letter(match, labels))}
        if len(distinct) == 1:
            return distinct.pop()
    return _by_words(said, options)


def _letter(match: str | tuple[str, ...], labels: str) -> str:
    letter = (match if isinstance(match, str) else "".join(match)).upper()
    return letter if letter and letter in labels else ""


def _by_words(said: str, options: Sequence[str]) -> str | None:
    """Return the label of the option that the reply consists of, else of the only one (or the one that holds all others)."""
    reply = _words(_OPTION_PREFIX.sub("", said))
    wanted = [_words(option) for option in options]
    exact = [index for index, words in enumerate(wanted) if words == reply]
    if len(exact) == 1:
        return LABELS[exact[0]]
    held = [index for index, words in enumerate(wanted) if words.strip() and words in reply]
    longest = [index for index in held if all(wanted[other] in wanted[index] for other in held)]
    return LABELS[longest[0]] if len(longest) == 1 else None


def _words(text: str) -> str:
    """Return the words with a space on either side of each, so that `in` compares whole words."""
    words = " ".join(_WORD.findall(canonical_text(text)))
    return f" {words} "
