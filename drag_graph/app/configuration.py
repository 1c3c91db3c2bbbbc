"""The settings of an application as people look at them: each with its value and origin."""

import re
from dataclasses import dataclass
from typing import Any

from drag_graph.distill.plans import chosen
from drag_graph.privacy.local_rewriter import guard
from drag_graph.settings import Settings, load_settings, origins

_USER = re.compile(r"(?<=://)[^/@\s]+@")
"""User and password inside an address."""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Every setting by name, and `name_model`, with which the privacy gate finds names.

    Secrets, and users and passwords inside addresses, are masked.

    An origin is `flag` (also an argument in Python), the name of a variable, `drag-graph.toml`, the plan that implies the
    value, or `default`.
    """

    values: dict[str, Any]
    origins: dict[str, str]

    def to_dict(self) -> dict[str, Any]:
        """Return the `config --json` document."""
        return {name: {"value": value, "origin": self.origins[name]} for name, value in self.values.items()}


def configuration_of(settings: Settings) -> Configuration:
    """Return the configuration of these settings. A value that no variable or file explains is that of a flag."""
    elsewhere = load_settings()
    flags = {name: value for name in Settings.model_fields if (value := getattr(settings, name)) != getattr(elsewhere, name)}
    values, found = settings.model_dump(mode="json"), origins(flags)
    for name, value in values.items():
        if value is None and (implied := chosen(settings, name)) is not None:
            values[name], found[name] = implied, f"--plan {settings.plan}"
        elif isinstance(value, str):
            values[name] = _USER.sub("***@", value)
    values["name_model"], found["name_model"] = guard(), "installed packages"
    return Configuration(values, found)
