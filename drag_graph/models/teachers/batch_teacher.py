"""A teacher that is asked in batches: queued requests go to the provider together, and replies are recorded.

`BatchTeacher` answers from the tape, sends requests directly that a batch could not answer, and queues all others. Between the
passes over the queries, `recover`, `submit`, `look` and `collect` communicate with the provider.
"""

import json
import logging
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from drag_graph import log
from drag_graph.errors import AwaitsBatch, BudgetReached, ModelUnavailable, ReplyError
from drag_graph.ledger.batch_records import COLLECTED, NEW, SUBMITTED, BatchRecord, BatchRecords, QueuedRequest
from drag_graph.ledger.budget import Standing, in_dollars, nanos, nanos_of_limit
from drag_graph.ledger.tape import Attempt, request_key
from drag_graph.models.chat_client import read_completion
from drag_graph.models.model_catalogue import batch_price_of, highest_price
from drag_graph.models.teachers.provider_batch_api import ENDPOINT, MOST_BYTES, MOST_REQUESTS, BatchApi, BatchState
from drag_graph.models.teachers.reply_reading import Unreadable, fit, read
from drag_graph.models.teachers.served_teacher import ServedTeacher, attempt_of
from drag_graph.ports.model_roles import Teacher, TeacherReply, TeacherRequest

WAITS = "waits for a batch"
_GIVEN_UP = "given up"
_ATTEMPTS = 2
_NOT_ITS_FAULT = frozenset({"batch_expired", "batch_cancelled"})
_UNUSABLE = (ValueError, KeyError, TypeError, AttributeError, IndexError)
"""Exceptions from lines of an unexpected form."""


class BatchTeacher(Teacher):
    """`inner`, which must have a tape, asked in batches if possible. Only `ask` is thread-safe.

    The cost of replies that no finished pass of another run has used counts as the cost of this run, `run_id`.
    """

    def __init__(
        self,
        inner: ServedTeacher,
        api: BatchApi,
        records: BatchRecords,
        *,
        run_id: str,
        limit_usd: float | None = None,
    ) -> None:
        assert inner.tape is not None
        self._inner, self._tape, self._api, self._records = inner, inner.tape, api, records
        self._run_id = run_id
        self._limit = None if limit_usd is None else nanos_of_limit(limit_usd)
        self._lock = threading.Lock()
        self._queued: set[str] = set()
        self._paid: dict[str, int] = {}
        """Number of paid requests of each reply that this run books, by key."""
        self._payer: dict[str, str] = {}
        """The query that a paid reply is booked to, by key: its first user."""
        self._failed: dict[str, ReplyError] = {}
        self._batches = records.all()
        self._index()

    @property
    def name(self) -> str:
        return self._inner.name

    def close(self) -> None:
        self._records.close()
        self._inner.close()

    # ---- during a pass over the queries

    def ask(self, request: TeacherRequest) -> TeacherReply:
        """Return the recorded reply, or send the request directly if its batch failed, or queue it.

        Raises AwaitsBatch for a request that is queued or in a batch, otherwise as `ServedTeacher.ask`.
        """
        key = request_key(self._inner.name, request)
        recorded = self._tape.find(self._inner.name, request)
        if recorded is not None:
            return self._booked(key, recorded)
        self._inner.check_privacy(request)  # here it blocks one query; later it would block the whole file
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
            raise AwaitsBatch(WAITS, hint="Run the same command again when the provider has replied.")
        return self._ask_directly(key, request)

    def _booked(self, key: str, reply: TeacherReply) -> TeacherReply:
        """Return a recorded reply, marked as paid now if no earlier run has booked its cost."""
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
            with self._lock:  # so that a later pass does not pay for the same failure
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
            hint = "Run the same command again, or without `batch=True` to send the request directly."
            raise ReplyError(f"Two batches did not answer the request ({reason}).", hint=hint)

    # ---- between the passes

    def recover(self) -> None:
        """Find or create the batches whose creation was interrupted.

        A batch whose requests were erased is given up, because its cost cannot be determined.
        """
        for batch in self._batches:
            if batch.status == NEW:
                state = self._api.find(batch.token, batch.created_at)
                if state is None:
                    self._create(batch)
                else:
                    self._records.submitted(batch, state.id)
            if batch.status == SUBMITTED and not self._records.has_requests(batch.token):
                batch.direct, batch.missing, batch.reason = {}, list(batch.keys), _GIVEN_UP
                settled = self._records.close_batch(batch, None)
                message = "a batch is given up: it counts as paid in full, and its requests are sent again"
                log.event(message, level=logging.WARNING, batch=batch.batch_id, cost_usd=settled)
        self._index()

    def submit(self) -> BudgetReached | None:
        """Create batches of the queued requests that the budget covers. Return the error for the first that it does not."""
        shortage = None
        by_schema = self._inner.by_schema
        while shortage is None:
            portion, amounts = self._portion(by_schema)
            if not portion:
                break
            record, standing = self._records.add(portion, by_schema, amounts, self._limit)
            fitting = 0 if record is None else len(record.keys)
            if fitting < len(portion):
                shortage = self._budget_error(standing, amounts, fitting)
            if record is not None:
                self._batches.append(record)
                self._create(record)
        self._records.clear()
        self._queued.clear()
        self._index()
        return shortage

    def look(self) -> list[BatchState]:
        """Request the state of the batches that are not collected yet."""
        states = []
        for batch in self._outstanding:
            state = self._state(batch)
            log.event("batch", batch=state.id, status=state.status, total=state.total, completed=state.completed)
            states.append(replace(state, total=state.total or len(batch.keys)))
        return states

    def collect(self) -> int:
        """Record the replies of the batches that have ended. Return the number of these batches.

        Raises ModelUnavailable, and keeps the batch, if fewer replies can be read than the provider has counted.
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
        """Record that a pass has booked the cost of the collected replies: all, or only those it used."""
        unbooked = [batch for batch in self._batches if batch.status == COLLECTED and not batch.booked_by]
        for batch in unbooked:
            if whole:
                batch.booked_by = self._run_id
            else:
                batch.used = sorted({*batch.used, *(key for key in batch.keys if key in self._payer)})
        self._records.book(unbooked)

    def end(self) -> None:
        """Delete the records of batches: all requests are answered or given up."""
        self._records.forget()

    # ---- a batch

    def _portion(self, by_schema: bool) -> tuple[list[QueuedRequest], list[int]]:
        """Return the next requests up to the size of a batch, and their highest costs."""
        portion: list[QueuedRequest] = []
        amounts: list[int] = []
        size = 0
        for queued in self._records.requests():
            portion.append(queued)
            amounts.append(self._most(queued.request, by_schema))
            size += len(self._line(queued, by_schema))
            if len(portion) >= MOST_REQUESTS or size >= MOST_BYTES:
                break
        return portion, amounts

    def _most(self, request: TeacherRequest, by_schema: bool) -> int:
        messages, parameters = self._inner.first(request, by_schema=by_schema)
        # Also without a limit: a batch outlives its run, and a later run with a limit counts its cost.
        cost = highest_price(self._inner.name, messages, parameters, batch_price_of)
        # Without a price the inner teacher raises an error if there is a budget.
        return nanos(self._inner.highest_cost(messages, parameters, batch_price_of) if cost is None else cost)

    def _line(self, queued: QueuedRequest, by_schema: bool) -> bytes:
        body = self._api.body(*self._inner.first(queued.request, by_schema=by_schema))
        document = {"custom_id": queued.key, "method": "POST", "url": ENDPOINT, "body": body}
        return json.dumps(document, ensure_ascii=False).encode() + b"\n"

    def _budget_error(self, standing: Standing, amounts: list[int], fitting: int) -> BudgetReached:
        taken = standing.settled + standing.reserved + sum(amounts[:fitting])
        request, total, budget = (in_dollars(amount) for amount in (amounts[fitting], taken, self._limit or 0))
        return BudgetReached(
            f"The next request may cost {request} in a batch, but {total} of the budget of {budget} is spent or reserved.",
            hint="Finished work is kept. Run the same command again with a larger `budget_usd=LIMIT` to continue.",
        )

    def _create(self, batch: BatchRecord) -> None:
        """Upload the requests of a recorded batch and create it."""
        lines = [self._line(queued, batch.by_schema) for queued in self._records.requests(batch.token)]
        if not lines:  # erased, so nothing is charged
            batch.missing, batch.reason = list(batch.keys), _GIVEN_UP
            self._records.close_batch(batch, 0.0)
            return
        state = self._api.submit(b"".join(lines), batch.token)
        self._records.submitted(batch, state.id)
        log.event("batch submitted", batch=state.id, requests=len(lines))

    def _state(self, batch: BatchRecord) -> BatchState:
        state = self._api.state(batch.batch_id)
        if state is None:
            message = f"The provider does not know the batch {batch.batch_id}; it may belong to another key or project."
            raise ModelUnavailable(message, hint=recovery_hint(batch.batch_id))
        return state

    def _answers(self, batch: BatchRecord, state: BatchState) -> dict[str, bytes]:
        """Return the reply lines of a batch by key. Raises ModelUnavailable if the provider has counted more."""
        wanted, answers = set(batch.keys), dict[str, bytes]()
        for file in (state.error_file, state.output_file):
            if file:
                answers.update((key, line) for key, line in self._api.lines(file) if key in wanted)
        # Requests that failed early have lines only in an error file. A provider without counts has at least one line.
        counted = state.completed + (state.failed if state.error_file else 0)
        expected = counted if state.total else max(counted, 1 if state.output_file else 0)
        if len(answers) < expected:
            message = f"Only {len(answers)} of {expected} replies of the batch {state.id} ({state.status}) can be read."
            raise ModelUnavailable(message, hint=recovery_hint(batch.batch_id))
        return answers

    def _collect(self, batch: BatchRecord, state: BatchState) -> None:
        """Record each reply, note the missing and unusable ones, and settle the cost of the batch."""
        answers = self._answers(batch, state)
        wanted, cost = set(batch.keys), 0.0
        batch.direct, batch.missing = {}, []
        batch.reason = ", ".join(dict.fromkeys((state.status, *state.codes)))
        for queued in self._records.requests(batch.token):
            wanted.discard(queued.key)
            cost += self._take(batch, queued, json.loads(answers.pop(queued.key, b"null")))
        if wanted:
            message = "requests of a batch are lost: it counts as paid in full, and they are sent again"
            log.event(message, level=logging.WARNING, batch=batch.batch_id, requests=len(wanted))
            batch.missing += sorted(wanted)
        cost = self._records.close_batch(batch, None if wanted else cost)
        given = len(batch.keys) - len(batch.missing) - len(batch.direct)
        counts = {"replies": given, "unusable": len(batch.direct), "missing": len(batch.missing)}
        log.event("batch collected", batch=batch.batch_id, status=state.status, cost_usd=cost, **counts)

    def _take(self, batch: BatchRecord, queued: QueuedRequest, answer: Mapping[str, Any] | None) -> float:
        """Record a reply or the reason for its absence. Return its cost in US dollars."""
        error = (answer or {}).get("error")
        if answer is None or (isinstance(error, Mapping) and str(error.get("code")) in _NOT_ITS_FAULT):
            batch.missing.append(queued.key)
            return 0.0
        messages, parameters = self._inner.first(queued.request, by_schema=batch.by_schema)
        try:
            body = answer["response"]["body"]
            body["choices"][0]["message"]["content"]  # otherwise it is not a reply
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
        """Rebuild the indexes by key after the batches have changed."""
        self._outstanding = [batch for batch in self._batches if batch.status in {NEW, SUBMITTED}]
        self._waiting = {key for batch in self._outstanding for key in batch.keys}
        self._direct: dict[str, tuple[Attempt | None, bool]] = {}
        self._missing: dict[str, list[str]] = {}
        for batch in self._batches:
            if batch.status != COLLECTED:
                continue
            ours = set(batch.keys).difference(batch.used) if batch.booked_by in {"", self._run_id} else set()
            self._direct |= {key: (attempt, key not in ours) for key, attempt in batch.direct.items()}
            for key in batch.missing if batch.reason != _GIVEN_UP else []:
                self._missing.setdefault(key, []).append(batch.reason)
            answered = ours.difference(batch.missing, batch.direct)
            self._paid.update((key, 1) for key in answered if key not in self._paid)


def recovery_hint(batch_id: str) -> str:
    """Return the hint for a batch whose replies are not available."""
    return (
        "Run the same command again with the key of the batch, or give it up with "
        f"`drag-graph runs give-up {batch_id}`: it then counts as paid in full, and its requests are sent again."
    )
