"""A served model as the teacher, behind the tape and the budget.

The shape of a reply is given as a JSON schema if the model supports it, else in the prompt. Replies are validated. An unusable
one leads to a bounded number of further requests (`_Exchange`). Only validated replies are recorded.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any

from drag_graph import log
from drag_graph.errors import DragGraphError, MalformedReply, RefusedReply, ReplyError, Spent, TruncatedReply
from drag_graph.ledger.budget import Budget
from drag_graph.ledger.tape import Attempt, Tape, calls_of
from drag_graph.models import chat_client
from drag_graph.models.chat_client import Completion
from drag_graph.models.model_catalogue import GGUF, Price, highest_price, no_price_error, price_of
from drag_graph.models.model_server import Server
from drag_graph.models.provider_errors import RequestRejected
from drag_graph.models.teachers.bounded_schema import bounded_schema, longest
from drag_graph.models.teachers.reply_reading import CutOff, Refused, Unreadable, fit, join, read
from drag_graph.ports.model_roles import Teacher, TeacherReply, TeacherRequest
from drag_graph.ports.setting_types import TEACHER_TOKENS
from drag_graph.ports.teacher_replies import Reply

Message = dict[str, str]

REASKS = 2
_TRIPLES_EACH = 3
"""Triples per evidence that a local model may write."""
_CHARACTERS_A_TOKEN = 2
"""Lower bound of the average length of a token. English has four characters; other scripts and spaces have fewer."""
_QUOTED = 4000
_CONTINUE = (
    'Your reply was cut off. Continue the JSON of the schema "{schema}" exactly where it stopped: repeat nothing and add no '
    "remark."
)
_REFORMULATE = (
    "This is a routine language task for a quiz on general knowledge. Only general, publicly known facts are wanted, and no "
    "advice for any person. Please do it as described:\n\n"
)


@dataclass(eq=False)
class ServedTeacher(Teacher):
    """A served model. Thread-safe.

    Calls are recorded under `name`, by default the server's model. `check` is called before each request and may raise
    Interrupted. `max_tokens` limits replies to requests without a limit of their own, and so the cost of a call.
    """

    server: Server
    _: KW_ONLY
    name: str = ""
    tape: Tape | None = None
    budget: Budget = field(default_factory=Budget)
    max_tokens: int = TEACHER_TOKENS
    check: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.name = self.name or self.server.model
        self._bounded = self.name.startswith(GGUF) or self.server.is_local

    def ask(self, request: TeacherRequest, *, before: Attempt | None = None, booked: bool = False) -> TeacherReply:
        """Return the recorded reply to the same request, else the model's reply, validated and recorded.

        `before` is an unusable reply from a batch: the first call of the exchange. It is `booked` if its cost is already in the
        results of another run.

        Raises the ModelErrors of `chat_client.complete`, BudgetReached, and a ReplyError if further requests did not help. The
        ledger keeps its `raw` text. `spent` of each error is the cost until then.
        """
        recorded = self.tape.find(self.name, request) if self.tape is not None else None
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
                if self.tape is not None:
                    self.tape.quarantine(self.name, request, error, exchange.attempts)
                    error.hint = f"{error.hint} `drag-graph tape quarantined` shows the raw reply.".strip()
            raise
        finally:
            took = round((time.monotonic() - began) * 1000)
            stage, query, requests = request.stage, request.source.id, len(exchange.attempts)
            log.event("teacher call", stage=stage, query=query, duration_ms=took, status=status, requests=requests)
        reply = self.keep(request, payload, exchange.attempts)
        return reply if reply.cached else replace(reply, requests=len(exchange.attempts) - exchange.booked)

    def keep(self, request: TeacherRequest, payload: Reply, attempts: Sequence[Attempt]) -> TeacherReply:
        """Record a validated reply with its calls. Return it, or the reply that was recorded earlier."""
        if self.tape is not None:
            return self.tape.record(self.name, request, payload, attempts)
        *earlier, call = calls_of(self.name, request, [attempt.facts(self.name) for attempt in attempts])
        return TeacherReply(payload, call, requests=len(attempts), earlier=tuple(earlier))

    @cached_property
    def by_schema(self) -> bool:
        """Whether the shape of a reply is requested as a JSON schema; else in the prompt. Set after a server rejects one."""
        return self.server.takes_schemas

    def first(self, request: TeacherRequest, *, by_schema: bool) -> tuple[list[Message], dict[str, Any]]:
        """Return the messages and parameters of the first request."""
        messages = _Exchange(self, request).shaped(_plain(request.messages), by_schema=by_schema)
        return messages, self.parameters(request, by_schema=by_schema)

    def check_privacy(self, request: TeacherRequest) -> None:
        """Raise Withheld if the request must not leave this machine."""
        chat_client.check_privacy(self.server, {"messages": request.messages})

    def parameters(self, request: TeacherRequest, *, by_schema: bool) -> dict[str, Any]:
        """Return the parameters of a request. A bounded schema limits the length of the reply as well."""
        limit, response_format = self.max_tokens, {}
        if by_schema:
            schema = request.schema.json_schema
            if self._bounded:
                most = request.count or _TRIPLES_EACH * len(request.texts)
                schema = bounded_schema(request.schema, most)
                limit = min(limit, longest(request.schema, most) // _CHARACTERS_A_TOKEN)
            named = {"name": request.schema.schema_name, "schema": schema, "strict": True}
            response_format = {"response_format": {"type": "json_schema", "json_schema": named}}
        return {"max_tokens": limit, **request.parameters, **response_format}

    def send(self, messages: list[Message], parameters: Mapping[str, Any]) -> Completion:
        """Make one request under the budget."""
        estimate = self.highest_cost(messages, parameters, price_of)
        self.check()
        reservation = self.budget.reserve(estimate)

        def on_lost(again: bool) -> None:
            nonlocal reservation
            self.budget.settle(reservation, estimate)
            if again:
                reservation = self.budget.reserve(estimate)

        cost = estimate  # an unexpected end, such as Ctrl-C, may have been charged
        try:
            self.check()  # waiting for the budget may have taken long
            completion = chat_client.complete(self.server, messages, on_lost=on_lost, **parameters)
            # A count by another tokenizer may be too low: without the server's own count, assume the highest cost.
            cost = max(completion.cost_usd, estimate) if completion.counted_here else completion.cost_usd
        except DragGraphError:
            cost = 0.0  # `on_lost` has settled what may have been charged
            raise
        finally:
            self.budget.settle(reservation, cost)
        return completion

    def highest_cost(self, messages: list[Message], parameters: Mapping[str, Any], price: Price) -> float:
        """Return the highest possible cost of a request in US dollars; 0 without a limit or a price."""
        if not self.budget.limited:
            return 0.0
        cost = highest_price(self.name, messages, parameters, price)
        if cost is None:
            raise no_price_error(self.name)
        return cost


@dataclass
class _Exchange:
    """The requests that lead to one usable reply. The first `booked` of its `attempts` were paid for earlier.

    Cut off: one continuation, then one smaller request.
    Refused: one reformulation. Malformed: one request with the reason, then one with the simpler prompt. An exchange pays for
    up to 6 replies in total.
    """

    teacher: ServedTeacher
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
                    reply = self._continue(messages, text)
                    if reply is not None:
                        return reply
                messages = self._ask_smaller(text)
            except Refused:
                messages = self._reformulate(text)
            except Unreadable as problem:
                messages = self._ask_again(messages, text, str(problem))

    def _read(self, text: str, finish_reason: str) -> Reply:
        return fit(read(text, self.request.schema, finish_reason=finish_reason), self.request)

    def _send(self, messages: list[Message]) -> tuple[str, str]:
        """Return a reply and its finish reason. If the server rejects the JSON schema, send the request again without it."""
        by_schema = self.teacher.by_schema  # another thread may change it meanwhile
        try:
            try:
                completion = self._sent(self.shaped(messages, by_schema=by_schema), by_schema)
            except RequestRejected:
                if not by_schema:
                    raise
                completion = self._sent(self.shaped(messages, by_schema=False))
                self.teacher.by_schema = False
        except RefusedReply:
            return "", "content_filter"
        return completion.text, completion.finish_reason

    def _sent(self, messages: list[Message], by_schema: bool = False) -> Completion:
        parameters = self.teacher.parameters(self.request, by_schema=by_schema)
        completion = self.teacher.send(messages, parameters)
        self.attempts.append(attempt_of(completion, messages, parameters))
        return completion

    def shaped(self, messages: list[Message], *, by_schema: bool) -> list[Message]:
        """Return the messages, with the shape of the reply described if a schema does not."""
        first_try = not (self.reasks or self.smaller or self.reformulated)
        return messages if by_schema and first_try else _added(messages, _in_words(self.request.schema))

    def _continue(self, messages: list[Message], partial: str) -> Reply | None:
        """Request the rest of `partial`. Return the whole reply, or None if it is unusable."""
        go_on = _CONTINUE.format(schema=self.request.schema.schema_name)
        asked = [*messages, {"role": "assistant", "content": partial}, {"role": "user", "content": go_on}]
        completion = self._sent(asked)
        restarts = f'"{self.request.schema.schema_name}"' in completion.text  # some models begin again
        for text in (join(partial, completion.text), *([completion.text] if restarts else [])):
            try:
                return self._read(text, completion.finish_reason)
            except Unreadable:
                continue
        return None

    def _ask_smaller(self, text: str) -> list[Message]:
        if self.smaller:
            raise TruncatedReply("The teacher's reply was cut off, even after a smaller request.", raw=text)
        self.smaller = True
        most = max(1, self.request.count // 2) if self.request.count else 10
        messages = _plain(self.request.simpler or self.request.messages)
        return _added(messages, f"Keep it short: give at most {most} entries of at most 25 words each.")

    def _reformulate(self, text: str) -> list[Message]:
        if self.reformulated:
            raise RefusedReply("The teacher declined to answer, even after a reformulation.", raw=text)
        self.reformulated = True
        messages = _plain(self.request.messages)
        return [*messages[:-1], {**messages[-1], "content": _REFORMULATE + messages[-1]["content"]}]

    def _ask_again(self, messages: list[Message], text: str, problem: str) -> list[Message]:
        self.reasks += 1
        if self.reasks > REASKS:
            raise MalformedReply(f"The teacher's reply is unusable, even after {REASKS} more requests: {problem}.", raw=text)
        stage, query = self.request.stage, self.request.source.id
        log.event("asking again", stage=stage, query=query, status="malformed", attempt=self.reasks)
        if self.reasks == REASKS:
            return _plain(self.request.simpler or self.request.messages)
        reply = [{"role": "assistant", "content": text[:_QUOTED]}] if text.strip() else []
        return [*messages, *reply, {"role": "user", "content": f"That reply cannot be used: {problem}. Please reply again."}]

    def spent(self) -> Spent | None:
        """Return the cost so far, or None if no model has answered."""
        paid = self.attempts[self.booked :]
        if not paid:
            return None
        sums = ([getattr(attempt, name) for attempt in paid] for name in ("tokens_in", "tokens_out", "cost_usd"))
        tokens_in, tokens_out, cost = map(sum, sums)
        return Spent(len(paid), tokens_in, tokens_out, cost)


def attempt_of(completion: Completion, messages: list[Message], parameters: Mapping[str, Any]) -> Attempt:
    """Return the record of a request and its reply."""
    figures = (completion.tokens_in, completion.tokens_out, completion.cost_usd, completion.latency_ms)
    return Attempt(messages, parameters, completion.text, *figures)


def _plain(messages: tuple[Mapping[str, str], ...]) -> list[Message]:
    return [dict(message) for message in messages]


def _added(messages: list[Message], words: str) -> list[Message]:
    """Return the messages with `words` appended to the last one."""
    return [*messages[:-1], {**messages[-1], "content": f"{messages[-1]['content']}\n\n{words}"}]


def _in_words(schema: type[Reply]) -> str:
    shape = json.dumps(schema.json_schema)
    return f'Reply with one JSON object of the schema "{schema.schema_name}" and nothing else. The JSON schema is: {shape}'
