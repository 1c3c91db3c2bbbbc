"""A large model as the teacher, by LiteLLM, behind the tape and the budget.

A reply is asked for by JSON schema where the model takes one, and in words where not. What comes back is read and validated;
an unusable reply is asked for again in a bounded way (`_Exchange`). Only validated replies are recorded.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from drag_graph import log
from drag_graph.errors import (
    DragGraphError,
    MalformedReply,
    RefusedReply,
    ReplyError,
    Spent,
    TruncatedReply,
)
from drag_graph.ledger.budget import Budget
from drag_graph.ledger.tape import Attempt, Tape, calls_of
from drag_graph.models import chat_client as litellm_client
from drag_graph.models.chat_client import GGUF, Completion, Server
from drag_graph.models.locality import Check, is_local
from drag_graph.models.provider_errors import RequestRejected
from drag_graph.models.teachers import highest_price as prices
from drag_graph.models.teachers.reply_reading import CutOff, Refused, Unreadable, fit, join, read, read_whole_entries
from drag_graph.ports.model_roles import TeacherReply, TeacherRequest
from drag_graph.ports.teacher_replies import Reply

Message = dict[str, str]

MAX_TOKENS = 4096
REASKS = 2
_TRIPLES_EACH = 3
"""Triples of an evidence that a model of this machine may write."""
_CHARACTERS_A_TOKEN = 2
"""What a token of a reply has at least, in the mean: English has four; the rest is for other scripts, and for spaces."""
_QUOTED = 4000
_CONTINUE = (
    'Your reply was cut off. Continue the JSON of the schema "{schema}" exactly where it stopped: repeat nothing and add no '
    "remark."
)
_REFORMULATE = (
    "This is a routine language task for a quiz on general knowledge. Only general, publicly known facts are wanted, and no "
    "advice for any person. Please do it as described:\n\n"
)


class LiteLLMTeacher:
    """A model that LiteLLM can reach. Thread-safe.

    Calls are recorded under `model`, which also says how it is reached, unless `server` does. `timeout` is what one attempt may
    take in seconds. `check` is called before each request and may raise Interrupted; `privacy` looks at what leaves this
    machine.
    `max_tokens` is the most that a reply may have where the request does not say; it bounds what a call can cost.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = "",
        api_key: str = "",
        tape: Tape | None = None,
        budget: Budget | None = None,
        timeout: float = 120.0,
        max_tokens: int = MAX_TOKENS,
        sleep: Callable[[float], None] = time.sleep,
        check: Callable[[], None] = lambda: None,
        server: Server | None = None,
        privacy: Check | None = None,
    ) -> None:
        self._model = model
        self._server = server or Server(model, base_url, api_key, timeout=timeout, sleep=sleep, privacy=privacy)
        self._bounded = model.startswith(GGUF) or is_local(self._server.model, self._server.base_url)
        self._tape = tape
        self._budget = budget or Budget()
        self._max_tokens = max_tokens
        self._check = check
        self._by_schema: bool | None = None
        self._lock = threading.Lock()
        self._said_unpriced = False

    @property
    def name(self) -> str:
        return self._model

    @property
    def fingerprint(self) -> str:
        return self._model

    @property
    def is_model(self) -> bool:
        return True

    @property
    def tape(self) -> Tape | None:
        """The tape that replies are recorded on."""
        return self._tape

    @property
    def budget(self) -> Budget:
        """The budget that the calls are made under."""
        return self._budget

    def ask(self, request: TeacherRequest, *, before: Attempt | None = None, booked: bool = False) -> TeacherReply:
        """Return the recorded reply to this very request, else the model's, validated and recorded.

        `before` is an unusable reply that came another way (in a batch): the first call of the exchange, which is `booked`
        where its costs are in the results of another run.

        Raises the ModelErrors of `litellm_client.complete`, BudgetReached, and MalformedReply, TruncatedReply, RefusedReply or
        another ReplyError (with the model's words in `raw`, which are kept in the ledger) when the bounded re-asking did not
        help. `spent` of each says what was paid until then.
        """
        recorded = self._tape.find(self._model, request) if self._tape is not None else None
        if recorded is not None:
            return recorded
        exchange = _Exchange(self, request, [before] if before else [], booked=int(booked and before is not None))
        began = time.monotonic()
        status = "error"
        try:
            payload = exchange.run()
            status = "ok"
        except DragGraphError as error:
            error.spent = exchange.spent()
            if isinstance(error, ReplyError):
                status = "quarantined"
                if self._tape is not None:
                    self._tape.quarantine(self._model, request, error, exchange.attempts)
                    error.hint = f"{error.hint} `drag-graph tape quarantined` shows the raw reply.".strip()
            raise
        finally:
            took = round((time.monotonic() - began) * 1000)
            stage, query, requests = request.stage, request.source.id, len(exchange.attempts)
            log.event("teacher call", stage=stage, query=query, duration_ms=took, status=status, requests=requests)
        reply = self.keep(request, payload, exchange.attempts)
        return reply if reply.cached else replace(reply, requests=len(exchange.attempts) - exchange.booked)

    def keep(self, request: TeacherRequest, payload: Reply, attempts: Sequence[Attempt]) -> TeacherReply:
        """Record a validated reply with its calls, and return it, or the one that was recorded before."""
        if self._tape is not None:
            return self._tape.record(self._model, request, payload, attempts)
        *earlier, call = calls_of(self._model, request, [attempt.facts(self._model) for attempt in attempts])
        return TeacherReply(payload, call, requests=len(attempts), earlier=tuple(earlier))

    def close(self) -> None:
        """There is nothing to release: the ledger is its owner's."""

    @property
    def by_schema(self) -> bool:
        """Whether a reply's shape is asked for by JSON schema; else in words only."""
        if self._by_schema is None:
            self._by_schema = litellm_client.supports_schema(self._server.model, self._server.base_url)
        return self._by_schema

    def use_words(self) -> None:
        """Remember that the server takes no JSON schema."""
        self._by_schema = False

    def first(self, request: TeacherRequest, *, by_schema: bool) -> tuple[list[Message], dict[str, Any]]:
        """Return the messages and parameters that `request` is made with the first time."""
        messages = _Exchange(self, request).shaped(_plain(request.messages), by_schema=by_schema)
        return messages, self.parameters(request, by_schema=by_schema)

    def check_privacy(self, request: TeacherRequest) -> None:
        """Raise Withheld where the request must not leave this machine."""
        litellm_client.check_privacy(self._server, {"messages": request.messages})

    def parameters(self, request: TeacherRequest, *, by_schema: bool) -> dict[str, Any]:
        """Return a request's parameters. A bounded schema says how long its reply can be, and so the limit."""
        limit, response_format = self._max_tokens, {}
        if by_schema:
            schema = request.schema.json_schema
            if self._bounded:
                most = request.count or _TRIPLES_EACH * len(request.texts)
                schema = request.schema.bounded_schema(most)
                limit = min(limit, request.schema.longest(most) // _CHARACTERS_A_TOKEN)
            named = {"name": request.schema.schema_name, "schema": schema, "strict": True}
            response_format = {"response_format": {"type": "json_schema", "json_schema": named}}
        return {"max_tokens": limit, **request.parameters, **response_format}

    def send(self, messages: list[Message], parameters: Mapping[str, Any]) -> Completion:
        """Make one request under the budget."""
        estimate = self.most(messages, parameters, litellm_client.price_of)
        self._check()
        reservation = self._budget.reserve(estimate)

        def on_lost(again: bool) -> None:
            nonlocal reservation
            self._budget.settle(reservation, estimate)
            if again:
                reservation = self._budget.reserve(estimate)

        cost = estimate  # what ends unforeseen, by Ctrl-C for one, may have been charged
        try:
            self._check()  # the budget may have been waited for
            completion = litellm_client.complete(self._server, messages, on_lost=on_lost, **parameters)
            # Another tokenizer's count may be too low: where the server told none, the most that it can have been is kept.
            cost = max(completion.cost_usd, estimate) if completion.counted_here else completion.cost_usd
        except DragGraphError:
            cost = 0.0  # what may have been charged until then is settled by `on_lost`
            raise
        finally:
            self._budget.settle(reservation, cost)
        return completion

    def most(self, messages: list[Message], parameters: Mapping[str, Any], price_of: prices.Price) -> float:
        """Return the most that a request can cost in US dollars; 0 where there is no limit or, said once, no price."""
        if not self._budget.limited:
            if price_of(self._model, 0, 0) is None:
                self._say_unpriced()
            return 0.0
        found = prices.most(self._model, messages, parameters, price_of)
        if found is None:
            raise prices.unpriced(self._model)
        return found

    def _say_unpriced(self) -> None:
        with self._lock:
            said, self._said_unpriced = self._said_unpriced, True
        if not said:
            log.event("no price is known for the model; its calls count as free", level=logging.INFO, model=self._model)


@dataclass
class _Exchange:
    """One request's way to a usable reply: its `attempts`, of which the first `booked` are not paid for now.

    Cut off: one continuation, of which the whole entries are kept if it is cut off, too; where there is none, one smaller ask.
    Refused: one reformulation. Malformed: asked again with what was wrong, then with the simpler prompt. At most 6 replies are
    paid for, whatever order these come in.
    """

    teacher: LiteLLMTeacher
    request: TeacherRequest
    attempts: list[Attempt] = field(default_factory=list)
    booked: int = 0
    reasks: int = 0
    smaller: bool = False
    reformulated: bool = False

    def run(self) -> Reply:
        """Return the validated reply."""
        messages = _plain(self.request.messages)
        continued = False
        while True:
            text, finish_reason = self._send(messages)
            try:
                return self._read(text, finish_reason)
            except CutOff:
                if not continued and text.strip():
                    continued = True
                    found = self._continue(messages, text)
                    if found is not None:
                        return found
                messages = self._ask_smaller(text)
            except Refused:
                messages = self._reformulate(text)
            except Unreadable as problem:
                messages = self._ask_again(messages, text, str(problem))

    def _read(self, text: str, finish_reason: str) -> Reply:
        return fit(read(text, self.request.schema, finish_reason=finish_reason), self.request)

    def _send(self, messages: list[Message]) -> tuple[str, str]:
        """Return a reply and why it ended; where the server takes no JSON schema, asks again without."""
        by_schema = self.teacher.by_schema  # another thread may find out meanwhile that the server takes none
        try:
            try:
                completion = self._sent(self.shaped(messages, by_schema=by_schema), by_schema)
            except RequestRejected:
                if not by_schema:
                    raise
                completion = self._sent(self.shaped(messages, by_schema=False))
                self.teacher.use_words()
        except RefusedReply:
            return "", "content_filter"
        return completion.text, completion.finish_reason

    def _sent(self, messages: list[Message], by_schema: bool = False) -> Completion:
        parameters = self.teacher.parameters(self.request, by_schema=by_schema)
        completion = self.teacher.send(messages, parameters)
        self.attempts.append(attempt_of(completion, messages, parameters))
        return completion

    def shaped(self, messages: list[Message], *, by_schema: bool) -> list[Message]:
        """Return the messages with what the shape of the reply needs said in words."""
        first_try = not (self.reasks or self.smaller or self.reformulated)
        return messages if by_schema and first_try else _added(messages, _in_words(self.request.schema))

    def _continue(self, messages: list[Message], partial: str) -> Reply | None:
        """Ask for the rest of `partial`; return the reply, of one cut off again the whole entries, or None without any."""
        go_on = _CONTINUE.format(schema=self.request.schema.schema_name)
        asked = [*messages, {"role": "assistant", "content": partial}, {"role": "user", "content": go_on}]
        completion = self._sent(asked)
        anew = f'"{self.request.schema.schema_name}"' in completion.text  # some models start again from the beginning
        for whole in (join(partial, completion.text), *([completion.text] if anew else [])):
            try:
                return self._read(whole, completion.finish_reason)
            except Unreadable:
                continue
        for cut in (join(partial, completion.text), partial):
            try:
                return fit(read_whole_entries(cut, self.request.schema), self.request)
            except Unreadable:
                continue
        return None

    def _ask_smaller(self, text: str) -> list[Message]:
        if self.smaller:
            raise TruncatedReply(
                "the teacher's reply was cut off, again after continuing it and after asking for less", raw=text
            )
        self.smaller = True
        most = max(1, self.request.count // 2) if self.request.count else 10
        messages = _plain(self.request.simpler or self.request.messages)
        return _added(messages, f"Keep it short: give at most {most} entries of at most 25 words each.")

    def _reformulate(self, text: str) -> list[Message]:
        if self.reformulated:
            raise RefusedReply("the teacher declined to answer, also after a reformulation", raw=text)
        self.reformulated = True
        messages = _plain(self.request.messages)
        return [*messages[:-1], {**messages[-1], "content": _REFORMULATE + messages[-1]["content"]}]

    def _ask_again(self, messages: list[Message], text: str, problem: str) -> list[Message]:
        self.reasks += 1
        if self.reasks > REASKS:
            raise MalformedReply(f"the teacher's reply cannot be used after asking again: {problem}", raw=text)
        stage, query = self.request.stage, self.request.source.id
        log.event("asking again", stage=stage, query=query, status="malformed", attempt=self.reasks)
        if self.reasks == REASKS:
            return _plain(self.request.simpler or self.request.messages)
        reply = [{"role": "assistant", "content": text[:_QUOTED]}] if text.strip() else []
        return [*messages, *reply, {"role": "user", "content": f"That reply cannot be used: {problem}. Please reply again."}]

    def spent(self) -> Spent | None:
        """Return what was paid so far, or None when no model has answered."""
        paid = self.attempts[self.booked :]
        if not paid:
            return None
        sums = ([getattr(attempt, name) for attempt in paid] for name in ("tokens_in", "tokens_out", "cost_usd"))
        tokens_in, tokens_out, cost = map(sum, sums)
        return Spent(len(paid), tokens_in, tokens_out, cost)


def attempt_of(completion: Completion, messages: list[Message], parameters: Mapping[str, Any]) -> Attempt:
    """Return the record of a request and its reply."""
    took = (completion.tokens_in, completion.tokens_out, completion.cost_usd, completion.latency_ms)
    return Attempt(messages, parameters, completion.text, *took)


def _plain(messages: tuple[Mapping[str, str], ...]) -> list[Message]:
    return [dict(message) for message in messages]


def _added(messages: list[Message], words: str) -> list[Message]:
    """Return the messages with `words` at the end of the last."""
    return [*messages[:-1], {**messages[-1], "content": f"{messages[-1]['content']}\n\n{words}"}]


def _in_words(schema: type[Reply]) -> str:
    shape = json.dumps(schema.json_schema)
    return f'Reply with one JSON object of the schema "{schema.schema_name}" and nothing else. The JSON schema is: {shape}'
