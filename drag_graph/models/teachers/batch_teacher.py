"""A model that is asked in batches (docs/adr/0013): requests are queued, go to the provider together, and come back recorded.

`BatchTeacher` answers from the tape, asks directly what a batch could not answer, and queues all else. Between the passes over
the queries, `recover`, `submit`, `look` and `collect` deal with the provider.
"""

import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from drag_graph import log
from drag_graph.errors import AwaitsBatch, BudgetReached, ModelUnavailable, ReplyError
from drag_graph.ledger.batch_records import COLLECTED, NEW, SUBMITTED, BatchRecord, BatchRecords, QueuedRequest
from drag_graph.ledger.budget import shown
from drag_graph.ledger.spending import Standing, nanos, nanos_of_limit
from drag_graph.ledger.tape import Attempt, request_key
from drag_graph.models.chat_client import read_completion
from drag_graph.models.model_catalogue import batch_price_of
from drag_graph.models.teachers.highest_price import highest_price
from drag_graph.models.teachers.provider_batch_api import (
    ENDPOINT,
    HOURS,
    MOST_BYTES,
    MOST_REQUESTS,
    BatchApi,
    BatchState,
)
from drag_graph.models.teachers.reply_reading import Unreadable, fit, read
from drag_graph.models.teachers.served_teacher import ServedTeacher, attempt_of
from drag_graph.ports.model_roles import TeacherReply, TeacherRequest
from drag_graph.ports.provider_batches import Progress

WAITS = "waits for a batch"
_LOWERED = "lowered"
_GIVEN_UP = "given up"
_ATTEMPTS = 2
_DAY = timedelta(hours=HOURS)
_NOT_ITS_FAULT = frozenset({"batch_expired", "batch_cancelled"})
_BAD_REQUEST = frozenset({400, 413, 422})
_UNUSABLE = (ValueError, KeyError, TypeError, AttributeError, IndexError)
"""What reading a line of another form can raise."""


class BatchTeacher:
    """`inner`, which must have a tape, asked in batches where that is possible. Only `ask` is thread-safe.

    What was spent on replies that no finished pass of another run has used counts as spent by this run, `run_id`.
    """

    def __init__(
        self,
        inner: ServedTeacher,
        api: BatchApi,
        records: BatchRecords,
        *,
        run_id: str,
        limit_usd: float | None = None,
        most_requests: int = MOST_REQUESTS,
    ) -> None:
        if inner.tape is None:
            raise ValueError("a teacher that is asked in batches needs a tape")
        self._inner, self._tape, self._api, self._records = inner, inner.tape, api, records
        self._run_id, self._most_requests = run_id, most_requests
        self._limit = None if limit_usd is None else nanos_of_limit(limit_usd)
        self._lock = threading.Lock()
        self._queued: set[str] = set()
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
                inner.use_words()
        self._index()

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
        self._records.close()
        self._inner.close()

    # ---- while the queries are passed over

    def ask(self, request: TeacherRequest) -> TeacherReply:
        """Return the reply if it is on the tape; ask directly for one that a batch failed to give; else queue the request.

        Raises AwaitsBatch for a request that is queued or in a batch, otherwise as `ServedTeacher.ask`.
        """
        key = request_key(self._inner.name, request)
        recorded = self._tape.find(self._inner.name, request)
        if recorded is not None:
            return self._booked(key, recorded)
        self._inner.check_privacy(request)  # here one query is withheld; a file that holds it would be as a whole
        with self._lock:
            if key in self._failed:
                raise self._failed[key]
            in_batch = key in self._waiting or key in self._queued
            if not in_batch and key not in self._direct:
                self._given_up(key)
                self._queued.add(key)
                self._records.queue(key, request)
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
        self._payer[key] = request.source.id
        before, booked = self._direct[key]
        try:
            reply = self._inner.ask(request, before=before, booked=booked)
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

        A batch whose requests somebody has erased is given up: nobody can know what it was charged.
        """
        for batch in self._batches:
            if batch.status == NEW:
                state = self._api.find(batch.token, batch.created_at)
                if state is None:
                    self._create(batch)
                else:
                    self._submitted(batch, state)
            if batch.status == SUBMITTED and not self._records.has_requests(batch.token):
                batch.direct, batch.missing, batch.reason = {}, list(batch.keys), _GIVEN_UP
                settled = self._records.close_batch(batch, None)
                said = "a batch is given up: it counts as paid in full, and its requests are asked again"
                log.event(said, level=logging.WARNING, batch=batch.batch_id, cost_usd=settled)
        self._index()

    def submit(self) -> BudgetReached | None:
        """Make batches of what was queued, as far as the budget goes; return the error for what it does not reach."""
        short = None
        by_schema = self._inner.by_schema
        while short is None:
            portion, amounts = self._portion(by_schema)
            if not portion:
                break
            record, standing = self._records.add(portion, by_schema, amounts, self._limit)
            fitting = 0 if record is None else len(record.keys)
            if fitting < len(portion):
                short = self._reached(standing, amounts, fitting)
            if record is not None:
                self._batches.append(record)
                self._create(record)
        self._records.clear()
        self._queued.clear()
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

    def _portion(self, by_schema: bool) -> tuple[list[QueuedRequest], list[int]]:
        """Return the next requests, as many as a batch takes, and what they may cost."""
        portion: list[QueuedRequest] = []
        amounts: list[int] = []
        size = 0
        for queued in self._records.requests():
            portion.append(queued)
            amounts.append(self._most(queued.request, by_schema))
            size += len(self._line(queued, by_schema))
            if len(portion) >= self._most_requests or size >= MOST_BYTES:
                break
        return portion, amounts

    def _most(self, request: TeacherRequest, by_schema: bool) -> int:
        messages, parameters = self._inner.first(request, by_schema=by_schema)
        # Also without a limit: batches outlive their run, and a later one that has a limit needs to know what waits.
        cost = highest_price(self._inner.name, messages, parameters, batch_price_of)
        # Without a price, a budget cannot be kept, or there is none: the inner teacher says so.
        return nanos(self._inner.highest_cost(messages, parameters, batch_price_of) if cost is None else cost)

    def _line(self, queued: QueuedRequest, by_schema: bool) -> bytes:
        body = self._api.body(*self._inner.first(queued.request, by_schema=by_schema))
        document = {"custom_id": queued.key, "method": "POST", "url": ENDPOINT, "body": body}
        return json.dumps(document, ensure_ascii=False).encode() + b"\n"

    def _reached(self, standing: Standing, amounts: list[int], fitting: int) -> BudgetReached:
        taken = standing.settled + standing.reserved + sum(amounts[:fitting])
        request, total, budget = shown(amounts[fitting], taken, self._limit or 0)
        return BudgetReached(
            f"The next request may cost {request} in a batch, but {total} of the budget of {budget} is spent or reserved.",
            hint="Finished work is kept. Run the same command again with a larger --budget-usd to continue.",
        )

    def _create(self, batch: BatchRecord) -> None:
        """Upload a batch's requests and have it made; its row is there already."""
        lines = [self._line(queued, batch.by_schema) for queued in self._records.requests(batch.token)]
        if not lines:  # they were erased: nothing is charged
            batch.missing, batch.reason = list(batch.keys), _GIVEN_UP
            self._records.close_batch(batch, 0.0)
            return
        state = self._api.submit(b"".join(lines), batch.token)
        self._submitted(batch, state)
        log.event("batch submitted", batch=state.id, requests=len(lines))

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
            "The same command looks again, with the key that made the batch. "
            f"`drag-graph runs give-up {batch.batch_id}` gives it up: "
            "it then counts as paid in full, and its requests are asked again."
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
        for queued in self._records.requests(batch.token):
            wanted.discard(queued.key)
            answer = json.loads(answers.pop(queued.key, b"null"))
            statuses.add(_status(answer))
            cost += self._take(batch, queued, answer)
        if wanted:
            said = "requests of a batch are lost: it counts as paid in full, and they are asked again"
            log.event(said, level=logging.WARNING, batch=batch.batch_id, requests=len(wanted))
            batch.missing += sorted(wanted)
        if statuses and statuses <= _BAD_REQUEST and batch.by_schema:
            # All lines were rejected: as with single requests, the server gets them without a schema.
            self._inner.use_words()
            batch.missing, batch.direct, batch.reason = list(batch.keys), {}, _LOWERED
        cost = self._records.close_batch(batch, None if wanted else cost)
        given = len(batch.keys) - len(batch.missing) - len(batch.direct)
        counts = {"replies": given, "unusable": len(batch.direct), "missing": len(batch.missing)}
        log.event("batch collected", batch=batch.batch_id, status=state.status, cost_usd=cost, **counts)

    def _take(self, batch: BatchRecord, queued: QueuedRequest, answer: Mapping[str, Any] | None) -> float:
        """Record a reply, or note why there is none; return what it cost in US dollars."""
        if answer is None or str(_part(answer, "error", "code")) in _NOT_ITS_FAULT:
            batch.missing.append(queued.key)
            return 0.0
        messages, parameters = self._inner.first(queued.request, by_schema=batch.by_schema)
        try:
            body = answer["response"]["body"]
            body["choices"][0]["message"]["content"]  # a body without is no reply
            completion = read_completion(body, self._inner.name, messages, batch_price_of)
        except _UNUSABLE:
            batch.direct[queued.key] = None
            return 0.0
        attempt = attempt_of(completion, messages, parameters)
        try:
            payload = fit(read(completion.text, queued.request.schema, finish_reason=completion.finish_reason), queued.request)
        except Unreadable:
            batch.direct[queued.key] = attempt
        else:
            self._inner.keep(queued.request, payload, [attempt])
        return attempt.cost_usd

    def _index(self) -> None:
        """Make anew what is looked up by key, after the batches have changed."""
        self._outstanding = [batch for batch in self._batches if batch.status in {NEW, SUBMITTED}]
        self._waiting = {key for batch in self._outstanding for key in batch.keys}
        self._direct: dict[str, tuple[Attempt | None, bool]] = {}
        self._missing: dict[str, list[str]] = {}
        for batch in self._batches:
            if batch.status != COLLECTED:
                continue
            ours = set(batch.keys).difference(batch.used) if batch.booked_by in {"", self._run_id} else set()
            self._direct |= {key: (attempt, key not in ours) for key, attempt in batch.direct.items()}
            for key in batch.missing if batch.reason not in {_LOWERED, _GIVEN_UP} else []:
                self._missing.setdefault(key, []).append(batch.reason)
            answered = ours.difference(batch.missing, batch.direct)
            self._paid.update((key, 1) for key in answered if key not in self._paid)
        for key, reasons in self._missing.items():
            # What a provider had no time for, twice, is asked directly; what it will not take in a batch, is not.
            if len(reasons) >= _ATTEMPTS and all(reason.startswith(("expired", "completed")) for reason in reasons):
                self._direct.setdefault(key, (None, False))


def _status(answer: Any) -> int:
    """Return the HTTP status of a line, or 0 where it has none that can be read."""
    status = _part(answer, "response", "status_code")
    return int(status) if str(status).isdecimal() else 0


def _part(answer: Any, *names: str) -> Any:
    """Return what a line has under these names, one within the other; None where it has another form."""
    for name in names:
        answer = answer.get(name) if isinstance(answer, Mapping) else None
    return answer
