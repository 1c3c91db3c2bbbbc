"""Triples that spaCy's parser finds in a sentence, beside those of the rules: noun phrase, verb group, noun phrase.

Ends that are names have the type that spaCy gives them. Needs the extra `privacy`, which brings spaCy, and an English model.
"""

from collections.abc import Iterator
from typing import Any

from drag_graph.distill.patterns.reader import ExtractedTriple

CONFIDENCE = 0.47
"""(right + 1) / (judged + 2), as that of a rule (patterns/confidence.py): 14 of 30 were right (docs/documents.md)."""
TYPES = {
    "PERSON": "person", "NORP": "organization", "ORG": "organization", "FAC": "location", "GPE": "location", "LOC": "location",
    "EVENT": "event", "DATE": "time", "TIME": "time", "PERCENT": "quantity", "MONEY": "quantity", "QUANTITY": "quantity",
    "PRODUCT": "object", "WORK_OF_ART": "object",
}  # fmt: skip
_VERB_GROUP = {"aux", "auxpass", "neg", "prt"}


class PhraseReader:
    """Reads triples by an English model of spaCy. Thread-safe, as spaCy is for reading."""

    def __init__(self, model: Any, name: str) -> None:
        """`model` is a loaded spaCy pipeline, `name` its package and version."""
        self._model = model
        self.name = name

    def extract(self, text: str) -> list[ExtractedTriple]:
        """Return the triples of a passage, in its order."""
        parsed = self._model(text)
        phrases = {chunk.root.i: chunk for chunk in parsed.noun_chunks}
        types = {token.i: TYPES.get(name.label_, "") for name in parsed.ents for token in name}
        found = []
        for said, one, other in (claim for token in parsed if token.pos_ in {"VERB", "AUX"} for claim in _claims(token)):
            if one in phrases and other in phrases and "PRON" not in {parsed[one].pos_, parsed[other].pos_}:
                ends = _text(phrases[one]), said, _text(phrases[other])
                found.append(ExtractedTriple(*ends, CONFIDENCE, "parser", types.get(one, ""), types.get(other, "")))
        return found


def _claims(verb: Any) -> Iterator[tuple[str, int, int]]:
    """Yield what a verb says: itself with what belongs to it, and the places of its subject and of what it is said of."""
    group = [token for token in verb.children if token.dep_ in _VERB_GROUP] + [verb]
    said = " ".join(token.text for token in sorted(group, key=lambda token: int(token.i)))
    subjects = [one for token in verb.children if token.dep_ in {"nsubj", "nsubjpass"} for one in (token, *token.conjuncts)]
    for token in verb.children:
        if token.dep_ in {"dobj", "attr", "dative"}:
            ends = [(said, token)]
        elif token.dep_ in {"prep", "agent"}:
            ends = [(f"{said} {token.text}", end) for end in token.children if end.dep_ == "pobj"]
        else:
            ends = []
        for words, end in ends:
            yield from ((words, one.i, other.i) for one in subjects for other in (end, *end.conjuncts))


def _text(phrase: Any) -> str:
    """Return a noun phrase without its article."""
    words = phrase[1:] if len(phrase) > 1 and phrase[0].pos_ == "DET" else phrase
    return str(words.text)
