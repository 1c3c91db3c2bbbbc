"""An answer as server-sent events."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from typing import Any

from fastapi.responses import StreamingResponse

from drag_graph.concurrency.interruption import interrupted
from drag_graph.ports.model_roles import OnToken
from drag_graph.service.ask_queue import AskQueue
from drag_graph.service.errors import body_of, log_unexpected

EVENT_STREAM = "text/event-stream"
SILENCE = 15.0
"""Seconds after which a comment is sent, so that nothing between client and service closes the connection."""
Ask = Callable[[OnToken | None], Mapping[str, Any]]


def event(name: str, document: Mapping[str, Any]) -> str:
    """Return a server-sent event. JSON escapes line breaks, so its data is one line."""
    return f"event: {name}\ndata: {json.dumps(document, ensure_ascii=False)}\n\n"


def event_stream(events: AsyncIterator[str]) -> StreamingResponse:
    """Return a reply that sends each event immediately."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type=EVENT_STREAM, headers=headers)


class OwnEvents:
    """The events of a stream: one for each part of the answer, and the last one."""

    def token(self, text: str) -> str:
        """Return the event of a further part of the answer."""
        return event("token", {"text": text})

    def answer(self, document: Mapping[str, Any]) -> str:
        """Return the event of the whole answer."""
        return event("answer", document)

    def error(self, error: BaseException) -> str:
        """Return the event that ends a failed answer."""
        return event("error", body_of(error))


def streamed(asks: AskQueue, ask: Ask, events: OwnEvents | None = None) -> StreamingResponse:
    """Return the reply that streams an answer: an event for each token, then one for the answer, or for an error.

    If the client disconnects, the student is stopped at its next token. Raises RequestRefused if too many questions wait.
    """
    loop, tokens, left = asyncio.get_running_loop(), asyncio.Queue[str](), threading.Event()

    def on_token(text: str) -> None:
        if left.is_set():
            raise interrupted()
        loop.call_soon_threadsafe(tokens.put_nowait, text)

    future = asks.submit(lambda: ask(on_token))
    return event_stream(_events(asks, future, tokens, left, events or OwnEvents()))


async def _events(
    asks: AskQueue, future: Future[Mapping[str, Any]], tokens: asyncio.Queue[str], left: threading.Event, events: OwnEvents
) -> AsyncIterator[str]:
    result = asyncio.ensure_future(asks.result(future))
    try:
        while not result.done() or not tokens.empty():
            waiting = asyncio.ensure_future(tokens.get())
            await asyncio.wait({waiting, result}, timeout=SILENCE, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                yield events.token(waiting.result())
                continue
            waiting.cancel()
            if not result.done():
                yield ": waiting\n\n"
            elif tokens.empty():
                break
        yield events.answer(result.result())
    except Exception as error:  # noqa: BLE001 - the reply has begun, so the error is sent as an event
        log_unexpected(error)
        yield events.error(error)
    finally:
        left.set()
        result.cancel()
