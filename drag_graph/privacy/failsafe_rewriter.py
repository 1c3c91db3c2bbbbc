"""GuardedRewriter whose failure stops a call: what raises, hangs or returns nonsense counts as a finding.

No message says what a detector saw, and no error of one is passed on: its text could hold it.
"""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

from drag_graph.errors import ConfigurationError, Withheld
from drag_graph.ports.private_details import Finding, Kept, Rewriter, Rewritten, texts_by_field

DEADLINE = 30.0
"""Seconds that a detector may take for one text."""
LOADING = 300.0
"""Seconds for the first text, when models are loaded."""
PROBE = "My name is Jane Roe, and my e-mail address is jane.roe@example.org."
TOLD = "jane.roe@example.org"


class GuardedRewriter:
    """A rewriter that is held to a deadline and to the form of its answers. Thread-safe where the rewriter is.

    Raises ConfigurationError where the rewriter misses what it must find: a gate that sees nothing must not be opened.
    """

    def __init__(self, rewriter: Rewriter, *, deadline: float = DEADLINE) -> None:
        self._rewriter = rewriter
        self._deadline = LOADING
        self.version = rewriter.version
        self._probe()
        self._deadline = deadline

    def rewrite(self, question: str, options: Sequence[str]) -> Rewritten:
        """See `Rewriter.rewrite`. Raises Withheld."""
        found = self._answer(lambda: self._rewriter.rewrite(question, list(options)))
        if not isinstance(found, Rewritten) or not _fits(found, question, options):
            raise Withheld("a detector returned nonsense")
        return found

    def structured(self, texts: Sequence[str]) -> list[list[Finding]]:
        """See `Rewriter.structured`, of each text. Raises Withheld."""
        return self._findings(self._rewriter.structured, texts)

    def private(self, texts: Sequence[str]) -> list[list[Finding]]:
        """See `Rewriter.private`, of each text. Raises Withheld."""
        return self._findings(self._rewriter.private, texts)

    def _findings(self, detect: Callable[[str], list[Finding]], texts: Sequence[str]) -> list[list[Finding]]:
        found = self._answer(lambda: [detect(text) for text in texts])
        for text, items in zip(texts, found, strict=True):
            if not isinstance(items, list) or not all(_is_span(item, len(text)) for item in items):
                raise Withheld("a detector returned nonsense")
        return list(found)

    def _answer(self, ask: Callable[[], Any]) -> Any:
        """Return what a detector says, asked in a thread of its own: one that hangs must not hold up anything else."""
        future: Future[Any] = Future()

        def work() -> None:
            try:
                future.set_result(ask())
            except BaseException as error:  # noqa: BLE001 - told to the caller by its kind alone
                future.set_exception(error)

        threading.Thread(target=work, name="detector", daemon=True).start()
        try:
            failure = future.exception(self._deadline)
        except TimeoutError:
            raise Withheld("a detector did not answer in time") from None
        if failure is not None:
            raise Withheld(f"a detector failed ({type(failure).__name__})")
        return future.result()

    def _probe(self) -> None:
        try:
            seen = [self.rewrite(PROBE, ()).findings, *self.structured([PROBE]), *self.private([PROBE])]
        except Withheld as error:
            raise _unfit(str(error)) from None
        where = PROBE.index(TOLD)
        for found in seen:
            if not any(item.start <= where and item.end >= where + len(TOLD) for item in found):
                raise _unfit("a detector does not find an e-mail address")


def _unfit(why: str) -> ConfigurationError:
    hint = "Install the extra `privacy` anew, or send questions as they are with --privacy off."
    return ConfigurationError(f"the privacy gate does not work: {why}", hint=hint)


def _fits(found: Rewritten, question: str, options: Sequence[str]) -> bool:
    """Whether a rewriting is one of these texts: whole, changed only where something was found, and not empty."""
    texts, originals = found.texts, texts_by_field(question, options)
    if texts.keys() != originals.keys() or not all(isinstance(text, str) and text.strip() for text in texts.values()):
        return False
    spans: list[Finding | Kept] = [*found.findings, *found.kept]
    if not all(isinstance(item, Finding | Kept) and _is_span(item, len(originals.get(item.field, ""))) for item in spans):
        return False
    return {field for field in texts if texts[field] != originals[field]} <= {item.field for item in found.findings}


def _is_span(item: Any, length: int) -> bool:
    return isinstance(item, Finding | Kept) and 0 <= item.start < item.end <= length
