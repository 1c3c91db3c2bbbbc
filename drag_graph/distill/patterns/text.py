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
MAX_QUOTED = 12
THREE_WORDS = 3

# No nested repetition: each alternative consumes at least one character and cannot give it back
# in more than one way, so that scanning is linear.
_TOKEN = re.compile(
    r"\d+(?:[.,:]\d+)*(?:%|°[CF]?|st|nd|rd|th)?(?:-[^\W\d_]+)*"
    r"|[^\W\d_]\.(?:[^\W\d_]\.)*[^\W\d_](?=\.)"
    r"|n't\b|['’]s\b"
    r"|[^\W_]+(?:['’\-‑](?!s\b)[^\W_]+)*"
    r"|\S"
)
_TAG = re.compile(r"<[^<>]{0,300}>")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ufffd]+")
_BREAK = re.compile(r"\n\s{0,20}\n|\n\s{0,20}(?=[-*•\d])")
_OPENING_QUOTES = '"“”„«»`'


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
        word = match.group()
        low = word.lower().replace("’", "'").replace("‑", "-")
        tokens.append(Token(word, low, glued=match.start() == end))
        end = match.end()
    return tokens


def _ends_sentence(tokens: list[Token], index: int) -> bool:
    token = tokens[index]
    if token.low not in {".", "!", "?"}:
        return False
    if index + 1 == len(tokens):
        return True
    following = tokens[index + 1]
    if following.glued and following.low not in _OPENING_QUOTES + ")":
        return False
    before = tokens[index - 1] if index else None
    if before is not None and token.glued:
        initial = len(before.text) == 1 and before.text.isalpha() and before.text.isupper()
        numbered = before.low in {"no", "op"} and following.text[:1].isdigit()
        known = before.low in ABBREVIATIONS
        if numbered or ("." in before.text and not known) or (initial and before.low != "i"):
            return False
        if before.low in ABBREVIATIONS:
            # "in the U.S. The": a capital function word starts a sentence.
            starts = following.capital and following.low in FUNCTION_WORDS
            return before.low in {"u.s", "u.k", "inc", "jr"} and starts
    return not following.text[:1].islower()


def _merge_dates(tokens: list[Token]) -> list[Token]:
    """Make one token of "May 5, 1950", so that its comma splits nothing."""
    merged: list[Token] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        window = tokens[index + 1 : index + 4]
        if (
            token.low in MONTHS
            and token.capital
            and len(window) == THREE_WORDS
            and window[0].text[:1].isdigit()
            and window[1].low == ","
            and window[2].text.isdigit()
        ):
            words = f"{token.text} {window[0].text}, {window[2].text}"
            merged.append(Token(words, words.lower(), tag="#"))
            index += 4
            continue
        merged.append(token)
        index += 1
    return merged


def _merge_quotes(tokens: list[Token]) -> list[Token]:
    """Make one nominal token of a short quotation; drop lone quotation marks."""
    merged: list[Token] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.low not in _OPENING_QUOTES:
            merged.append(token)
            index += 1
            continue
        limit = min(len(tokens), index + MAX_QUOTED + 2)
        close = next((i for i in range(index + 1, limit) if tokens[i].low in _OPENING_QUOTES), -1)
        inner = tokens[index + 1 : close]
        if close > index + 1 and len(inner) > 1:
            if inner[-1].low in {",", "."}:
                inner.pop()
            words = join(inner)
            merged.append(Token(words, words.lower(), tag="n"))
            index = close + 1
            continue
        index += 1
    return merged


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
    found: list[list[Token]] = []
    for block in _BREAK.split(text):
        current: list[Token] = []
        tokens = tokenise(block)
        for index, token in enumerate(tokens):
            if not _ends_sentence(tokens, index):
                if token.low == "." and token.glued and current:
                    # An abbreviation keeps its point: "J." is one token.
                    last = current[-1]
                    current[-1] = Token(last.text + ".", last.low + ".", last.glued)
                else:
                    current.append(token)
                continue
            if token.low == "?":
                current.append(token)
            elif token.glued and current and "." in current[-1].text:
                current[-1] = Token(current[-1].text + ".", current[-1].low, current[-1].glued)
            found.append(current)
            current = []
        found.append(current)
    prepared = (_merge_quotes(_merge_dates(tokens)) for tokens in found)
    return [piece for tokens in prepared for piece in _pieces(tokens)]


def join(tokens: list[Token]) -> str:
    """Return the tokens as text: one blank between words, none before a comma or a possessive."""
    words: list[str] = []
    previous = ""
    for token in tokens:
        bare = token.low in {",", ";", ":", ".", ")", "'s", "n't", "%"}
        joined = token.glued and (not token.text[:1].isalnum() or not previous[-1:].isalnum())
        opened = previous in {"(", "["}
        if words and not (bare or joined or opened):
            words.append(" ")
        words.append(token.text)
        previous = token.text
    return "".join(words)
