"""Rewrite questions on this machine: Presidio's recognisers, an English spaCy model, rules, and detectors of other packages."""

from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any, Literal

from drag_graph import log
from drag_graph.errors import MissingExtra
from drag_graph.models.spacy_model import DOWNLOAD, english_model
from drag_graph.ports.plugins import all_plugins
from drag_graph.ports.private_details import Rewriter

Level = Literal["standard", "strict"]
RULES = "9"
"""Version of rules and lists, part of the settings hash of what is distilled. Increase it with every change."""
_UNUSED = ["tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer", "senter"]
_PACKAGES = ("presidio_analyzer", "phonenumbers", "spacy", "threadpoolctl")


def local_rewriter(level: Level) -> Rewriter:
    """Return the rewriter of a level.

    Raises MissingExtra if the extra `privacy` or an English spaCy model is not installed, and ConfigurationError if a detector
    of another package cannot be imported.
    """
    name = _name_model()
    plugins = all_plugins("detectors")
    from drag_graph.privacy.detect import LocalRewriter

    with log.slow("loading the privacy gate"):
        model = _loaded(name)
    versions = [f"{package} {metadata.version(package)}" for package in ("presidio-analyzer", "spacy")]
    version = "; ".join([level, f"rules {RULES}", *versions, f"{name} {model.meta['version']}", *plugins])
    return LocalRewriter(version, model, strict=level == "strict", plugins=plugins)


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
            raise MissingExtra(f"The package {module.replace('_', '-')} is not installed.", extra="privacy")
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
