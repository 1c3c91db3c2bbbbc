"""A rewriter whose failure blocks the call: an exception, a timeout or an invalid result counts as a finding.

No message contains what a detector read, and no detector's error is passed on, because its text could contain it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from drag_graph.concurrency.threads import in_background
from drag_graph.errors import ConfigurationError, Withheld
from drag_graph.ports.private_details import Finding, Kept, Rewriter, Rewritten, texts_by_field

DEADLINE = 30.0
"""Seconds that a detector may take for one call."""
LOADING = 300.0
"""Seconds for the first call, which loads models."""
PROBE = "My name is Jane Roe, and my e-mail address is jane.roe@example.org."
PROBE_ADDRESS = "jane.roe@example.org"
_INVALID = "a detector returned an invalid result"


class GuardedRewriter:
    """Checks a rewriter's results and limits its time. Thread-safe if the rewriter is.

    Raises ConfigurationError if the rewriter misses an e-mail address in a probe. All methods raise Withheld.
    """

    def __init__(self, rewriter: Rewriter, *, deadline: float = DEADLINE) -> None:
        self._rewriter = rewriter
        self._deadline = LOADING
        self.version = rewriter.version
        self._probe()
        self._deadline = deadline

    def rewrite(self, question: str, options: Sequence[str]) -> Rewritten:
        """See `Rewriter.rewrite`."""
        rewritten = self._call(lambda: self._rewriter.rewrite(question, list(options)))
        if not isinstance(rewritten, Rewritten) or not _fits(rewritten, question, options):
            raise Withheld(_INVALID)
        return rewritten

    def structured(self, texts: Sequence[str]) -> list[list[Finding]]:
        """See `Rewriter.structured`, for each text."""
        return self._findings(self._rewriter.structured, texts)

    def private(self, texts: Sequence[str]) -> list[list[Finding]]:
        """See `Rewriter.private`, for each text."""
        return self._findings(self._rewriter.private, texts)

    def _findings(self, detect: Callable[[str], list[Finding]], texts: Sequence[str]) -> list[list[Finding]]:
        results = self._call(lambda: [detect(text) for text in texts])
        for text, items in zip(texts, results, strict=True):
            if not isinstance(items, list) or not all(_is_span(item, len(text)) for item in items):
                raise Withheld(_INVALID)
        return list(results)

    def _call(self, detect: Callable[[], Any]) -> Any:
        """Call a detector in a thread of its own, so that one that hangs blocks nothing else."""
        future = in_background(detect, "detector")
        try:
            failure = future.exception(self._deadline)
        except TimeoutError:
            raise Withheld("a detector did not answer in time") from None
        if failure is not None:
            raise Withheld(f"a detector failed ({type(failure).__name__})")
        return future.result()

    def _probe(self) -> None:
        try:
            results = [self.rewrite(PROBE, ()).findings, *self.structured([PROBE]), *self.private([PROBE])]
        except Withheld as error:
            raise _not_working(str(error)) from None
        start = PROBE.index(PROBE_ADDRESS)
        for findings in results:
            if not any(item.start <= start and item.end >= start + len(PROBE_ADDRESS) for item in findings):
                raise _not_working("A detector misses an e-mail address.")


def _not_working(why: str) -> ConfigurationError:
    hint = "Reinstall it with `pip install --force-reinstall 'drag-graph[privacy]'`, and remove packages that add detectors."
    return ConfigurationError(f"The privacy gate does not work. {why}", hint=hint)


def _fits(rewritten: Rewritten, question: str, options: Sequence[str]) -> bool:
    """Whether a result belongs to these texts: complete, not empty, and changed only where it has findings."""
    texts, originals = rewritten.texts, texts_by_field(question, options)
    if texts.keys() != originals.keys() or not all(isinstance(text, str) and text.strip() for text in texts.values()):
        return False
    spans = [*rewritten.findings, *rewritten.kept]
    if not all(isinstance(item, Finding | Kept) and _is_span(item, len(originals.get(item.field, ""))) for item in spans):
        return False
    return {field for field in texts if texts[field] != originals[field]} <= {item.field for item in rewritten.findings}


def _is_span(item: Any, length: int) -> bool:
    return isinstance(item, Finding | Kept) and 0 <= item.start < item.end <= length
