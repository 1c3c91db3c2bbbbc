"""Split text into sentences of tokens, in linear time; unreadable input yields no error."""

# The patterns contain typographic apostrophes and hyphens on purpose.
# ruff: noqa: RUF001

import re
from dataclasses import dataclass

from drag_graph.distill.patterns.words import ABBREVIATIONS, FUNCTION_WORDS, MONTHS

MAX_CHARACTERS = 100_000
"""Number of characters of a passage that are read."""
MAX_TOKENS = 80
"""Maximum number of tokens of a sentence; longer ones are read in pieces."""
MAX_QUOTED = 80

# No nested repetition: each alternative consumes at least one character and cannot give it back
# in more than one way, so that scanning is linear.
_QUOTES = '"“”„«»`'
_TOKEN = re.compile(
    rf"(?P<date>\b(?:{'|'.join(sorted(month.title() for month in MONTHS))}) \d\w*, \d+\b)"
    rf"|[{_QUOTES}](?P<quotation>[^\W_][^{_QUOTES}.!?\n]{{0,{MAX_QUOTED}}})[{_QUOTES}]"
    r"|\d+(?:[.,:]\d+)*(?:%|°[CF]?|st|nd|rd|th)?(?:-[^\W\d_]+)*"
    r"|[^\W\d_]\.(?:[^\W\d_]\.)*[^\W\d_](?=\.)"
    r"|n't\b|['’]s\b"
    r"|[^\W_]+(?:['’\-‑](?!s\b)[^\W_]+)*"
    r"|\S"
)
_TAG = re.compile(r"<[^<>]{0,300}>")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufffd]+")
_BREAK = re.compile(r"\n\s{0,20}\n|\n\s{0,20}(?=[-*•\d])")


@dataclass(slots=True)
class Token:
    """One word, number or mark of a sentence; `tag` is filled by the tagger."""

    text: str
    low: str
    glued: bool = False
    tag: str = ""

    @property
    def capital(self) -> bool:
        """Whether it starts with an upper-case letter."""
        return self.text[:1].isupper()


def tokenise(text: str) -> list[Token]:
    """Return the tokens of a text, in order; marks are tokens of their own."""
    tokens: list[Token] = []
    end = -1
    for match in _TOKEN.finditer(text):
        word = (match["quotation"] or "").rstrip(" ,") or match.group()
        if word not in _QUOTES:
            mark = "#" if match["date"] else "n" if " " in word else ""
            word = " ".join(word.split())
            low = word.lower().replace("’", "'").replace("‑", "-")
            tokens.append(Token(word, low, glued=match.start() == end, tag=mark))
            end = match.end()
    return tokens


def _ends_sentence(tokens: list[Token], index: int) -> bool:
    token = tokens[index]
    if token.low not in {".", "!", "?"}:
        return False
    if index + 1 == len(tokens):
        return True
    following = tokens[index + 1]
    if following.glued and following.low != ")":
        return False
    before = tokens[index - 1] if index else None
    if before is not None and token.glued:
        initial = len(before.text) == 1 and before.text.isalpha() and before.text.isupper()
        numbered = before.low in {"no", "op"} and following.text[:1].isdigit()
        abbreviated = before.low in ABBREVIATIONS
        if numbered or ("." in before.text and not abbreviated) or (initial and before.low != "i"):
            return False
        if before.low in ABBREVIATIONS:
            # "in the U.S. The": a capital function word starts a sentence.
            starts = following.capital and following.low in FUNCTION_WORDS
            return before.low in {"u.s", "u.k", "inc", "jr"} and starts
    return not following.text[:1].islower()


def _pieces(tokens: list[Token]) -> list[list[Token]]:
    """Return a sentence in pieces of up to MAX_TOKENS, cut after a comma if possible."""
    pieces = []
    while len(tokens) > MAX_TOKENS:
        half = MAX_TOKENS // 2
        commas = [i for i in range(half, MAX_TOKENS) if tokens[i].low in {",", ";"}]
        cut = commas[-1] + 1 if commas else MAX_TOKENS
        pieces.append(tokens[:cut])
        tokens = tokens[cut:]
    if tokens:
        pieces.append(tokens)
    return pieces


def sentences(passage: str) -> list[list[Token]]:
    """Return the sentences of a passage as tokens, without their closing mark except "?".

    Args:
        passage: any text; only its first MAX_CHARACTERS characters are read. Mark-up tags and
            control characters are blanks.
    """
    text = _CONTROL.sub(" ", _TAG.sub(" ", passage[:MAX_CHARACTERS]))
    result: list[list[Token]] = []
    for block in _BREAK.split(text):
        current: list[Token] = []
        tokens = tokenise(block)
        for index, token in enumerate(tokens):
            if not _ends_sentence(tokens, index):
                current.append(token)
                continue
            if token.low == "?":
                current.append(token)
            elif token.glued and current and "." in current[-1].text:
                current[-1] = Token(current[-1].text + ".", current[-1].low, current[-1].glued)
            result.append(current)
            current = []
        result.append(current)
    return [piece for tokens in result for piece in _pieces(tokens)]


def join(tokens: list[Token]) -> str:
    """Return the tokens as text: one blank between words, none before a comma or a possessive."""
    words: list[str] = []
    previous = ""
    for token in tokens:
        bare = token.low in {",", ";", ":", ".", ")", "'s", "n't", "%"}
        joined = token.glued and (not token.text[:1].isalnum() or not previous[-1:].isalnum())
        after_bracket = previous in {"(", "["}
        if words and not (bare or joined or after_bracket):
            words.append(" ")
        words.append(token.text)
        previous = token.text
    return "".join(words)
