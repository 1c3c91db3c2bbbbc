"""Is this word a verb here, and which form? Decided by what stands left and right."""

# A tagger is a list of cases: one return a case is the clearest way to write it.
# ruff: noqa: PLR0911

from drag_graph.distill.patterns.context import Context, adjective, plural
from drag_graph.distill.patterns.verbs import BASE, GERUND, PARTICIPLE, PAST, THIRD, Forms

DO_FORMS = frozenset({"do", "does", "did", "don't", "doesn't", "didn't"})


class VerbTagger(Context):
    """Chooses the tag of a word that can be a verb."""

    def verb_tag(self, index: int) -> str:
        verb = self.verbs[index]
        if verb is None:
            return "n"
        place, left_tag = self.left_of(index)
        low = self.tokens[place].low if place >= 0 else ""
        kinds = verb.inflections
        if left_tag in {"T", "M"} or (left_tag == "X" and low in DO_FORMS):
            return "B"
        if left_tag == "D":
            return "J" if PARTICIPLE in kinds and verb.pure else self._noun(index)
        if GERUND in kinds:
            return "G"
        if left_tag in {"R", "O"}:
            return "F" if kinds & {BASE, THIRD, PAST} else "E"
        if left_tag == "C":
            return self._after_conjunction(index, place, verb)
        return self._after_nominal(index, place, left_tag, verb)

    def _noun(self, index: int) -> str:
        return "J" if adjective(self.tokens[index].low) else "n"

    def _after_conjunction(self, index: int, place: int, verb: Forms) -> str:
        kinds = verb.inflections
        partner = self.tokens[place - 1].tag if place else ""
        following = self.next_token(index)
        if PARTICIPLE in kinds and (partner == "E" or (following is not None and following.low == "by")):
            return "E"
        if kinds & {BASE, THIRD, PAST} and (verb.pure or self._object_follows(index)):
            return "F"
        return "E" if PARTICIPLE in kinds else self._noun(index)

    def _object_follows(self, index: int) -> bool:
        following = self.next_token(index)
        return following is not None and following.tag in {"D", "O", "T", "A", "J", "#"}

    def _after_nominal(self, index: int, place: int, left: str, verb: Forms) -> str:
        kinds = verb.inflections
        if place < 0:
            return "E" if PARTICIPLE in kinds and BASE not in kinds else self._noun(index)
        previous = self.tokens[place]
        following = self.next_token(index)
        done = self.finite_behind(index) is not None
        if PAST in kinds or PARTICIPLE in kinds:
            if PAST not in kinds:
                return "E"
            if PARTICIPLE in kinds and (done or left == ","):
                return "F" if left == "," else "E"
            return "E" if PARTICIPLE in kinds and self.ahead[index + 1] else "F"
        if left == "," and not verb.pure:
            goes_on = following is not None and following.tag in {"P", "D", "A", "T", "J"}
            late = THIRD in kinds and goes_on and not done and not self.ahead[index + 1]
            return "F" if late else self._noun(index)
        if THIRD in kinds and verb.pure and not (done and plural(previous)):
            return "F"
        return self._present(index, place, verb) if not done or left == "," else self._noun(index)

    def _present(self, index: int, place: int, verb: Forms) -> str:
        """Tag a base or -s form after a nominal: a verb where number agrees and none is ahead."""
        previous, kinds = self.tokens[place], verb.inflections
        if self.ahead[index + 1] and not verb.pure:
            return self._noun(index)
        joined = any(token.tag == "C" for token in self.tokens[:place])
        agrees = plural(previous) or previous.tag == "O" or joined or (verb.pure and not self.ahead[index + 1])
        is_verb = (THIRD in kinds and not plural(previous)) or (BASE in kinds and agrees)
        return "F" if is_verb else self._noun(index)
