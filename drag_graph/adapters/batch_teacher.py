"""A model that is asked in batches (docs/adr/0013): requests are noted, go to the provider together, and come back on the tape.

`BatchTeacher` answers from the tape, asks directly what a batch could not answer, and notes all else. Between the passes over
the queries, `recover`, `submit`, `look` and `collect` deal with the provider.
"""

import json
import logging
import secrets
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from drag_graph import log
from drag_graph.adapters.batch_records import COLLECTED, NEW, SUBMITTED, BatchRecord, BatchRecords
from drag_graph.adapters.batch_replies import UNUSABLE, code_of, completion, status_of
from drag_graph.adapters.batch_spool import Noted, Spool
from drag_graph.adapters.budget import shown
from drag_graph.adapters.litellm_batches import (
    ENDPOINT,
    HOURS,
    MOST_BYTES,
    MOST_REQUESTS,
    BatchApi,
    BatchState,
    batch_price_of,
)
from drag_graph.adapters.litellm_teacher import LOWER, LiteLLMTeacher
from drag_graph.adapters.replies import Unreadable, fit, read
from drag_graph.adapters.request_prices import most
from drag_graph.adapters.spending import Standing, nanos, nanos_of_limit
from drag_graph.adapters.tape import request_key
from drag_graph.batching import Progress
from drag_graph.errors import AwaitsBatch, BudgetReached, ModelUnavailable, ReplyError, Spent
from drag_graph.ports import TeacherReply, TeacherRequest

WAITS = "waits for a batch"
_LOWERED = "lowered"
_GIVEN_UP = "given up"
_ATTEMPTS = 2
_DAY = timedelta(hours=HOURS)
_NOT_ITS_FAULT = frozenset({"batch_expired", "batch_cancelled"})
_BAD_REQUEST = frozenset({400, 413, 422})


class BatchTeacher:
    """`inner`, which must have a tape, asked in batches where that is possible. Only `ask` is thread-safe.

    What was spent on replies that no finished pass of another run has used counts as spent by this run, `run_id`.
    """

    def __init__(
        self,
        inner: LiteLLMTeacher,
        api: BatchApi,
        records: BatchRecords,
        spool: Spool,
        *,
        run_id: str,
        limit_usd: float | None = None,
        most_requests: int = MOST_REQUESTS,
    ) -> None:
        if inner.tape is None:
            raise ValueError("a teacher that is asked in batches needs a tape")
        self._inner, self._tape, self._api, self._records, self._spool = inner, inner.tape, api, records, spool
        self._run_id, self._most_requests = run_id, most_requests
        self._limit = None if limit_usd is None else nanos_of_limit(limit_usd)
        self._lock = threading.Lock()
        self._noted: set[str] = set()
        self._paid: dict[str, int] = {}
        """How many requests were paid for a reply that is to be booked by this run, by key."""
        self._payer: dict[str, str] = {}
        """The query that a paid reply is booked to, by key: the first that uses it."""
        self._failed: dict[str, ReplyError] = {}
        self._until: dict[str, datetime] = {}
        """When the provider gives a batch up, by its token, as far as it has said."""
        self._batches = records.all()
        for batch in self._batches:
            if batch.status == COLLECTED and batch.reason == _LOWERED:
                inner.lower(LOWER[batch.level])
        self._index()
        spool.tidy(self._tokens)

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def fingerprint(self) -> str:
        return self._inner.fingerprint

    @property
    def is_model(self) -> bool:
        return self._inner.is_model

    def close(self) -> None:
        self._inner.close()
        self._records.close()
        self._spool.close()

    # ---- while the queries are passed over

    def ask(self, request: TeacherRequest) -> TeacherReply:
        """Return the reply if it is on the tape; ask directly for one that a batch failed to give; else note the request.

        Raises AwaitsBatch for a request that is noted or in a batch, otherwise as `LiteLLMTeacher.ask`.
        """
        key = request_key(self._inner.name, request)
        recorded = self._tape.find(self._inner.name, request)
        if recorded is not None:
            return self._booked(key, recorded)
        with self._lock:
            if key in self._failed:
                raise self._failed[key]
            in_batch = key in self._waiting or key in self._noted
            if not in_batch and key not in self._direct:
                self._given_up(key)
                self._noted.add(key)
                self._spool.note(key, request)
                in_batch = True
        if in_batch:
            raise AwaitsBatch(WAITS, hint="The same command collects it when the provider has answered.")
        return self._ask_directly(key, request)

    def _booked(self, key: str, reply: TeacherReply) -> TeacherReply:
        """Return a reply of the tape as one that is paid now, where its cost is in no earlier run's results."""
        with self._lock:
            requests = self._paid.get(key, 0)
            mine = requests and self._payer.setdefault(key, reply.call.source_id) == reply.call.source_id
        return replace(reply, cached=False, requests=requests) if mine else reply

    def _ask_directly(self, key: str, request: TeacherRequest) -> TeacherReply:
        self._payer[key] = request.query.id
        try:
            reply = self._inner.ask(request, spent=self._direct[key])
        except ReplyError as error:
            with self._lock:  # a later pass must not pay for asking in vain again
                self._failed[key] = error
            raise
        if not reply.cached:
            with self._lock:
                self._paid[key] = reply.requests
        return reply

    def _given_up(self, key: str) -> None:
        reasons = self._missing.get(key, [])
        if len(reasons) >= _ATTEMPTS:
            reason = ", ".join(dict.fromkeys(reasons))
            hint = "The same command tries it again; without --batch it is asked directly."
            raise ReplyError(f"no batch answered the request, twice ({reason})", hint=hint)

    # ---- between the passes

    def recover(self) -> None:
        """Look at the provider for the batches whose creation was cut short; make those that are not there.

        A batch whose file of requests somebody has erased is given up: nobody can know what it was charged.
        """
        for batch in self._batches:
            if batch.status == NEW:
                state = self._api.find(batch.token, batch.created_at)
                if state is None:
                    self._create(batch)
                else:
                    self._submitted(batch, state)
            if batch.status == SUBMITTED and not self._spool.has(batch.token):
                batch.direct, batch.missing, batch.reason = {}, list(batch.keys), _GIVEN_UP
                settled = self._records.close_batch(batch, None)
                said = "a batch is given up: it counts as paid in full, and its requests are asked again"
                log.event(said, level=logging.WARNING, batch=batch.batch_id, cost_usd=settled)
        self._index()

    def submit(self) -> BudgetReached | None:
        """Make batches of what was noted, as far as the budget goes; return the error for what it does not reach."""
        short, noted = None, self._spool.noted()
        while short is None:
            token = secrets.token_hex(16)
            keys, amounts = self._portion(token, noted)
            if not keys:
                break
            record, standing = self._records.add(token, keys, self._inner.level(), amounts, self._limit)
            fitting = 0 if record is None else len(record.keys)
            if fitting < len(keys):
                short = self._reached(standing, amounts, fitting)
            if record is not None:
                self._batches.append(record)
                self._create(record)
        self._spool.tidy(self._tokens)
        self._spool.clear()
        self._noted.clear()
        self._index()
        return short

    def look(self) -> list[Progress]:
        """Ask where the batches stand that are not collected yet."""
        found = []
        for batch in self._outstanding:
            state = self._state(batch)
            log.event("batch", batch=state.id, status=state.status, total=state.total, completed=state.completed)
            counts = (state.completed, state.failed, state.total or len(batch.keys))
            term = (batch.created_at, self._by(batch))
            found.append(Progress(state.ended, state.status, *counts, *term, batch=state.id, way_out=self._way_out(batch)))
        return found

    def waiting(self) -> list[Progress]:
        """Return the batches that are not collected yet, without asking where they stand."""
        open_ = [batch for batch in self._batches if batch.status in {NEW, SUBMITTED}]
        return [Progress(False, "", 0, 0, len(batch.keys), batch.created_at, self._by(batch)) for batch in open_]  # noqa: FBT003

    def collect(self) -> int:
        """Put the replies of the batches that have ended on the tape; return how many batches these were.

        Raises ModelUnavailable, and keeps the batch, where fewer replies can be read than the provider has counted.
        """
        number = 0
        for batch in list(self._outstanding):
            state = self._state(batch)
            if state.ended:
                self._collect(batch, state)
                number += 1
        self._index()
        return number

    def book(self, *, whole: bool = True) -> None:
        """Keep that the results of a pass have the costs of what was collected before it: all, or what it came to use."""
        unbooked = [batch for batch in self._batches if batch.status == COLLECTED and not batch.booked_by]
        for batch in unbooked:
            if whole:
                batch.booked_by = self._run_id
            else:
                batch.used = sorted({*batch.used, *(key for key in batch.keys if key in self._payer)})
        self._records.book(unbooked)

    def end(self) -> None:
        """Forget what the next run of the job need not know: everything is answered or given up."""
        self._records.forget()

    # ---- a batch

    def _portion(self, token: str, noted: Iterator[Noted]) -> tuple[list[str], list[int]]:
        """Write the next requests, as many as a batch takes, to its file; return their keys and what they may cost."""
        keys: list[str] = []
        amounts: list[int] = []
        size = 0
        with self._spool.writing(token) as write:
            for item in noted:
                write(item)
                keys.append(item.key)
                amounts.append(self._most(item.request))
                size += len(self._line(item))
                if len(keys) >= self._most_requests or size >= MOST_BYTES:
                    break
        return keys, amounts

    def _most(self, request: TeacherRequest) -> int:
        messages, parameters = self._inner.first(request)
        # Also without a limit: batches outlive their run, and a later one that has a limit needs to know what waits.
        known = most(self._inner.name, messages, parameters, batch_price_of)
        # Without a price, a budget cannot be kept, or there is none: the inner teacher says so.
        return nanos(self._inner.most(messages, parameters, batch_price_of) if known is None else known)

    def _line(self, noted: Noted) -> bytes:
        body = self._api.body(*self._inner.first(noted.request))
        document = {"custom_id": noted.key, "method": "POST", "url": ENDPOINT, "body": body}
        return json.dumps(document, ensure_ascii=False).encode() + b"\n"

    @property
    def _tokens(self) -> set[str]:
        return {batch.token for batch in self._batches if batch.status in {NEW, SUBMITTED}}

    def _reached(self, standing: Standing, amounts: list[int], fitting: int) -> BudgetReached:
        taken = standing.settled + standing.reserved + sum(amounts[:fitting])
        return BudgetReached(
            f"the next request may cost {shown(amounts[fitting])} in a batch; {shown(taken)} of the budget of "
            f"{shown(self._limit or 0)} is spent or reserved",
            hint="Finished work is kept: run the same command again with a larger --budget-usd to go on.",
        )

    def _create(self, batch: BatchRecord) -> None:
        """Upload a batch's requests and have it made; its row is there already."""
        wanted = set(batch.keys)
        path, number = self._spool.upload(
            self._line(noted) for noted in self._spool.requests(batch.token) if noted.key in wanted
        )
        try:
            if not number:  # somebody erased its file: nothing is charged, and the requests are noted again
                batch.missing, batch.reason = list(batch.keys), _GIVEN_UP
                self._records.close_batch(batch, 0.0)
                return
            state = self._api.submit(path, batch.token)
        finally:
            path.unlink(missing_ok=True)
        self._submitted(batch, state)
        log.event("batch submitted", batch=state.id, requests=number)

    def _submitted(self, batch: BatchRecord, state: BatchState) -> None:
        self._records.submitted(batch, state.id)
        self._until[batch.token] = datetime.fromtimestamp(state.expires_at, UTC)

    def _state(self, batch: BatchRecord) -> BatchState:
        state = self._api.state(batch.batch_id)
        if state is None:
            said = f"the provider does not know the batch {batch.batch_id}: was it made with another key or project?"
            raise ModelUnavailable(said, hint=self._way_out(batch))
        self._until[batch.token] = datetime.fromtimestamp(state.expires_at, UTC)
        return state

    def _by(self, batch: BatchRecord) -> datetime:
        return self._until.get(batch.token, batch.created_at + _DAY)

    def _way_out(self, batch: BatchRecord) -> str:
        """Return what a user can do about a batch whose replies cannot be had."""
        return (
            "The same command looks again, with the key that made the batch. To give the batch up, erase "
            f"{self._spool.path(batch.token)}: it then counts as paid in full, and its requests are asked again."
        )

    def _answers(self, batch: BatchRecord, state: BatchState) -> dict[str, bytes]:
        """Return the lines about the batch's requests. Raises ModelUnavailable where these are fewer than were counted."""
        wanted, answers = set(batch.keys), dict[str, bytes]()
        for file in (state.error_file, state.output_file):
            if file:
                answers.update((key, line) for key, line in self._api.lines(file) if key in wanted)
        # What failed before it was asked has lines only where there is a file of errors. Who counts nothing has one line.
        counted = state.completed + (state.failed if state.error_file else 0)
        expected = counted if state.total else max(counted, 1 if state.output_file else 0)
        if len(answers) < expected:
            said = f"of {expected} replies of the batch {state.id}, which is {state.status}, only {len(answers)} can be read"
            raise ModelUnavailable(said, hint=self._way_out(batch))
        return answers

    def _collect(self, batch: BatchRecord, state: BatchState) -> None:
        """Put each reply on the tape, note what came of the others, and settle what the batch cost."""
        answers = self._answers(batch, state)
        wanted, cost, statuses = set(batch.keys), 0.0, set()
        batch.direct, batch.missing = {}, []
        batch.reason = ", ".join(dict.fromkeys((state.status, *state.codes)))
        for noted in self._spool.requests(batch.token):
            if noted.key in wanted:
                wanted.discard(noted.key)
                answer = json.loads(answers.pop(noted.key, b"null"))
                statuses.add(status_of(answer))
                cost += self._take(batch, noted, answer)
        if wanted:
            said = "requests of a batch are lost: it counts as paid in full, and they are asked again"
            log.event(said, level=logging.WARNING, batch=batch.batch_id, requests=len(wanted))
            batch.missing += sorted(wanted)
        if statuses and statuses <= _BAD_REQUEST and batch.level in LOWER:
            # All lines were rejected: as with single requests, the server gets a simpler form of them.
            self._inner.lower(LOWER[batch.level])
            batch.missing, batch.direct, batch.reason = list(batch.keys), {}, _LOWERED
        cost = self._records.close_batch(batch, None if wanted else cost)
        self._spool.drop(batch.token)
        given = len(batch.keys) - len(batch.missing) - len(batch.direct)
        counts = {"replies": given, "unusable": len(batch.direct), "missing": len(batch.missing)}
        log.event("batch collected", batch=batch.batch_id, status=state.status, cost_usd=cost, **counts)

    def _take(self, batch: BatchRecord, noted: Noted, answer: Mapping[str, Any] | None) -> float:
        """Record a reply, or note why there is none; return what it cost in US dollars."""
        if answer is None or code_of(answer) in _NOT_ITS_FAULT:
            batch.missing.append(noted.key)
            return 0.0
        try:
            body, messages = answer["response"]["body"], self._inner.first(noted.request)[0]
            text, finish_reason, spent = completion(body, self._inner.name, messages)
        except UNUSABLE:
            batch.direct[noted.key] = [0, 0, 0.0]
            return 0.0
        try:
            payload = fit(read(text, noted.request.schema, finish_reason=finish_reason), noted.request)
        except Unreadable:
            batch.direct[noted.key] = [spent.tokens_in, spent.tokens_out, spent.cost_usd]
        else:
            self._inner.keep(noted.request, payload, text, spent)
        return spent.cost_usd

    def _index(self) -> None:
        """Make anew what is looked up by key, after the batches have changed."""
        self._outstanding = [batch for batch in self._batches if batch.status in {NEW, SUBMITTED}]
        self._waiting = {key for batch in self._outstanding for key in batch.keys}
        self._direct: dict[str, Spent | None] = {}
        self._missing: dict[str, list[str]] = {}
        for batch in self._batches:
            if batch.status != COLLECTED:
                continue
            ours = set(batch.keys).difference(batch.used) if batch.booked_by in {"", self._run_id} else set()
            for key, (tokens_in, tokens_out, cost) in batch.direct.items():
                paid = Spent(1, int(tokens_in), int(tokens_out), cost)
                self._direct[key] = paid if key in ours and tokens_in + tokens_out else None
            for key in batch.missing if batch.reason not in {_LOWERED, _GIVEN_UP} else []:
                self._missing.setdefault(key, []).append(batch.reason)
            answered = ours.difference(batch.missing, batch.direct)
            self._paid.update((key, 1) for key in answered if key not in self._paid)
        for key, reasons in self._missing.items():
            # What a provider had no time for, twice, is asked directly; what it will not take in a batch, is not.
            if len(reasons) >= _ATTEMPTS and all(reason.startswith(("expired", "completed")) for reason in reasons):
                self._direct.setdefault(key, None)
