"""The rewriter that works on this machine alone: Presidio's recognisers, a language model of spaCy and rules of our own."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any, Literal

from drag_graph.errors import MissingExtra
from drag_graph.models.spacy_model import DOWNLOAD, english_model
from drag_graph.ports.private_details import Finding, Rewriter, Rewritten, texts_by_field
from drag_graph.privacy.spans import Generalised

Level = Literal["standard", "strict"]
RULES = "5"
"""Changes whenever a rule or a list does: it is part of the settings hash of what was distilled."""
_UNUSED = ["tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer", "senter"]


def local_rewriter(level: Level) -> Rewriter:
    """Return the rewriter of a level. Raises MissingExtra where the extra `privacy`, or for `strict` a model, is not there."""
    for module in ("presidio_analyzer", "spacy", "threadpoolctl"):
        if find_spec(module) is None:
            raise MissingExtra(
                f"{module.replace('_', '-')} is not installed, so that no question can be rewritten",
                hint="Install it with: pip install 'drag-graph[privacy]'",
            )
    name = english_model()
    if name is None and level == "strict":
        raise MissingExtra(
            "no English model of spaCy is installed, and without one names of persons are missed",
            hint=f"Install one with: {DOWNLOAD}; or use --privacy standard.",
        )
    return _local(level, name, _loaded(name) if name else None)


def _loaded(name: str) -> Any:
    """Return a language model that multiplies by numpy, in one thread: with spaCy's own BLAS a question takes a seventh more."""
    from thinc.api import use_ops
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")  # for good, as the encoder does: its threads wait for each other by spinning
    with use_ops("numpy", use_blis=False):
        return import_module(name).load(exclude=_UNUSED)


def _local(level: Level, name: str | None, model: Any) -> Rewriter:
    from drag_graph.privacy.detect import Detectors

    made_of = [f"presidio-analyzer {metadata.version('presidio-analyzer')}", f"spacy {metadata.version('spacy')}"]
    made_of.append(f"{name} {model.meta['version']}" if name else "no model")
    return LocalRewriter(f"{level}; rules {RULES}; " + "; ".join(made_of), Detectors(model, strict=level == "strict"))


class LocalRewriter:
    """A Rewriter of detectors."""

    def __init__(self, version: str, detectors: Any) -> None:
        self.version = version
        self._detectors = detectors

    def rewrite(self, question: str, options: Sequence[str]) -> Rewritten:
        """Return the question and its options with each private span replaced. Options that differ stay different."""
        passage, found, seen = self._detectors.of_question(question, options, is_open=not options)
        made = Generalised(passage.text, found)
        texts = [made.text[made.place(low) : made.place(high)] for _, low, high in passage.fields]
        rewritten = Rewritten(texts[0], tuple(texts[1:]), passage.by_field(found), passage.by_field(seen))
        return _with_different_options(rewritten, options)

    def structured(self, text: str) -> list[Finding]:
        """Return the spans of a telling format or checksum alone."""
        return list(self._detectors.structured(text))

    def private(self, text: str) -> list[Finding]:
        """Return all private spans of a text that came from the user."""
        return list(self._detectors.of_question(text, (), is_open=False)[1])


def _with_different_options(rewritten: Rewritten, originals: Sequence[str]) -> Rewritten:
    """Return the rewriting with a number behind the last replacement of an option that has become equal to another one."""
    findings = list(rewritten.findings)
    changed = {item.field for item in findings}
    before, texts = texts_by_field("", originals), texts_by_field("", rewritten.options)
    meant = {text: before[field] for field, text in texts.items() if field not in changed}
    for field, text in texts.items():
        made, count = text, 1
        while meant.setdefault(made, before[field]) != before[field]:
            count += 1
            at = max(at for at, item in enumerate(rewritten.findings) if item.field == field)
            last = rewritten.findings[at]
            tail = before[field][last.end :]
            words = f"{last.replacement} ({count})"
            made = text[: len(text) - len(tail) - len(last.replacement)] + words + tail
            findings[at] = replace(last, replacement=words)
        texts[field] = made
    return replace(rewritten, options=tuple(texts.values())[1:], findings=tuple(findings))
