"""Statements of one transaction of an embedded store, and when to plan them again."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

from drag_graph.graph.paging import pages
from drag_graph.stores.ladybug.ladybug_errors import translate
from drag_graph.stores.shared.cypher_files import load
from drag_graph.stores.shared.transaction import Row

IDS_AT_ONCE = 32
"""The engine processes the rows that a statement was planned with again in every later call."""
FIRST_PLANS = 32
"""Executions of a statement before it is planned again; the number then grows by a factor of four each time."""


class Plans:
    """Age of the plans of statements.

    A connection keeps the first plan of each statement. A plan from an empty store scans whole tables, so connections are
    replaced as the store grows.
    """

    def __init__(self) -> None:
        self._executed: Counter[str] = Counter()
        self._until: dict[str, int] = {}

    def note(self, name: str) -> None:
        """Count an execution of a statement."""
        self._executed[name] += 1

    def are_old(self) -> bool:
        """Return whether a statement has been executed often since it was planned, and count it as planned again."""
        executed = list(self._executed.items())  # a copy: other threads add to it
        old = [(name, 4 * number) for name, number in executed if number >= self._until.get(name, FIRST_PLANS)]
        self._until.update(old)
        return bool(old)


class LadybugTransaction:
    """A connection with a transaction open on it (see `Transaction`). `check` is called before each row is returned."""

    perhaps_done = False
    changed_vectors: Collection[str] | None = None
    changed_edges = False
    changed_links = False
    """Whether it may change edges, or which concepts entities refer to, although no vector changes."""

    def __init__(
        self, connection: Any, location: str, check: Callable[[], None] | None = None, plans: Plans | None = None
    ) -> None:
        self._connection = connection
        self._location = location
        self._check = check
        self._plans = plans

    def run(self, name: str, /, **parameters: Any) -> list[Row]:
        """Execute the statement of that name (`cypher/ladybug`, `cypher/common`) and return its rows. Raises StoreError."""
        return list(self.stream(name, **parameters))

    def stream(self, name: str, /, **parameters: Any) -> Iterator[Row]:
        """Yield the rows that `run` returns. Nothing else may be executed meanwhile."""
        if self._plans:
            self._plans.note(name)
        yield from rows_of(self._connection, *load(name, "ladybug").bind(**parameters), self._location, self._check)

    def run_by_ids(self, name: str, ids: Iterable[str], /, **parameters: Any) -> list[Row]:
        """Run a statement for distinct ids, a few at a time, and return its rows."""
        return [row for page in pages(dict.fromkeys(ids), IDS_AT_ONCE) for row in self.run(name, ids=page, **parameters)]

    def execute(self, text: str, parameters: dict[str, Any] | None = None) -> list[Row]:
        """Execute a text from a file, or the engine's transaction control, and return its rows. Raises StoreError."""
        return list(rows_of(self._connection, text, parameters, self._location, self._check))


def rows_of(
    connection: Any, text: str, parameters: dict[str, Any] | None, location: str, check: Callable[[], None] | None = None
) -> Iterator[Row]:
    """Execute a text and yield its rows as dictionaries, each after a `check`. Raises StoreError, never the engine's own."""
    try:
        result = connection.execute(text, parameters or {})
        try:
            names = result.get_column_names()
            while result.has_next():
                row = dict(zip(names, result.get_next(), strict=True))
                if check:
                    check()
                yield row
        finally:
            result.close()
    except (RuntimeError, ValueError, LookupError, OverflowError, MemoryError) as error:
        if check:
            check()
        raise translate(str(error), location) from error
    if check:
        check()
