"""Layer 1 of the gate: a question is rewritten, once, where it enters a run.

From here on the whole system knows only the asked text: ids are hashes of it. A question that cannot be rewritten for certain
is withheld: nothing of it is kept, and nothing is asked.
"""

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from drag_graph.errors import QueryInvalid, Withheld
from drag_graph.inputs import InputLine, make_query
from drag_graph.model import Query
from drag_graph.ports.private_details import Finding, Kept, Rewritten, texts_by_field
from drag_graph.ports.question_gate import WITHHELD, Disguise
from drag_graph.privacy.disguise import Reidentification
from drag_graph.privacy.failsafe_rewriter import GuardedRewriter
from drag_graph.privacy.latin_text import is_latin
from drag_graph.privacy.model_rewriter import Reworder
from drag_graph.privacy.outgoing import Outgoing, words_of
from drag_graph.privacy.vault import Original, Vault

_NOT_LATIN = "the text is not in Latin letters: the detectors read English only; --privacy off sends it as it is"


@dataclass(frozen=True, slots=True)
class Admission:
    """A question on its way through the gate: what was found, and what may be asked, or why it is withheld."""

    given: Query
    asked: Query | None
    findings: tuple[Finding, ...] = ()
    kept: tuple[Kept, ...] = ()
    why: str = ""
    call: str = ""
    """What the vault keeps the call of a `Reworder` under."""


class PrivacyGate:
    """Lets questions in, and bytes out (`outgoing`). Thread-safe where its detectors are.

    The originals of what it generalises go into the `vault`.
    """

    def __init__(
        self,
        detectors: GuardedRewriter,
        level: str = "standard",
        vault: Vault | None = None,
        *,
        keeps: bool = True,
        reworder: Reworder | None = None,
    ) -> None:
        self._detectors = detectors
        self._reworder = reworder
        self._keeps = keeps and vault is not None
        self._level = level
        self._vault = vault
        self._seen = 0
        """The last entry of the vault that `let_out` looks for."""
        self.outgoing = Outgoing(detectors)

    @property
    def fingerprint(self) -> str:
        """The level, the detectors with their versions, and the model that words questions anew, if there is one."""
        return self._detectors.version + (f"; reworded by {self._reworder.version}" if self._reworder else "")

    def disguise(self, asked: Query, given: Query | None = None) -> Disguise | None:
        """Return what was generalised for this question, as it was given now or first; None where nothing was."""
        originals = self._vault.originals(asked.id) if self._vault is not None else []
        wanted = None if given is None else texts_by_field(given.text, given.options)
        found = [original for original in originals if original.findings and wanted in (None, original.texts)]
        if not found:
            return None
        return Reidentification(asked.id, found[0].question, found[0].options, found[0].findings, self.generalised)

    def facts(self, disguise: Disguise | None) -> dict[str, Any]:
        """Return what an audit says of the gate: the level, the detectors, and how much was generalised by which."""
        counts = Counter((item["type"], item["detector"]) for item in (disguise.generalised() if disguise else ()))
        rows = [{"type": type_, "detector": detector, "number": number} for (type_, detector), number in sorted(counts.items())]
        return {"filter": self._level, "detectors": self.fingerprint, "generalised": rows}

    def generalised_passage(self, text: str) -> str:
        """Return a text of a document as it may leave: persons go, what is about the world stays. Raises Withheld."""
        found = self._rewrite(text, ("-",)).question  # with options, as what has none is a person's own question
        self.let_out([found])
        return found

    def is_unfiltered(self, query: Query) -> bool:
        """Whether a stored question did not come through the gate and would be changed by it. Raises Withheld."""
        if self._vault is not None and any(original.findings for original in self._vault.originals(query.id)):
            return False
        return not is_latin(query.text) or bool(self._rewrite(query.text, query.options).findings)

    def generalised(self, text: str) -> str:
        """Return words of the user as they may leave, without keeping them. Raises Withheld."""
        found = self._rewrite(text, ()).question
        self.outgoing.check([found])
        return found

    def found_in(self, texts: Sequence[str], *, from_user: bool) -> list[list[Finding]]:
        """Return what is private in texts; in those that are not from the user, only what has a telling form."""
        return self._detectors.private(texts) if from_user else self._detectors.structured(texts)

    def types_in(self, texts: Sequence[str]) -> list[str]:
        """Return for each text of the user the type of something private in it, or ''. Raises Withheld."""
        return [found[0].type if found else "" for found in self.found_in(texts, from_user=True)]

    def mark(self, text: str) -> str:
        """Return what a text is known by again, without telling it."""
        return f"withheld {self._vault.mark(text)[:16]}" if self._vault is not None and text else text

    def close(self) -> None:
        """Release the vault."""
        if self._vault is not None:
            self._vault.close()

    def let_out(self, texts: Iterable[str]) -> None:
        """Look at texts that are about to leave, for all that is in the vault now, whoever put it there. Raises Withheld."""
        if self._vault is not None:
            for number, original in self._vault.after(self._seen):
                self.outgoing.watch(original.texts, original.findings, original.kept)
                self._seen = number
        self.outgoing.check(texts)

    def pass_through(self, query: Query) -> Admission:
        """Rewrite a question, and look at what came out as at what leaves."""
        try:
            found, call = self._reworded(query.text, self._rewrite(query.text, query.options))
        except Withheld as error:
            return Admission(query, None, why=str(error))
        told = Admission(query, None, found.findings, found.kept, call=call)
        try:
            asked = _asked(query, found)
            self._check(query, found)
        except Withheld as error:
            return replace(told, why=str(error))
        return replace(told, asked=asked)

    def _rewrite(self, question: str, options: Sequence[str]) -> Rewritten:
        """Return what may be asked. Raises Withheld, also where the detectors cannot read the question."""
        if not is_latin(question):
            raise Withheld(_NOT_LATIN)
        return self._detectors.rewrite(question, options)

    def _reworded(self, question: str, found: Rewritten) -> tuple[Rewritten, str]:
        """Return the rewriting in the words of a model where these may be used, and what its call is kept under."""
        if self._reworder is None:
            return found, ""
        call, mark, made = self._reworder.call(found.question), "", None
        if self._vault is not None and self._keeps:
            mark, made = self._vault.recorded(call)
        if made is None:
            made = self._reworder.ask(call, found.question)
            if made is not None and mark and self._vault is not None:
                self._vault.record(mark, made)
        better = self._reworder.used(question, found, made["reply"]) if made else None
        if better is None or self._detectors.rewrite(better.question, better.options).findings:
            return found, mark
        return better, mark

    def asked(self, query: Query) -> Query:
        """Return the question as it may be asked, and keep the original. Raises Withheld, and StoreUnfit for the vault."""
        before = self._vault.originals(query.id) if self._vault is not None else []
        if any(original.findings for original in before):  # it came out of the gate before
            for original in before:
                self.outgoing.watch(original.texts, original.findings, original.kept)
            admission = Admission(query, _asked(query, Rewritten(query.text, query.options, (), ())))
        else:
            admission = self.pass_through(query)
        if admission.asked is None:
            raise Withheld(admission.why)
        original = Original(
            question=query.text,
            options=query.options,
            findings=admission.findings,
            kept=admission.kept,
            own_id=query.input_id,
            metadata=json.dumps(query.metadata, ensure_ascii=False),
            call=admission.call,
        )
        if (
            self._vault is not None
            and self._keeps
            and (admission.findings or admission.kept or query.input_id or query.metadata or admission.call)
        ):
            self._vault.keep(admission.asked.id, query.namespace, original, self._level)
        return admission.asked

    def admit(self, lines: Iterable[InputLine]) -> Iterator[InputLine]:
        """Yield the lines with their questions as they may be asked; where one may not, with `withheld` and nothing of it."""
        for line in lines:
            yield line if line.query is None else self._admitted(line, line.query)

    def _admitted(self, line: InputLine, query: Query) -> InputLine:
        try:
            asked = self.asked(query) if not line.edition else self._asked_again(query)
        except Withheld as error:
            nothing = Query(id=uuid.uuid4().hex, namespace=query.namespace, text=WITHHELD, domain=query.domain)
            return replace(line, query=nothing, withheld=str(error), own_id=query.input_id)
        return replace(line, query=asked, own_id=query.input_id)

    def _asked_again(self, query: Query) -> Query:
        """Return a stored question. Raises Withheld where it did not come through the gate and would be changed by it."""
        asked = self.asked(query)
        if asked.id != query.id:
            raise Withheld("it is stored as it was given; erase it, and distill it anew")
        return asked

    def _check(self, query: Query, found: Rewritten) -> None:
        """Raise Withheld where the rewritten texts still hold what was found, or what is found in them now."""
        before, after = texts_by_field(query.text, query.options), found.texts.values()
        self.outgoing.watch(before, found.findings, found.kept)
        self.outgoing.check(after)
        stays = {words_of(before[item.field][item.start : item.end]) for item in found.kept}
        replaced = [words_of(item.replacement) for item in found.findings]
        whole = "\n".join(after)
        for item in self._detectors.private([whole])[0]:
            seen = words_of(whole[item.start : item.end])
            if seen not in stays and not any(_within(seen, words) for words in replaced):
                raise Withheld(f"the rewritten question still holds something of type {item.type}")


def _asked(query: Query, found: Rewritten) -> Query:
    """Return the query of the rewritten texts. What else the line says stays behind, a right answer in words, too."""
    try:
        options = list(found.options) or None
        asked = make_query(found.question, options, namespace=query.namespace, domain=query.domain)
    except QueryInvalid:
        raise Withheld("the rewritten question is none") from None
    gold = query.gold if isinstance(query.gold, int) else None
    return asked.model_copy(update={"gold": gold, "complexity": query.complexity})


def _within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    return any(whole[place : place + len(part)] == part for place in range(len(whole) - len(part) + 1))
