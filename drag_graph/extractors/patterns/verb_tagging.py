"""Is this word a verb here, and which form? Decided by what stands left and right."""

# A tagger is a list of cases: one return a case is the clearest way to write it.
# ruff: noqa: C901, PLR0911, PLR0912

from drag_graph.extractors.patterns import words as w
from drag_graph.extractors.patterns.context import Context, adjective, plural
from drag_graph.extractors.patterns.text import Token
from drag_graph.extractors.patterns.verbs import BASE, GERUND, PARTICIPLE, PAST, THIRD, Forms, forms

# "to" after these is a preposition, so that what follows is no infinitive.
# Verbs that are nouns too, but seldom after a plural: "polar bears live in".
_LIKELY = frozenset({"live", "move", "need", "use", "fly", "swim", "hunt", "feed", "form", "help", "grow", "run"})
DO_FORMS = frozenset({"do", "does", "did", "don't", "doesn't", "didn't"})
TO_NOUN = w.lexicon("to_noun")
_ONE = frozenset({"this", "that", "each", "either", "neither"})
_SOME = frozenset({"these", "those", "some", "many", "most", "few", "several", "all", "both"})


class VerbTagger(Context):
    """Chooses the tag of a word that can be a verb."""

    def verb_tag(self, index: int) -> str:
        verb = self.verbs[index]
        if verb is None:
            return "n"
        place, left = self.left_of(index)
        token = self.tokens[index]
        low = self.tokens[place].low if place >= 0 else ""
        kinds = verb.inflections
        if left in {"T", "M"} or (left == "X" and low in DO_FORMS):
            return self._after_to(index, place, left, verb)
        if left in {"X", "Z"}:
            if low in w.HAVE:
                return "E" if PARTICIPLE in kinds and (verb.pure or low != "have") else self._noun(token)
            if PARTICIPLE in kinds:
                return "E"
            return "G" if GERUND in kinds else self._noun(token)
        if left == "D":
            return self._after_determiner(index, place, verb)
        if left == "P":
            if GERUND in kinds:
                return "G"
            return "J" if PARTICIPLE in kinds else self._noun(token)
        if left in {"J", "#"} and not (verb.pure and THIRD in kinds):
            following = self.next_token(index)
            # "Light travels fast": an adjective alone before a verb is the subject.
            alone = place == 0 and following is not None and following.tag in {"D", "P", "A", "J"}
            only = not self.ahead[index + 1] and self.finite_behind(index) is None
            alone = alone or (only and place > 0 and self.tokens[place - 1].low == "of")
            if left == "#" or (kinds & {BASE, THIRD} and not (alone and THIRD in kinds)):
                return self._noun(token)
        if GERUND in kinds:
            return "G"
        if left == "R" and PARTICIPLE in kinds and place > 0 and self.tokens[place - 1].tag == "P":
            return "J"
        if left == "R" and THIRD in kinds and not verb.pure and self._base_next(index):
            return "n"
        if left in {"R", "O"}:
            return "F" if kinds & {BASE, THIRD, PAST} else "E"
        if left == "C":
            return self._after_conjunction(index, place, verb)
        if left == "S":
            return "E" if PARTICIPLE in kinds else self._noun(token)
        return self._after_nominal(index, place, left, verb)

    def _noun(self, token: Token) -> str:
        return "J" if adjective(token.low) else "n"

    def _after_to(self, index: int, place: int, left: str, verb: Forms) -> str:
        if BASE not in verb.inflections:
            if left == "M" and PARTICIPLE in verb.inflections:
                return "E"
            return "G" if GERUND in verb.inflections else "J" if not verb.pure else "n"
        before = self.tokens[place - 1].low if place > 0 else ""
        if left == "T" and not verb.pure and before in TO_NOUN:
            return "n"
        following = self.next_token(index)
        if left == "T" and following is not None and following.tag in {"X", "M"} and not verb.pure:
            return "n"
        described = place > 0 and self.tokens[place - 1].tag == "J"
        ends = following is None or following.tag in {"C", ",", "P"}
        if left == "T" and described and ends and not verb.pure:
            return "n"
        return "B"

    def _after_determiner(self, index: int, place: int, verb: Forms) -> str:
        token = self.tokens[index]
        following = self.next_token(index)
        determiner = self.tokens[place].low
        agrees = (determiner in _ONE and THIRD in verb.inflections) or (determiner in _SOME and BASE in verb.inflections)
        if agrees:
            starts = following is not None and following.tag in {"D", "O", "P", "T", "#"}
            if verb.pure or starts:
                self.tokens[place].tag = "O"
                return "F"
        if place < index - 1 and verb.inflections & {PARTICIPLE, GERUND}:
            return "J"
        return "J" if PARTICIPLE in verb.inflections and verb.pure else self._noun(token)

    def _after_conjunction(self, index: int, place: int, verb: Forms) -> str:
        token, kinds = self.tokens[index], verb.inflections
        behind = self.finite_behind(place)
        partner = self.tokens[place - 1].tag if place else ""
        following = self.next_token(index)
        if PARTICIPLE in kinds and (partner == "E" or (following is not None and following.low == "by")):
            return "E"
        if partner == "F" and place == index - 1 and kinds & {BASE, THIRD, PAST}:
            return "F"
        if partner == "J" and PARTICIPLE in kinds and not self.ahead[index + 1]:
            return "J"
        if behind is None:
            return self._after_nominal(index, place, "n", verb) if verb.pure else self._noun(token)
        if behind.tag == "B" and BASE in kinds and (verb.pure or self._object_follows(index)):
            return "B"
        if kinds & {THIRD, PAST} and (verb.pure or self._object_follows(index)):
            return "F"
        if BASE in kinds and (verb.pure or self._object_follows(index)):
            return "F"
        return "E" if PARTICIPLE in kinds else self._noun(token)

    def _object_follows(self, index: int) -> bool:
        following = self.next_token(index)
        return following is not None and following.tag in {"D", "O", "T", "A", "J", "#"}

    def _after_nominal(self, index: int, place: int, left: str, verb: Forms) -> str:
        token, kinds = self.tokens[index], verb.inflections
        if place < 0:
            if PARTICIPLE in kinds and BASE not in kinds:
                return "E"
            return self._noun(token)
        previous = self.tokens[place]
        following = self.next_token(index)
        if following is not None and following.tag in {"X", "M"} and kinds & {BASE, THIRD}:
            return self._noun(token)
        done = self.finite_behind(index) is not None
        if self.tokens[place].low in {"help", "helps", "helped", "helping"} and BASE in kinds:
            return "B"
        if PAST in kinds or PARTICIPLE in kinds:
            if PAST not in kinds and BASE in kinds and not done and not self.ahead[index + 1]:
                return "F"
            if PAST not in kinds:
                return "E"
            if done and self._second_clause(index):
                return "F"
            if PARTICIPLE in kinds and (done or left == ","):
                return "E" if left != "," or not self._past_list(index) else "F"
            takes_object = following is not None and following.tag in {"D", "O"}
            if BASE in kinds and not verb.pure and not (takes_object and not self.ahead[index + 1]):
                return self._present(index, place, verb)
            return "E" if PARTICIPLE in kinds and self.ahead[index + 1] else "F"
        if left == "," and not verb.pure:
            goes_on = following is not None and following.tag in {"P", "D", "A", "T", "J"}
            late = THIRD in kinds and goes_on and not done and not self.ahead[index + 1]
            return "F" if late else self._noun(token)
        if THIRD in kinds and not verb.pure and token.low != "helps" and self._verb_next(index):
            return "n"
        if THIRD in kinds and verb.pure and not (done and plural(previous)):
            return "F"
        return self._present(index, place, verb) if not done or left == "," else self._late(index, verb)

    def _base_next(self, index: int) -> bool:
        """Tell whether a base form comes next: "honey, which bears eat"."""
        verb = self.verbs[index + 1] if index + 1 < len(self.tokens) else None
        return verb is not None and BASE in verb.inflections and not self.tokens[index + 1].tag

    def _verb_next(self, index: int) -> bool:
        """Tell whether the next word is the verb and this its subject: "polar bears live in"."""
        if index + 2 >= len(self.tokens) or self.tokens[index + 1].tag:
            return False
        verb = self.verbs[index + 1]
        after = self.tokens[index + 2].tag
        likely = self.tokens[index + 1].low in _LIKELY or (verb is not None and verb.pure)
        return verb is not None and likely and BASE in verb.inflections and after in {"P", "D", "T", "A"}

    def _second_clause(self, index: int) -> bool:
        """Whether only a noun phrase stands between a conjunction and this past form."""
        following = self.next_token(index)
        if following is None or following.low == "by" or self.ahead[index + 1]:
            return False
        place = index - 1
        while place > 0 and self.tokens[place].tag in {"n", "D", "J", "#", "O", "A"}:
            place -= 1
        if place == index - 1 or self.tokens[place].tag != "C":
            return False
        return self.tokens[place - 1].tag == "," or following.tag in {"D", "O"}

    def _past_list(self, index: int) -> bool:
        """After a comma, a past form goes on a list of finite past verbs: "met X, married Y"."""
        following = self.next_token(index)
        behind = self.finite_behind(index)
        if behind is None:
            return not self.ahead[index + 1]
        kinds = forms(behind.low)
        started = kinds is not None and PAST in kinds.inflections
        return started and following is not None and following.tag in {"D", "O", "n"}

    def _late(self, index: int, verb: Forms) -> str:
        """Tag a possible second verb of the clause: only a pure form after a fitting subject is one."""
        previous = self.tokens[index - 1]
        token = self.tokens[index]
        if verb.pure and THIRD in verb.inflections and not plural(previous):
            return "F"
        if verb.pure and BASE in verb.inflections and plural(previous):
            return "F"
        return self._noun(token)

    def _present(self, index: int, place: int, verb: Forms) -> str:
        """Tag a base or -s form after a nominal: a verb where number agrees and none is ahead."""
        token, previous = self.tokens[index], self.tokens[place]
        kinds = verb.inflections
        if self.ahead[index + 1] and not verb.pure:
            return self._noun(token)
        if THIRD in kinds and not plural(previous):
            return "F"
        joined = any(t.tag == "C" for t in self.tokens[:place])
        if BASE in kinds and (plural(previous) or previous.tag == "O" or joined):
            return "F"
        if BASE in kinds and verb.pure and not self.ahead[index + 1]:
            return "F"
        return self._noun(token)
