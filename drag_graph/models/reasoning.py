"""Remove the reasoning of a model from its reply."""

import re

_TAGS = "think|thinking|thought|reasoning|reflection"
_THOUGHTS = re.compile(rf"<({_TAGS})>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_END_OF_THOUGHTS = re.compile(rf"\A.*</(?:{_TAGS})>", re.DOTALL | re.IGNORECASE)
_CHANNEL = re.compile(r"\A.*<\|channel\|>final<\|message\|>", re.DOTALL)
_CONTROL = re.compile(r"<\|[^|>]*\|>")


def without_reasoning(text: str) -> str:
    """Return a reply without its reasoning. Unfinished reasoning is removed completely."""
    text = _CHANNEL.sub("", text)
    text = _THOUGHTS.sub(" ", text)
    # Some chat templates put the opening tag into the prompt, so the reply has only the closing one.
    return _CONTROL.sub(" ", _END_OF_THOUGHTS.sub("", text))
