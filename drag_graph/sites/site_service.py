"""The edge as a process: it tells the cloud its summaries, waits for questions, and sends what its settings release."""

import logging
import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from drag_graph import log
from drag_graph.ask.find_lines import Finder
from drag_graph.errors import CloudRefused, CloudUnavailable, DragGraphError, StoreError, StoreUnavailable, Withheld
from drag_graph.inputs import make_query
from drag_graph.ports.graph_store import GraphStore
from drag_graph.ports.model_roles import Embedder
from drag_graph.settings import Settings
from drag_graph.sites.cloud_client import CloudClient
from drag_graph.sites.passage_release import KEPT, NO_PASSAGES, Release
from drag_graph.sites.traffic_log import Traffic
from drag_graph.sites.wire import LONGEST_POLL, EdgeOrigins, EdgeReply, EdgeWork

REFUSED = "its privacy gate lets nobody search for this question"
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
"""Seconds before the cloud is tried again; they double, and are spread at random, so that not all edges come back at once."""
SYNC_EVERY = 30.0
"""Seconds between two looks at whether the summaries have changed."""
_Found = TypeVar("_Found")


class Knowledge:
    """What an edge knows: its store, opened for reading, and opened again when another process has written to it."""

    def __init__(self, settings: Settings, open_: Callable[[], GraphStore], embedder: Embedder) -> None:
        self.settings = settings
        self.embedder = embedder
        self._open = open_
        self._store: GraphStore | None = None
        self._reading = threading.Lock()

    def close(self) -> None:
        """Close the store, unless another thread still reads it."""
        if self._reading.acquire(blocking=False):
            try:
                self._forget()
            finally:
                self._reading.release()

    def _forget(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None

    def look(self, work: Callable[[GraphStore], _Found]) -> _Found:
        """Return what `work` finds in the store as it is now. Raises StoreError."""
        with self._reading:
            was_open = self._store is not None
            try:
                return work(self._opened())
            except StoreUnavailable:
                self._forget()
                if not was_open:
                    raise
                return work(self._opened())

    def _opened(self) -> GraphStore:
        if self._store is None:
            store = self._open()
            if store.embedder() is not None:
                store.embedder((self.embedder.name, self.embedder.dimension))
            self._store = store
        return self._store


class EdgeService:
    """Serves one edge. `run` returns when `stop` is set, or raises what no waiting mends."""

    def __init__(
        self,
        client: CloudClient,
        knowledge: Knowledge,
        release: Release,
        traffic: Traffic,
        *,
        poll_seconds: float = LONGEST_POLL,
    ) -> None:
        self._client = client
        self._knowledge = knowledge
        self._release = release
        self._traffic = traffic
        self._poll_seconds = poll_seconds
        self._told: dict[str, str] | None = None
        """The summaries that the cloud has by now; None where that is not known."""
        self._told_at = 0.0

    def run(self, stop: threading.Event) -> None:
        """Serve. Raises CloudRefused where the cloud does not know this edge, and StoreError where the store cannot be used."""
        pause = FIRST_PAUSE
        while not stop.is_set():
            try:
                self._client.connect()
                self._told = None
                self._sync()
                log.event("connected", level=logging.WARNING, cloud=self._client.address, summaries=len(self._told or ()))
                pause = FIRST_PAUSE
                while not stop.is_set():
                    self._sync()
                    work = self._client.work(self._poll_seconds)
                    if work is not None:
                        self._answer(work)
            except (CloudUnavailable, StoreUnavailable) as error:
                seconds = round(pause * random.uniform(0.5, 1.0), 2)  # noqa: S311 - no secret
                hint = {"hint": error.hint} if isinstance(error, StoreUnavailable) else {}
                log.event("waiting", level=logging.WARNING, reason=str(error), seconds=seconds, **hint)
                stop.wait(seconds)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _sync(self) -> None:
        """Tell the cloud what has changed."""
        if self._told is not None and time.monotonic() - self._told_at < SYNC_EVERY:
            return
        shared = self._knowledge.look(self._release.summaries)
        if not shared.texts:
            log.event("nothing to tell the cloud: run drag-graph communities", level=logging.WARNING, withheld=shared.withheld)
        if shared.texts != self._told:
            sent, dropped = self._client.sync(shared.texts)
            self._traffic.note_sync(summaries=len(shared.texts), withheld=shared.withheld, sent=sent, withdrawn=dropped)
            log.event("summaries", number=len(shared.texts), withheld=shared.withheld, sent=sent, withdrawn=dropped)
        self._told, self._told_at = shared.texts, time.monotonic()

    def _answer(self, work: EdgeWork) -> None:
        """Send what may leave of the lines for a question of the cloud, or of what is behind lines that had left."""
        began = time.monotonic()
        reply = self._reply_to(work)
        try:
            taken = self._client.reply(work.id, reply)
        except Withheld:
            reply = _without_texts(reply)
            taken = self._client.reply(work.id, reply)
        except CloudRefused as error:
            log.event("reply refused", level=logging.WARNING, reason=str(error))
            return
        duration = round(1000 * (time.monotonic() - began))
        said = reply.lines if isinstance(reply, EdgeOrigins) else [reply]
        facts = {"passages": sum(len(one.passages) for one in said), "withheld": sum(one.withheld for one in said)}
        log.event("audited" if work.lines else "answered", **facts, taken=taken, duration_ms=duration)

    def _reply_to(self, work: EdgeWork) -> EdgeReply | EdgeOrigins:
        try:
            return self._origins(work) if work.lines else self._passages(work)
        except StoreError as error:
            log.event("store", level=logging.WARNING, reason=str(error))
            failed = EdgeReply(problem="its store is away")
        except DragGraphError as error:  # its text could say what is stored here
            failed = EdgeReply(problem=f"it failed ({type(error).__name__})")
        return EdgeOrigins(lines=(failed,) * len(work.lines)) if work.lines else failed

    def _passages(self, work: EdgeWork) -> EdgeReply:
        if not self._release.has_passages:
            return EdgeReply(problem=NO_PASSAGES)
        settings, embedder = self._knowledge.settings, self._knowledge.embedder
        try:
            question, *options = (self._release.searched_for(text) for text in (work.question, *work.options))
        except Withheld:
            return EdgeReply(problem=REFUSED)
        query = make_query(question, options or None, namespace=settings.namespace)
        staying = self._release.staying
        found = self._knowledge.look(lambda store: Finder(settings, store, embedder).search(query, without=staying))
        return self._release.reply(found)

    def _origins(self, work: EdgeWork) -> EdgeOrigins:
        ids = list(dict.fromkeys(line.source_id for line in work.lines))
        sources = {graph.source_id: graph for graph in self._knowledge.look(lambda store: store.read(ids))}
        return EdgeOrigins(lines=tuple(self._release.origin(line, sources.get(line.source_id)) for line in work.lines))


def _without_texts(reply: EdgeReply | EdgeOrigins) -> EdgeReply | EdgeOrigins:
    """Return a reply of which the privacy gate lets nothing out."""
    if isinstance(reply, EdgeOrigins):
        return EdgeOrigins(
            lines=tuple(EdgeReply(withheld=len(one.passages) + one.withheld, problem=KEPT) for one in reply.lines)
        )
    return EdgeReply(withheld=len(reply.passages) + reply.withheld, problem="its privacy gate let nothing out")
