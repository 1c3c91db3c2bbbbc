"""`DragGraph`: the one object that can do everything the command line can (docs/reference/python.md)."""

import _thread
import os
import re
import threading
import weakref
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, Self

from drag_graph.app.answering import Answering
from drag_graph.app.cloud_group import CloudGroup
from drag_graph.app.correcting import Correcting
from drag_graph.app.distilling import Distilling
from drag_graph.app.evaluation_group import EvaluationGroup
from drag_graph.app.exchange import Exchange
from drag_graph.app.ingesting import Ingesting
from drag_graph.app.linking import Linking
from drag_graph.app.privacy_group import PrivacyGroup
from drag_graph.app.resources import Resources
from drag_graph.app.runs_group import RunsGroup, TapeGroup
from drag_graph.app.searching import Searching
from drag_graph.app.service_group import ServiceGroup
from drag_graph.app.sites_group import SitesGroup
from drag_graph.app.store_group import StoreGroup
from drag_graph.distill.plans import chosen
from drag_graph.errors import ConfigurationError
from drag_graph.privacy.local_rewriter import guard
from drag_graph.settings import Settings, changed_settings, load_settings, origins

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


class DragGraph(Answering, Searching, Distilling, Ingesting, Linking, Correcting, Exchange):
    """A knowledge graph in a store, with the models that fill it and answer from it. Thread-safe.

    Arguments are settings by name. They win over `settings`, or without it over the environment (`DRAG_GRAPH_*`) and
    `drag-graph.toml`. Store and models are opened when they are first needed and shared by all threads. Use it as a context
    manager, call `close`, or let the end of the process close it. `on_progress` is called in the thread of a run; if it raises,
    the run ends with that error, and the same call resumes it.

    Raises ConfigurationError for a setting that does not exist or has an unusable value.
    """

    def __init__(self, store: str | os.PathLike[str] | None = None, *, settings: Settings | None = None, **values: Any) -> None:
        values["store"] = None if store is None else os.fspath(store)
        self._start(Resources(load_settings(values) if settings is None else changed_settings(settings, values)))

    def _start(self, resources: Resources) -> None:
        self._resources = resources
        resources.hold()
        self._finalizer = weakref.finalize(self, _close_later, resources)

    @property
    def settings(self) -> Settings:
        """The settings that every method uses unless a call overrides them."""
        return self._resources.settings

    def config(self) -> Configuration:
        """Return every setting, its value and its origin."""
        return configuration_of(self.settings)

    def in_namespace(self, namespace: str) -> Self:
        """Return the same graph in another namespace; models and connections are shared."""
        if not isinstance(namespace, str):
            raise ConfigurationError(f"The namespace {namespace!r} is not a text.", hint="Pass its name.")
        other = object.__new__(type(self))
        other._start(self._resources.changed({"namespace": namespace}))
        return other

    def close(self) -> None:
        """Close the store and the models, or leave that to the last call or run that still uses them.

        Closing twice does nothing. Further calls raise ConfigurationError.
        """
        if self._finalizer.detach():
            self._resources.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @cached_property
    def store(self) -> StoreGroup:
        """The store itself: start, stop, migrate, verify, erase."""
        return StoreGroup(self._resources)

    @cached_property
    def runs(self) -> RunsGroup:
        """Past runs and their outcome."""
        return RunsGroup(self._resources)

    @cached_property
    def tape(self) -> TapeGroup:
        """Recorded teacher replies."""
        return TapeGroup(self._resources)

    @cached_property
    def evaluation(self) -> EvaluationGroup:
        """Accuracy on questions with known answers."""
        return EvaluationGroup(self._resources)

    @cached_property
    def privacy(self) -> PrivacyGroup:
        """The privacy gate: check, reveal, scan."""
        return PrivacyGroup(self._resources)

    @cached_property
    def sites(self) -> SitesGroup:
        """This machine as a site of a cloud."""
        return SitesGroup(self._resources)

    @cached_property
    def cloud(self) -> CloudGroup:
        """This store as a cloud, and its sites."""
        return CloudGroup(self._resources)

    @cached_property
    def service(self) -> ServiceGroup:
        """The keys of the HTTP service."""
        return ServiceGroup(self._resources)


def _close_later(resources: Resources) -> None:
    """Close in a new thread, because the garbage collector may call this in a thread that holds a lock."""
    if threading.main_thread().is_alive():
        _thread.start_new_thread(resources.close, ())
    else:  # the process is ending
        resources.close()
