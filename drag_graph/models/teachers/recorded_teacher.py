"""A teacher of another package, behind the tape and the budget."""

import json

from drag_graph.errors import ConfigurationError, Withheld
from drag_graph.ledger.budget import Budget
from drag_graph.ledger.tape import Attempt, Tape
from drag_graph.ports.model_roles import Teacher, TeacherReply, TeacherRequest


class RecordedTeacher(Teacher):
    """Records the replies of `inner` under its fingerprint, so that a changed teacher is asked again. Thread-safe.

    `highest_usd` is the most that one call costs, in US dollars. With a budget, this amount is reserved before a call, and a
    failed call costs all of it. Raises ConfigurationError if there is a budget and `highest_usd` is None.
    """

    def __init__(self, inner: Teacher, tape: Tape, budget: Budget, highest_usd: float | None) -> None:
        if budget.limited and highest_usd is None:
            hint = "Leave out `budget_usd=LIMIT`, or set `highest_cost_usd` of the teacher in its package."
            message = f"The highest price of a call to {inner.name!r} is not known, so the budget cannot be enforced."
            raise ConfigurationError(message, hint=hint)
        self._inner, self._tape, self._budget = inner, tape, budget
        self._highest_usd = (highest_usd or 0.0) if budget.limited else 0.0

    @property
    def name(self) -> str:
        return self._inner.fingerprint

    @property
    def is_model(self) -> bool:
        return self._inner.is_model

    def ask(self, request: TeacherRequest) -> TeacherReply:
        """Return the recorded reply to the same request, else ask the teacher and record its reply."""
        if recorded := self._tape.find(self.name, request):
            return recorded
        reservation, cost = self._budget.reserve(self._highest_usd), self._highest_usd
        try:
            reply = self._inner.ask(request)
            cost = sum(call.cost_usd for call in reply.calls)
        except Withheld:
            cost = 0.0
            raise
        finally:
            self._budget.settle(reservation, cost)
        text = json.dumps(reply.payload.model_dump(mode="json"))
        attempts = [
            Attempt(request.messages, request.parameters, text, call.tokens_in, call.tokens_out, call.cost_usd, call.latency_ms)
            for call in reply.calls
        ]
        return self._tape.record(self.name, request, reply.payload, attempts)

    def close(self) -> None:
        """Close the teacher."""
        self._inner.close()
