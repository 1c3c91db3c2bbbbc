"""The service of a site: it shares its summaries with the cloud, waits for questions, and sends what its settings release."""

import logging
import random
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
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
from drag_graph.sites.wire import LONGEST_POLL, SiteOrigins, SiteReply, SiteWork

REFUSED = "its privacy gate withholds this question"
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
"""Seconds before the cloud is tried again. Pauses double and are random, so that sites do not all return at the same time."""
SYNC_EVERY = 30.0
"""Seconds between two checks for changed summaries."""
Item = TypeVar("Item")


class Knowledge:
    """The store of a site. `lend` lends it for reading, in its last committed state."""

    def __init__(self, settings: Settings, lend: Callable[[], AbstractContextManager[GraphStore]], embedder: Embedder) -> None:
        self.settings = settings
        self.embedder = embedder
        self._lend = lend

    def read(self, work: Callable[[GraphStore], Item]) -> Item:
        """Return what `work` reads. Raises StoreError."""
        own = (self.embedder.name, self.embedder.dimension)
        with self._lend() as store:
            if store.embedder() not in (None, own):
                store.embedder(own)  # raises
            return work(store)


class SiteService:
    """Serves one site until `stop` is set, or until an error occurs that does not pass by itself."""

    def __init__(
        self, client: CloudClient, knowledge: Knowledge, release: Release, *, poll_seconds: float = LONGEST_POLL
    ) -> None:
        self._client = client
        self._knowledge = knowledge
        self._release = release
        self._poll_seconds = poll_seconds
        self._shared: dict[str, str] | None = None
        """The summaries that the cloud has; None if that is unknown."""
        self._shared_at = 0.0

    def run(self, stop: threading.Event) -> None:
        """Serve. Raises CloudRefused if the cloud does not know this site, and StoreError if the store is unusable."""
        pause = FIRST_PAUSE
        while not stop.is_set():
            try:
                self._client.connect()
                self._shared = None
                self._sync()
                log.event("connected", level=logging.WARNING, cloud=self._client.address, summaries=len(self._shared or ()))
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
        """Send changed summaries to the cloud, if it is time to look for them."""
        if self._shared is not None and time.monotonic() - self._shared_at < SYNC_EVERY:
            return
        texts, withheld = self._knowledge.read(self._release.summaries)
        if not texts:
            log.event("no summaries: run drag-graph communities", level=logging.WARNING, withheld=withheld)
        if texts != self._shared:
            sent, withdrawn = self._client.sync(texts)
            facts = {"withheld": withheld, "sent": sent, "withdrawn": withdrawn}
            self._client.traffic.note_sync(summaries=len(texts), **facts)
            log.event("summaries", number=len(texts), **facts)
        self._shared, self._shared_at = texts, time.monotonic()

    def _answer(self, work: SiteWork) -> None:
        """Reply to a question of the cloud, or to an audit of lines that were released before."""
        began = time.monotonic()
        reply = self._reply_to(work)
        try:
            is_accepted = self._client.reply(work.id, reply)
        except Withheld:
            reply = _without_texts(reply)
            is_accepted = self._client.reply(work.id, reply)
        except CloudRefused as error:
            log.event("reply refused", level=logging.WARNING, reason=str(error))
            return
        duration = round(1000 * (time.monotonic() - began))
        replies = reply.lines if isinstance(reply, SiteOrigins) else [reply]
        facts = {"passages": sum(len(one.passages) for one in replies), "withheld": sum(one.withheld for one in replies)}
        log.event("audited" if work.lines else "answered", **facts, accepted=is_accepted, duration_ms=duration)

    def _reply_to(self, work: SiteWork) -> SiteReply | SiteOrigins:
        try:
            return self._origins(work) if work.lines else self._passages(work)
        except StoreError as error:
            log.event("store", level=logging.WARNING, reason=str(error))
            failed = SiteReply(problem="its store is not available")
        except DragGraphError as error:  # the message could reveal what is stored here
            failed = SiteReply(problem=f"it failed ({type(error).__name__})")
        return SiteOrigins(lines=(failed,) * len(work.lines)) if work.lines else failed

    def _passages(self, work: SiteWork) -> SiteReply:
        if not self._release.has_passages:
            return SiteReply(problem=NO_PASSAGES)
        settings, embedder = self._knowledge.settings, self._knowledge.embedder
        try:
            question, *options = (self._release.search_text(text) for text in (work.question, *work.options))
        except Withheld:
            return SiteReply(problem=REFUSED)
        query = make_query(question, options or None, namespace=settings.namespace)
        staying = self._release.staying
        matches = self._knowledge.read(lambda store: Finder(settings, store, embedder).search(query, without=staying))
        return self._release.reply(matches)

    def _origins(self, work: SiteWork) -> SiteOrigins:
        ids = list(dict.fromkeys(line.source_id for line in work.lines))
        sources = {graph.source_id: graph for graph in self._knowledge.read(lambda store: store.read(ids))}
        return SiteOrigins(lines=tuple(self._release.origin(line, sources.get(line.source_id)) for line in work.lines))


def _without_texts(reply: SiteReply | SiteOrigins) -> SiteReply | SiteOrigins:
    """Return a reply that releases nothing, because the privacy gate refused it."""
    if isinstance(reply, SiteOrigins):
        return SiteOrigins(
            lines=tuple(SiteReply(withheld=len(one.passages) + one.withheld, problem=KEPT) for one in reply.lines)
        )
    return SiteReply(withheld=len(reply.passages) + reply.withheld, problem="its privacy gate released nothing")
