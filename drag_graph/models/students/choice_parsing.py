"""Find the chosen letter in the reply of a model.

Models answer `B`, `(b)`, `The answer is (B).`, `**B. water**`, LaTeX's boxed letter, or the text of the option, sometimes after
reasoning. The last mention counts. An `A` that is an article does not.
"""

import re
from collections.abc import Sequence

from drag_graph.identity import canonical_text
from drag_graph.model import LABELS
from drag_graph.models.reasoning import without_reasoning

_WORD = re.compile(r"[^\W_]+")
_DECORATION = re.compile(r"[*_`#]+")
_OPTION_PREFIX = re.compile(r"^\(?[A-Za-z][).:]\s+")

# The letter after words that announce it. The last match wins.
_ANNOUNCED = re.compile(
    r"\b(?i:answer|choice|option|choose|pick|select|letter)\b(?i:\s+(?:of|for)\s+the\s+[\w ]{1,30}?)?"
    r"(?i:\s+(?:is|would be|should be|option|choice|letter|answer)\b)*\s*[:=\-]?\s*"
    r"(?:[\(\[\"'{]\s*([A-Za-z])\s*(?:[\)\]\"'}]|\Z)|([A-Za-z])\)|([A-Z])(?![\w'])"
    # "The answer is A liquid": an article (or, with nine options, the pronoun I), unless a reason follows.
    r"(?!(?<=[AI])\s+(?!because|since|as\b|for\b|due|and\b|which\b|but\b|with\b)[a-z]))"
)
_BOXED = re.compile(r"\\boxed\{\s*(?:\\text\{)?\s*\(?([A-Za-z])\)?")
# A letter that opens the reply or stands alone on a line, with its punctuation.
_OPENING = re.compile(r"\A\s*[\(\[\"']?([A-Za-z])(?:[\)\]\"'.:,]+(?=\s|\Z)|\s*\Z|\s*(?=[\n\u2013\u2014-]))")
_ALONE = re.compile(r"^\s*[\(\[\"']?([A-Za-z])[\)\]\"'.:]*\s*$", re.MULTILINE)
_IN_PARENTHESES = re.compile(r"[\(\[]([A-Z])[\)\]]")


def parse_label(text: str, options: Sequence[str]) -> str | None:
    """Return the letter of the chosen option, or None if the reply names none or several.

    In this order: the last announced letter (`the answer is (B)`), a boxed letter, a letter at the beginning (`B.`), a letter
    alone on a line, the only letter in parentheses, the only option whose text the reply contains.
    """
    plain = _DECORATION.sub("", without_reasoning(text))
    labels = LABELS[: len(options)]
    for matches in (_ANNOUNCED.findall(plain), _BOXED.findall(plain)):
        letters = [letter for match in matches if (letter := _letter(match, labels))]
        if letters:
            return letters[-1]
    opening = _OPENING.match(plain)
    if opening and (letter := _letter(opening[1], labels)):
        return letter
    for matches in (_ALONE.findall(plain), _IN_PARENTHESES.findall(plain)):
        distinct = {letter for match in matches if (letter := _letter(match, labels))}
        if len(distinct) == 1:
            return distinct.pop()
    return _by_words(plain, options)


def _letter(match: str | tuple[str, ...], labels: str) -> str:
    letter = (match if isinstance(match, str) else "".join(match)).upper()
    return letter if letter and letter in labels else ""


def _by_words(text: str, options: Sequence[str]) -> str | None:
    """Return the label of the option that equals the reply, or is the only one in it (or the one that contains the others)."""
    reply = _words(_OPTION_PREFIX.sub("", text))
    texts = [_words(option) for option in options]
    exact = [index for index, words in enumerate(texts) if words == reply]
    if len(exact) == 1:
        return LABELS[exact[0]]
    contained = [index for index, words in enumerate(texts) if words.strip() and words in reply]
    longest = [index for index in contained if all(texts[other] in texts[index] for other in contained)]
    return LABELS[longest[0]] if len(longest) == 1 else None


def _words(text: str) -> str:
    """Return the words with a space around each, so that `in` compares whole words."""
    words = " ".join(_WORD.findall(canonical_text(text)))
    return f" {words} "
