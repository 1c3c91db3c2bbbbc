"""Rewrite a question once, when it enters a run.

After that the rest of the system only knows the rewritten text: ids are hashes of it. A question that cannot be rewritten with
certainty is withheld: nothing of it is stored or sent.
"""

import json
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any

from drag_graph.errors import MissingExtra, QueryInvalid, Withheld
from drag_graph.inputs import InputLine, make_query
from drag_graph.model import Query
from drag_graph.ports.private_details import Finding, Kept, Rewritten, texts_by_field
from drag_graph.ports.question_gate import WITHHELD, Disguise
from drag_graph.ports.setting_types import Privacy
from drag_graph.privacy.disguise import Reidentification
from drag_graph.privacy.failsafe_rewriter import GuardedRewriter
from drag_graph.privacy.local_rewriter import local_rewriter
from drag_graph.privacy.model_rewriter import Reworder
from drag_graph.privacy.outgoing import Outgoing, words_of
from drag_graph.privacy.rewritten_text import is_latin
from drag_graph.privacy.vault import Original, Vault

_NOT_LATIN = "the text is not in Latin letters, and the detectors only read English; `privacy=off` sends it unchanged"


@dataclass(frozen=True, slots=True)
class Admission:
    """A question, its findings, and the query that may be sent; or `why` it is withheld."""

    asked: Query | None
    findings: tuple[Finding, ...] = ()
    kept: tuple[Kept, ...] = ()
    why: str = ""
    call: str = ""
    """Mark of the rewriter's call in the vault."""


@dataclass(eq=False)
class PrivacyGate:
    """Rewrites incoming questions and checks outgoing texts (`outgoing`). Thread-safe if its detectors are.

    Originals go into the `vault`; without `keeps` it is only read.
    """

    detectors: GuardedRewriter
    level: str = "standard"
    vault: Vault | None = None
    _: KW_ONLY
    keeps: bool = True
    reworder: Reworder | None = None

    def __post_init__(self) -> None:
        self.fingerprint = self.detectors.version + (f"; reworded by {self.reworder.version}" if self.reworder else "")
        """The level, the detectors with their versions, and the rewriter if there is one."""
        self.outgoing = Outgoing(self.detectors, self.vault)

    def close(self) -> None:
        """Close the vault."""
        if self.vault is not None:
            self.vault.close()

    # ---- questions

    def rewrite_query(self, query: Query) -> Query:
        """Return the query that may be sent, and store its original. Raises Withheld, and StoreUnfit for the vault."""
        earlier = self.vault.originals(query.id) if self.vault is not None else []
        if any(original.findings for original in earlier):  # this gate rewrote it before
            admission = Admission(_query_of(query, Rewritten(query.text, query.options, (), ())))
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
        has_more = admission.findings or admission.kept or query.input_id or query.metadata or admission.call
        if self.vault is not None and self.keeps and has_more:
            self.vault.keep(admission.asked.id, query.namespace, original, self.level)
        return admission.asked

    def pass_through(self, query: Query) -> Admission:
        """Rewrite a question, and check the result like any outgoing text. Stores nothing but the rewriter's call."""
        try:
            rewritten, call = self._reworded(query.text, self._rewrite(query.text, query.options))
        except Withheld as error:
            return Admission(None, why=str(error))
        admission = Admission(None, rewritten.findings, rewritten.kept, call=call)
        try:
            self._check(query, rewritten)
            return replace(admission, asked=_query_of(query, rewritten))
        except Withheld as error:
            return replace(admission, why=str(error))

    def admit(self, lines: Iterable[InputLine]) -> Iterator[InputLine]:
        """Yield the lines with rewritten questions. A blocked line has `withheld` and nothing of its text."""
        for line in lines:
            yield line if line.query is None else self._admitted(line, line.query)

    def _admitted(self, line: InputLine, query: Query) -> InputLine:
        try:
            rewritten = self._refreshed(query) if line.edition else self.rewrite_query(query)
        except Withheld as error:
            nothing = Query(id=uuid.uuid4().hex, namespace=query.namespace, text=WITHHELD, domain=query.domain)
            return replace(line, query=nothing, withheld=str(error), own_id=query.input_id)
        return replace(line, query=rewritten, own_id=query.input_id)

    def _refreshed(self, query: Query) -> Query:
        """Return a stored question. Raises Withheld if it has not passed the gate and would be changed by it."""
        rewritten = self.rewrite_query(query)
        if rewritten.id != query.id:
            raise Withheld("the question is stored unchanged, and the gate would change it; erase it and distill it again")
        return rewritten

    def is_unfiltered(self, query: Query) -> bool:
        """Whether a stored question has not passed the gate and would be changed by it. Raises Withheld."""
        if self.vault is not None and any(original.findings for original in self.vault.originals(query.id)):
            return False
        return not is_latin(query.text) or bool(self._rewrite(query.text, query.options).findings)

    # ---- other texts

    def generalised(self, text: str) -> str:
        """Return a text of the user as it may be sent; nothing is stored. Raises Withheld."""
        rewritten = self._rewrite(text, ()).question
        self.outgoing([rewritten])
        return rewritten

    def generalised_passage(self, text: str) -> str:
        """Return a passage of a document as it may be sent: persons are replaced, general knowledge stays. Raises Withheld."""
        rewritten = self._rewrite(text, ("-",)).question  # a question without options would count as a person's own
        self.outgoing([rewritten])
        return rewritten

    def found_in(self, texts: Sequence[str], *, from_user: bool) -> list[list[Finding]]:
        """Return the private details in texts; in texts not written by the user, only those with a telling format."""
        return self.detectors.private(texts) if from_user else self.detectors.structured(texts)

    def types_in(self, texts: Sequence[str]) -> list[str]:
        """Return for each text of the user the type of a private detail in it, or ''. Raises Withheld."""
        return [findings[0].type if findings else "" for findings in self.found_in(texts, from_user=True)]

    def mark(self, text: str) -> str:
        """Return a keyed hash by which a text is recognised without being revealed."""
        return f"withheld {self.vault.mark(text)[:16]}" if self.vault is not None and text else text

    # ---- reports

    def disguise(self, asked: Query, given: Query | None = None) -> Disguise | None:
        """Return original and replacements of a rewritten question, None if nothing was replaced.

        If several originals became this question, `given` chooses; without it, the first one counts.
        """
        originals = self.vault.originals(asked.id) if self.vault is not None else []
        texts = None if given is None else texts_by_field(given.text, given.options)
        for original in originals:
            if original.findings and texts in (None, original.texts):
                return Reidentification(asked.id, original.question, original.options, original.findings, self.generalised)
        return None

    def facts(self, disguise: Disguise | None) -> dict[str, Any]:
        """Return the gate's entry of an audit: level, detectors, and the number of replacements by type and detector."""
        counts = Counter((item["type"], item["detector"]) for item in (disguise.generalised() if disguise else ()))
        rows = [{"type": type_, "detector": detector, "number": number} for (type_, detector), number in sorted(counts.items())]
        return {"filter": self.level, "detectors": self.fingerprint, "generalised": rows}

    # ---- inside

    def _rewrite(self, question: str, options: Sequence[str]) -> Rewritten:
        if not is_latin(question):
            raise Withheld(_NOT_LATIN)
        return self.detectors.rewrite(question, options)

    def _reworded(self, question: str, rewritten: Rewritten) -> tuple[Rewritten, str]:
        """Return the rewriter's version if it passes all checks, else the detectors', and the mark of its call."""
        if self.reworder is None:
            return rewritten, ""
        call, mark, recorded = self.reworder.call(rewritten.question), "", None
        if self.vault is not None and self.keeps:
            mark, recorded = self.vault.recorded(call)
        if recorded is None:
            recorded = self.reworder.ask(call, rewritten.question)
            if recorded is not None and mark and self.vault is not None:
                self.vault.record(mark, recorded)
        better = self.reworder.checked(question, rewritten, recorded["reply"]) if recorded else None
        if better is None or self.detectors.rewrite(better.question, better.options).findings:
            return rewritten, mark
        return better, mark

    def _check(self, query: Query, rewritten: Rewritten) -> None:
        """Raise Withheld if the rewritten texts still contain a finding, or a new one."""
        before, after = texts_by_field(query.text, query.options), rewritten.texts.values()
        self.outgoing.watch(before, rewritten.findings, rewritten.kept)
        self.outgoing(after)
        kept_words = {words_of(before[item.field][item.start : item.end]) for item in rewritten.kept}
        replacements = [words_of(item.replacement) for item in rewritten.findings]
        text = "\n".join(after)
        for item in self.detectors.private([text])[0]:
            words = words_of(text[item.start : item.end])
            if words not in kept_words and not any(_contains(replacement, words) for replacement in replacements):
                raise Withheld(f"the rewritten question still contains a detail of type {item.type}")


def _query_of(query: Query, rewritten: Rewritten) -> Query:
    """Return the query of the rewritten texts, without the rest of its line; a gold answer stays only as an option's index."""
    try:
        options = list(rewritten.options) or None
        asked = make_query(rewritten.question, options, namespace=query.namespace, domain=query.domain)
    except QueryInvalid:
        raise Withheld("the rewritten question is unusable") from None
    gold = query.gold if isinstance(query.gold, int) else None
    return asked.model_copy(update={"gold": gold, "complexity": query.complexity})


def _contains(words: tuple[str, ...], part: tuple[str, ...]) -> bool:
    return any(words[place : place + len(part)] == part for place in range(len(words) - len(part) + 1))


def open_gate(
    level: Privacy, vault: Path | None = None, *, keep: bool = True, reworder: Reworder | None = None
) -> PrivacyGate | None:
    """Return the gate of a level, None for `off`. Close it after use.

    The gate stores originals in the vault at this path. Without `keep` it only reads the vault.

    Raises MissingExtra, ConfigurationError if a detector does not work, and StoreUnfit for the vault.
    """
    if level == "off":
        return None
    try:
        detectors = GuardedRewriter(local_rewriter(level))
        opened = Vault(vault) if vault is not None else None
    except MissingExtra as error:
        raise MissingExtra(
            f"The privacy gate (level {level!r}) cannot open. {error}",
            hint=f"{error.hint} To send questions unchanged, use `privacy=off`.",
        ) from error
    return PrivacyGate(detectors, level, opened, keeps=keep, reworder=reworder)


def preview_gate(level: Privacy, reworder: Reworder | None = None) -> PrivacyGate:
    """Return a gate that sends and stores nothing. Raises MissingExtra, and ConfigurationError if a detector does not work."""
    return PrivacyGate(GuardedRewriter(local_rewriter("strict" if level == "strict" else "standard")), level, reworder=reworder)
