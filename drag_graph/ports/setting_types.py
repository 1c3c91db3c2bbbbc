"""The types of settings: checked values, and the model of a role."""

import os
import re
import unicodedata
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from drag_graph.ports.plugins import Group, find_plugin

PREFIX = "DRAG_GRAPH_"
"""Prefix of the variables that are settings."""
BY_RULES = frozenset({"patterns", "rules"})
"""Extractors and summarisers that use no model."""
ANSWER_TOKENS = 256
"""Default of `max_answer_tokens`."""
TEACHER_TOKENS = 4096
"""Default of `teacher_max_tokens`."""
RETRIES = 5
"""Default of `retries`."""

Privacy = Literal["strict", "standard", "off"]
PositiveInt = Annotated[int, Field(ge=1)]
NonNegativeInt = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Temperature = Annotated[float, Field(ge=0, le=2)]


def _known(group: Group, own: tuple[str, ...], value: str) -> str:
    if value not in own and find_plugin(group, value) is None:
        raise ValueError(f"must be {', '.join(own)}, or an entry point of drag_graph.{group}")
    return value


LineFormat = Annotated[str, AfterValidator(partial(_known, "line_formats", ("sentence", "arrow", "json")))]
Ranking = Annotated[str, AfterValidator(partial(_known, "rankings", ("weighted", "rank-sum")))]


def _address(value: str) -> str:
    parts = urlsplit(value)
    if value and (parts.scheme not in {"http", "https"} or not parts.hostname):
        raise ValueError("must be an address such as http://HOST:PORT")
    return value


def _without_controls(value: str) -> str:
    if any(unicodedata.category(character) == "Cc" for character in value):
        raise ValueError("must have no control characters")
    return value


def _place(value: str) -> str:
    try:
        os.path.realpath(Path(re.sub("^(curated|gguf|tape|transformers):", "", value)).expanduser())
    except (RuntimeError, ValueError) as error:  # the home of an unknown user, a null character
        raise ValueError(f"is not a path ({error})") from None
    return value


BaseUrl = Annotated[str, AfterValidator(_address)]
Place = Annotated[str, AfterValidator(_place)]


def _store_place(value: str) -> str:
    if "://" not in value and not Path(value).name:
        raise ValueError("must be the path of a file, or an address such as bolt://HOST:7687")
    return _place(value)


Namespace = Annotated[str, AfterValidator(_without_controls)]
StorePlace = Annotated[str, AfterValidator(_store_place)]
Role = Literal["teacher", "student", "summariser", "rewriter", "embedder", "extractor", "reranker", "checker"]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """The model of a role and how to reach it. `name` is empty if the role has no model, `timeout` is in seconds."""

    role: Role
    name: str
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    timeout: float = 120.0
    retries: int = RETRIES

    @property
    def key_variable(self) -> str:
        """The variable that sets the key."""
        return f"{PREFIX}{setting_prefix(self.role).upper()}_API_KEY"


def setting_prefix(role: Role) -> str:
    """Return the beginning of the names of a role's settings. The extractor of documents uses the teacher's server."""
    return "teacher" if role == "extractor" else role
