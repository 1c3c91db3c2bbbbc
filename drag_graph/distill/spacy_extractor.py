"""Extract triples with spaCy's parser, in addition to the rules: noun phrase, verb group, noun phrase.

Names get the type that spaCy assigns. Requires the extra `privacy`, which installs spaCy, and an English model.
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
    """Extracts triples with an English spaCy model. Thread-safe."""

    def __init__(self, model: Any, name: str) -> None:
        """`model` is a loaded spaCy pipeline, `name` its package and version."""
        self._model = model
        self.name = name

    def extract(self, text: str) -> list[ExtractedTriple]:
        """Return the triples of a passage, in its order."""
        parsed = self._model(text)
        phrases = {chunk.root.i: chunk for chunk in parsed.noun_chunks}
        types = {token.i: TYPES.get(name.label_, "") for name in parsed.ents for token in name}
        triples = []
        for verb, one, other in (claim for token in parsed if token.pos_ in {"VERB", "AUX"} for claim in _claims(token)):
            if one in phrases and other in phrases and "PRON" not in {parsed[one].pos_, parsed[other].pos_}:
                ends = _text(phrases[one]), verb, _text(phrases[other])
                triples.append(ExtractedTriple(*ends, CONFIDENCE, "parser", types.get(one, ""), types.get(other, "")))
        return triples


def _claims(verb: Any) -> Iterator[tuple[str, int, int]]:
    """Yield the claims of a verb: its verb group, and the positions of its subject and its object."""
    group = [token for token in verb.children if token.dep_ in _VERB_GROUP] + [verb]
    words = " ".join(token.text for token in sorted(group, key=lambda token: int(token.i)))
    subjects = [one for token in verb.children if token.dep_ in {"nsubj", "nsubjpass"} for one in (token, *token.conjuncts)]
    for token in verb.children:
        if token.dep_ in {"dobj", "attr", "dative"}:
            ends = [(words, token)]
        elif token.dep_ in {"prep", "agent"}:
            ends = [(f"{words} {token.text}", end) for end in token.children if end.dep_ == "pobj"]
        else:
            ends = []
        for predicate, end in ends:
            yield from ((predicate, one.i, other.i) for one in subjects for other in (end, *end.conjuncts))


def _text(phrase: Any) -> str:
    """Return a noun phrase without its article."""
    words = phrase[1:] if len(phrase) > 1 and phrase[0].pos_ == "DET" else phrase
    return str(words.text)
