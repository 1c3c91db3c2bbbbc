"""`AsyncDragGraph`: `DragGraph` for asyncio. Its methods are derived from those of `DragGraph`, not written a second time."""

import asyncio
import contextvars
import inspect
import os
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial, wraps
from itertools import islice
from types import FunctionType, TracebackType
from typing import Any, Self, get_origin

from drag_graph.app.application import DragGraph
from drag_graph.app.resources import ResourceUser
from drag_graph.settings import Settings

THREADS = 32
"""Calls that are made at the same time."""
ITEMS_AT_ONCE = 100
"""Number of items that one call reads from an iterator."""
NOT_DERIVED = frozenset({"close", "in_namespace", "settings"})


class _InThreads:
    """Calls the methods of an object in threads, so that the event loop goes on."""

    def __init__(self, target: object, executor: ThreadPoolExecutor) -> None:
        self._target = target
        self._executor = executor

    async def _call(self, method: Callable[..., Any], *args: Any, **values: Any) -> Any:
        context = contextvars.copy_context()
        work = partial(context.run, method, *args, **values)
        return await asyncio.get_running_loop().run_in_executor(self._executor, work)


def _derived(kind: type) -> dict[str, Any]:
    """Return for each public method of a class a coroutine of the same signature, and for each group a derived group."""
    members: dict[str, Any] = {}
    for name, member in inspect.getmembers_static(kind):
        if name.startswith("_") or name in NOT_DERIVED:
            continue
        if isinstance(member, FunctionType):
            # Context managers are annotated as iterators as well.
            is_stream = get_origin(member.__annotations__.get("return")) is Iterator and not hasattr(member, "__wrapped__")
            members[name] = (_stream if is_stream else _coroutine)(name, member)
        elif isinstance(member, cached_property) and issubclass(group := member.func.__annotations__["return"], ResourceUser):
            members[name] = _group(name, group)
    return members


def _coroutine(name: str, method: FunctionType) -> Callable[..., Any]:
    @wraps(method)
    async def call(self: _InThreads, *args: Any, **values: Any) -> Any:
        return await self._call(getattr(self._target, name), *args, **values)

    return call


def _stream(name: str, method: FunctionType) -> Callable[..., Any]:
    @wraps(method)
    async def iterate(self: _InThreads, *args: Any, **values: Any) -> AsyncIterator[Any]:
        items = await self._call(getattr(self._target, name), *args, **values)
        while page := await self._call(lambda: list(islice(items, ITEMS_AT_ONCE))):
            for item in page:
                yield item

    return iterate


def _group(name: str, kind: type[ResourceUser]) -> property:
    derived = type(f"Async{kind.__name__}", (_InThreads,), {"__doc__": kind.__doc__, **_derived(kind)})
    return property(lambda self: derived(getattr(self._target, name), self._executor), doc=kind.__doc__)


class AsyncDragGraph(_InThreads):
    """`DragGraph` whose methods are coroutines: `await graph.ask(...)`, `await graph.store.verify()`.

    Arguments and results are those of `DragGraph`, but iterators are asynchronous: `async for line in graph.export()`. A call
    runs in a thread, so the event loop goes on meanwhile; cancelling the coroutine does not stop it. With `wait=False`, `await`
    the handle of a run for its report. Type checkers see the derived methods as `Any`. Use it as an asynchronous context
    manager, or await `close`.
    """

    vars().update(_derived(DragGraph))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def __init__(self, store: str | os.PathLike[str] | None = None, *, settings: Settings | None = None, **values: Any) -> None:
        self._start(DragGraph(store, settings=settings, **values))

    def _start(self, graph: DragGraph) -> None:
        super().__init__(graph, ThreadPoolExecutor(THREADS, thread_name_prefix="drag-graph"))
        self._graph = graph

    @property
    def settings(self) -> Settings:
        """The settings that every method uses unless a call overrides them."""
        return self._graph.settings

    def in_namespace(self, namespace: str) -> Self:
        """Return the same graph in another namespace; models and connections are shared."""
        other = object.__new__(type(self))
        other._start(self._graph.in_namespace(namespace))
        return other

    async def close(self) -> None:
        """Close the store and the models."""
        await self._call(self._graph.close)  # the threads end with this object, so later calls still raise our own error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
