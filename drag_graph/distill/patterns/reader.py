"""Extract triples from sentences: the main clause first, then its dependents."""

from dataclasses import dataclass, field

from drag_graph.distill.patterns import words as w
from drag_graph.distill.patterns.asides import name_before, take_asides
from drag_graph.distill.patterns.clauses import (
    FREE,
    HANGING,
    antecedent_of,
    expletive,
    helpers,
    leading_phrase,
    lowered,
    main_clause,
    negative,
    of_copula,
    possessed,
    strip_discourse,
    together,
    unmarked,
    word,
)
from drag_graph.distill.patterns.phrases import (
    Segment,
    coordinated,
    copula,
    first_finite,
    group_end,
    main_verb,
    segments,
    singular,
    starts_clause,
    trim,
)
from drag_graph.distill.patterns.predicates import has_reduced, pieces
from drag_graph.distill.patterns.tagging import NOMINAL, tag
from drag_graph.distill.patterns.text import Token, join, sentences

MAX_DEPTH = 4
MAX_SHARED = 15
MAX_CONDITIONED = 7
MAX_CARRIED = 5
MAX_TRIPLES = 24
"""Maximum number of triples per sentence."""
CONFIDENCE: dict[str, float] = {
    "apposition": 0.73,
    "complement": 0.69,
    "condition": 0.76,
    "copula": 0.88,
    "copula_of": 0.93,
    "copula_phrase": 0.77,
    "have": 0.77,
    "intransitive": 0.77,
    "leading_phrase": 0.69,
    "participle": 0.77,
    "passive": 0.85,
    "possessive": 0.86,
    "pronoun": 0.67,
    "purpose": 0.72,
    "relative": 0.86,
    "used_for": 0.83,
    "verb": 0.76,
    "verb_object_preposition": 0.59,
    "verb_preposition": 0.88,
    # By choice, not measured: the triple is nearly always true, but its predicate says nothing.
    "parenthesis": 0.5,
}
"""The confidence of a rule's triples, in [0, 1].

Each figure is (right + 1) / (judged + 2) of a sample of the rule's triples that a reader judged on real sentences:
`python bench/extraction.py --data FOLDER --judgements` prints them, and docs/measurements/teachers.md says how the sample was
drawn and what it cannot show. Samples are small (3 to 33 triples a rule), so a figure may be off by 0.1 to 0.2.
"""


@dataclass(frozen=True, slots=True)
class ExtractedTriple:
    """One triple extracted by a rule.

    Attributes:
        subject: words of the sentence, leading articles off, pronouns resolved where simple.
        predicate: the verb group with its negation, modal verb, adverbs and preposition.
        object: words of the sentence, leading articles off.
        confidence: the confidence of the rule, in [0, 1] (`CONFIDENCE`).
        rule: the name of the rule that read it.
    """

    subject: str
    predicate: str
    object: str
    confidence: float
    rule: str


@dataclass
class SentenceReader:
    """Reads one sentence; `previous` is the subject of the sentence before, for pronouns."""

    previous: list[Token] | None = None
    subject: list[Token] | None = None
    triples: list[ExtractedTriple] = field(default_factory=list)
    keys: set[tuple[str, str, str]] = field(default_factory=set)

    def read(self, tokens: list[Token]) -> list[ExtractedTriple]:
        """Return the triples of one sentence; a question has none."""
        if not tokens or tokens[-1].low == "?":
            return []
        tokens, asides = take_asides(tokens)
        tag(tokens)
        self.clause(tokens)
        for place, inner in asides:
            self.emit(name_before(tokens, place), [word("noted", "n"), word("with", "n")], inner, "parenthesis")
        return self.triples

    def emit(self, subject: list[Token], predicate: list[Token], thing: list[Token], rule: str) -> None:
        """Keep a triple if its three parts have words, its ends differ, and it is new."""
        parts = [join(trim(subject)), join(unmarked(predicate)), join(lowered(trim(thing)))]
        folded = (parts[0].casefold(), parts[1].casefold(), parts[2].casefold())
        worded = all(any(letter.isalnum() for letter in part) for part in parts)
        if not worded or folded[0] == folded[2] or folded in self.keys or len(self.triples) >= MAX_TRIPLES:
            return
        if folded[2] in w.PRONOUNS or folded[0] in w.PRONOUNS | w.STANDALONE:
            rule = "pronoun"
        self.keys.add(folded)
        self.triples.append(ExtractedTriple(parts[0], parts[1], parts[2], CONFIDENCE[rule], rule))

    def clause(self, tokens: list[Token], subject: list[Token] | None = None, depth: int = 0, rule: str = "") -> None:  # noqa: C901  one branch a construction
        """Read one clause; `subject` stands in where it has none or only a pronoun."""
        tokens = strip_discourse(tokens)
        if not tokens or depth > MAX_DEPTH:
            return
        if subject is None and tokens[0].tag == "S":
            self._conditional(tokens, depth)
            return
        leading: list[Token] = []
        if subject is None:
            leading, tokens = leading_phrase(tokens)
        place = main_verb(tokens)
        if place < 0:
            self._verbless(tokens, depth)
            return
        end = group_end(tokens, place)
        group, rest = tokens[place:end], tokens[end:]
        own = tokens[:place]
        end_of_own = next((i for i in range(len(own), 0, -1) if own[i - 1].tag not in {"A", "N"}), 0)
        if end_of_own < len(own) and (not end_of_own or own[end_of_own - 1].tag not in {"E", "F", "B"}):
            group, own = own[end_of_own:] + group, own[:end_of_own]
        if not own and group[0].low == "there":
            return
        if [token.low for token in own] == ["it"] and expletive(group, rest):
            return
        subjects = self._subjects(own, subject, depth, one=singular(tokens[place]))
        if not subjects:
            return
        if len(rest) > MAX_SHARED:
            subjects = [together(subjects)]
        if self.subject is None:
            self.subject = subjects[0] if len(subjects) == 1 else trim(own)
        if leading:
            self._leading_phrase(leading, subjects, group, rest)
        self.predicate(subjects, group, rest, depth, rule)

    def predicate(self, subjects: list[list[Token]], group: list[Token], rest: list[Token], depth: int, rule: str = "") -> None:
        """Read the statements of a verb group about the subjects."""
        parts = segments(rest)
        if copula(group) and any(negative(subject, group) for subject in subjects):
            own = [part for part in parts if part.kind not in FREE]
            if any(part.kind in HANGING for part in own) or has_reduced(own):
                # "not a place that has water" must not become "has water".
                words = [token for part in own for token in part.marker + part.body]
                for subject in subjects:
                    self.emit(subject, group, words, rule or "copula")
                parts = [part for part in parts if part.kind in FREE]
        condition = next((i for i, part in enumerate(parts) if part.kind == "condition"), -1)
        simple = [part for part in parts if part.kind not in HANGING]
        for subject in subjects:
            owner, extra = possessed(subject) if copula(group) else (subject, [])
            if condition >= 0 and parts[condition].marker[0].low not in w.ASSERTING:
                head = [t for part in parts[:condition] for t in part.marker + part.body]
                self._condition(owner, extra + group, head, parts[condition])
                continue
            for piece in pieces(group, simple):
                # The outermost construction names the rule.
                self.emit(owner, extra + piece.predicate, piece.thing, "possessive" if extra else rule or piece.rule)
        for index, part in enumerate(parts):
            if part.kind in HANGING:
                self._hanging(part, parts[:index], subjects, group, depth)

    def _condition(self, subject: list[Token], group: list[Token], head: list[Token], part: Segment) -> None:
        """Keep a conditional statement in one triple: the condition is never dropped."""
        if len(group) + len(head) <= MAX_CONDITIONED:
            self.emit(subject, group + head + part.marker, part.body, "condition")
        else:
            cut = 1 if head[0].tag in {"P", "T"} else 0
            self.emit(subject, group + head[:cut], head[cut:] + part.marker + part.body, "condition")

    def _hanging(  # noqa: C901  one branch a construction
        self, part: Segment, earlier: list[Segment], subjects: list[list[Token]], group: list[Token], depth: int
    ) -> None:
        before = earlier[-1] if earlier else None
        subject = together(subjects)
        said_of_subject = copula(group) and (before is None or before.kind == "object")
        antecedent = subject if said_of_subject or before is None or not before.body else antecedent_of(before.body)
        if said_of_subject and before is not None and part.kind == "apposition":
            name = antecedent_of(before.body)
            antecedent = name if len(name) < len(trim(before.body)) and name[0].capital else subject
        body = part.body
        if part.kind in {"verb", "clause"}:
            for one in subjects if part.kind == "verb" else [None]:
                self.clause(body, one, depth + 1)
        elif part.kind == "bare":
            shared = helpers(group, body[0].tag)
            end = group_end(shared + body, len(shared)) - len(shared)
            self.predicate(subjects, shared + body[:end], body[end:], depth + 1)
        elif part.kind == "relative":
            self._relative(body, antecedent, depth)
        elif part.kind == "participle":
            end = group_end(body, 0)
            self.predicate([subject], body[:end], body[end:], depth + 1, "participle")
        elif part.kind == "apposition":
            self.predicate([antecedent], [word("is", "X")], body, depth + 1, "apposition")
        elif part.kind == "complement":
            self.emit(subject, group + part.marker, body, "complement")
        elif part.marker and part.marker[0].low in w.ASSERTING:
            head = [t for one in earlier if one.kind not in HANGING for t in one.marker + one.body]
            if part.marker[0].low == "because" or main_verb(body) < 0:
                self.emit(subject, group + head + part.marker, body, "condition")
            else:
                self.clause(body, None, depth + 1)

    def _relative(self, body: list[Token], antecedent: list[Token], depth: int) -> None:
        """Read a relative clause; the antecedent replaces its pronoun."""
        preposition = [body[0]] if body[0].tag == "P" else []
        pronoun, inner = body[len(preposition)], body[len(preposition) + 1 :]
        if not inner:
            return
        if pronoun.low == "whose":
            self.clause([*antecedent, word("'s", "n"), *inner], None, depth + 1, "relative")
        elif pronoun.low == "where" and inner[0].low == "the" and of_copula(inner):
            # "in Peru, where the capital is Lima": the capital of Peru.
            self.clause([*antecedent, word("'s", "n"), *inner[1:]], None, depth + 1, "relative")
        elif pronoun.low == "where" or preposition:
            link = preposition or [word("in", "P")]
            self.clause([*inner, *link, *antecedent], None, depth + 1, "relative")
        elif starts_clause(inner):
            self.clause([*inner, *antecedent], None, depth + 1, "relative")
        else:
            self.clause(inner, antecedent, depth + 1, "relative")

    def _subjects(self, own: list[Token], default: list[Token] | None, depth: int, *, one: bool) -> list[list[Token]]:
        """Return the subject phrases of a clause, and read the insertions between commas."""
        if not own:
            return [default] if default else []
        if len(own) == 1 and own[0].low in w.RESOLVABLE:
            referent = default or self.subject or self.previous
            # A subject with a relative clause may be what this very clause is part of.
            clear = referent is not None and all(token.tag != "R" for token in referent)
            return [referent] if referent and (clear or referent is default) else [own]
        if own[0].low in w.POSSESSIVES and len(own) > 1 and (self.subject or self.previous):
            owner = self.subject or self.previous or []
            own = [*owner, word("'s", "n"), *own[1:]]
        commas = [i for i, token in enumerate(own) if token.tag == ","]
        joined = any(token.tag == "C" for token in own)
        members = coordinated(own) if joined and not one else [own]
        if not commas or len(members) > 1:
            return members
        head, inner = own[: commas[0]], own[commas[0] + 1 :]
        first = next((token for token in inner if token.tag != "A"), None)
        if first is None or not inner[1:]:
            return [head]
        if first.tag == "R" or (first.tag == "P" and inner[1].tag == "R"):
            self._relative(inner, head, depth)
        elif first.tag in {"P", "T"}:
            self.emit(head, [first], inner[1:], "apposition")
        elif first.tag != "D" and (joined or all(token.capital or token.tag == "," for token in inner)):
            return [own]
        else:
            self.predicate([head], [word("is", "X")], inner, depth + 1, "apposition")
        return [head]

    def _conditional(self, tokens: list[Token], depth: int) -> None:
        """Read a sentence that begins with "if", "when" or "because": its second clause with the condition."""
        marker = tokens[:1]
        cut = main_clause(tokens)
        if cut < 0:
            self._verbless(tokens[1:], depth)
            return
        condition = trim(tokens[1:cut])
        place = first_finite(condition)
        if place > 0 and self.subject is None:  # "If an animal is a mammal, it has fur": what "it" is
            self.subject = trim(condition[:place])
        main = strip_discourse(tokens[cut:])
        self.clause([*main, *marker, *condition], None, depth + 1)

    def _leading_phrase(self, leading: list[Token], subjects: list[list[Token]], group: list[Token], rest: list[Token]) -> None:
        """Hang the phrase in front on the subject and verb: "In spring, birds build nests"."""
        if leading[0].tag in {"E", "G"}:
            end = group_end(leading, 0)
            self.predicate(subjects[:1], leading[:end], leading[end:], 1, "participle")
            return
        parts = segments(rest)
        first = next((part for part in parts if part.kind == "object"), None)
        carried = first.body if first and len(first.body) <= MAX_CARRIED else []
        size = 1
        while size < len(leading) - 1 and leading[size].tag in {"P", "B"}:
            size += 1
        for subject in subjects:
            self.emit(subject, group + carried + leading[:size], leading[size:], "leading_phrase")

    def _verbless(self, tokens: list[Token], depth: int) -> None:
        """Read a noun with a relative clause in a sentence without a main verb."""
        place = next((i for i, token in enumerate(tokens) if token.tag == "R" and i), -1)
        if place > 0 and any(token.tag in NOMINAL for token in tokens[:place]):
            self._relative(tokens[place:], trim(tokens[:place]), depth)


def extract(passage: str) -> list[ExtractedTriple]:
    """Read the triples of a sentence or a passage in plain English, in its order.

    The same text always gives the same triples. Nothing is raised whatever the text is; a text
    without a statement (empty, a list, a question, noise) gives an empty list. Time grows
    linearly with the text, of which the first text.MAX_CHARACTERS characters are read.
    """
    triples: list[ExtractedTriple] = []
    previous: list[Token] | None = None
    for tokens in sentences(passage):
        reader = SentenceReader(previous)
        triples += reader.read(tokens)
        if reader.subject and not all(token.tag == "O" for token in reader.subject):
            previous = reader.subject
    return triples
