"""A rewriter that knows the details it is told and e-mail addresses: for tests of what the gate does with what is found."""

import re
from collections.abc import Mapping, Sequence

from drag_graph.ports.private_details import Finding, Rewritten, texts_by_field

EMAIL = re.compile(r"[\w.]+@[\w.]+\w")


class ToldRewriter:
    """`told` has by detail its type and what stands for it. A subclass can do anything worse."""

    version = "standard told-1"

    def __init__(self, told: Mapping[str, tuple[str, str]] | None = None) -> None:
        self.told = dict(told or {})

    def rewrite(self, question: str, options: Sequence[str]) -> Rewritten:
        """Put in what stands for each detail."""
        texts = texts_by_field(question, options)
        findings = [self._find(text, name) for name, text in texts.items()]
        after = [_replaced(text, items) for text, items in zip(texts.values(), findings, strict=True)]
        return Rewritten(after[0], tuple(after[1:]), tuple(item for items in findings for item in items), ())

    def structured(self, text: str) -> list[Finding]:
        """Find e-mail addresses."""
        return [Finding("", *match.span(), "EMAIL", "told", "an e-mail address") for match in EMAIL.finditer(text)]

    def private(self, text: str) -> list[Finding]:
        """Find all."""
        return self._find(text, "")

    def _find(self, text: str, field: str) -> list[Finding]:
        findings = [
            Finding(field, *match.span(), type_, "told", replacement)
            for detail, (type_, replacement) in self.told.items()
            for match in re.finditer(rf"\b{re.escape(detail)}\b", text)
        ]
        findings += [Finding(field, *match.span(), "EMAIL", "told", "an e-mail address") for match in EMAIL.finditer(text)]
        return sorted(findings, key=lambda item: item.start)


def _replaced(text: str, found: Sequence[Finding]) -> str:
    for item in reversed(found):
        text = text[: item.start] + item.replacement + text[item.end :]
    return text
