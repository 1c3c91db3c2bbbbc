"""Rewrite questions on this machine: Presidio's recognisers, an English spaCy model and drag-graph's own rules."""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any, Literal

from drag_graph.errors import MissingExtra
from drag_graph.models.spacy_model import DOWNLOAD, english_model
from drag_graph.ports.private_details import Finding, Rewritten, texts_by_field
from drag_graph.privacy.spans import Generalised

Level = Literal["standard", "strict"]
RULES = "6"
"""Version of rules and lists, part of the settings hash of what is distilled. Increase it with every change."""
_UNUSED = ["tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer", "senter"]
_PACKAGES = ("presidio_analyzer", "phonenumbers", "spacy", "threadpoolctl")


def local_rewriter(level: Level) -> "LocalRewriter":
    """Return the rewriter of a level.

    Raises MissingExtra if the extra `privacy` or an English spaCy model is not installed.
    """
    name = _name_model()
    from drag_graph.privacy.detect import Detectors

    model = _loaded(name)
    versions = [f"{package} {metadata.version(package)}" for package in ("presidio-analyzer", "spacy")]
    version = "; ".join([level, f"rules {RULES}", *versions, f"{name} {model.meta['version']}"])
    return LocalRewriter(version, Detectors(model, strict=level == "strict"))


def guard() -> str:
    """Return the model that finds names for the gate, with its version, or why there is none. Loads nothing."""
    try:
        name = _name_model()
    except MissingExtra as error:
        return f"none: {error}"
    return f"{name} {metadata.version(name)}"


def _name_model() -> str:
    for module in _PACKAGES:
        if find_spec(module) is None:
            raise MissingExtra(
                f"The package {module.replace('_', '-')} is not installed.",
                hint="Install it with: pip install 'drag-graph[privacy]'.",
            )
    name = english_model()
    if name is None:
        raise MissingExtra(
            "No English spaCy model is installed, so names of persons would be missed.", hint=f"Install one with: {DOWNLOAD}."
        )
    return name


def _loaded(name: str) -> Any:
    """Load a spaCy model that multiplies with numpy in one thread; with spaCy's own BLAS a question takes 15 % longer."""
    from thinc.api import use_ops
    from threadpoolctl import threadpool_limits

    threadpool_limits(1, user_api="blas")  # for the whole process: more threads only spin while they wait for each other
    with use_ops("numpy", use_blis=False):
        return import_module(name).load(exclude=_UNUSED)


class LocalRewriter:
    """A `Rewriter` that uses `Detectors`."""

    def __init__(self, version: str, detectors: Any) -> None:
        self.version = version
        self._detectors = detectors

    def rewrite(self, question: str, options: Sequence[str]) -> Rewritten:
        passage, findings, kept = self._detectors.of_question(question, options, is_open=not options)
        generalised = Generalised(passage.text, findings)
        texts = [generalised.text[generalised.place(low) : generalised.place(high)] for _, low, high in passage.fields]
        rewritten = Rewritten(texts[0], tuple(texts[1:]), passage.by_field(findings), passage.by_field(kept))
        return _with_different_options(rewritten, options)

    def structured(self, text: str) -> list[Finding]:
        return list(self._detectors.structured(text))

    def private(self, text: str) -> list[Finding]:
        return list(self._detectors.of_question(text, (), is_open=False)[1])


def _with_different_options(rewritten: Rewritten, originals: Sequence[str]) -> Rewritten:
    """Add a number to the last replacement of each option that has become equal to another one."""
    findings = list(rewritten.findings)
    changed_fields = {item.field for item in findings}
    before, texts = texts_by_field("", originals), texts_by_field("", rewritten.options)
    original_of = {text: before[field] for field, text in texts.items() if field not in changed_fields}
    for field, text in texts.items():
        unique, count = text, 1
        while original_of.setdefault(unique, before[field]) != before[field]:
            count += 1
            at = max(at for at, item in enumerate(rewritten.findings) if item.field == field)
            last = rewritten.findings[at]
            tail = before[field][last.end :]
            numbered = f"{last.replacement} ({count})"
            unique = text[: len(text) - len(tail) - len(last.replacement)] + numbered + tail
            findings[at] = replace(last, replacement=numbered)
        texts[field] = unique
    return replace(rewritten, options=tuple(texts.values())[1:], findings=tuple(findings))
