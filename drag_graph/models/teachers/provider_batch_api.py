"""Files and batches of a provider, through LiteLLM and the project's only retry loop (docs/decisions/0007-batches.md).

The interface is OpenAI's: a file with one request per line is uploaded, and a batch is created from it. The provider processes
it within a day. Its replies are a file again, and failed lines another.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pydantic import ValidationError

from drag_graph.errors import ConfigurationError, ModelUnavailable, UnknownModel
from drag_graph.models.chat_client import Kind, manage
from drag_graph.models.litellm_library import load_litellm, provider_of
from drag_graph.models.model_catalogue import litellm_name
from drag_graph.models.model_server import Server
from drag_graph.models.provider_errors import RequestRejected

ENDPOINT: Final = "/v1/chat/completions"
MARK = "drag_graph"
"""The key of a batch's metadata that holds its token."""
MOST_REQUESTS = 50_000
MOST_BYTES = 100_000_000
"""Maximum size of a batch at the providers of this interface (OpenAI: 50,000 requests and 200 MB)."""
HOURS = 24
LATE = timedelta(hours=2)
"""How long to wait for a batch after the provider's own deadline."""
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_TRANSFER_SECONDS = 600.0
_PAGE = 100
_CLOCK_SKEW = timedelta(hours=1)
_WITH_ADDRESS = frozenset({"hosted_vllm", "litellm_proxy"})
_PROVIDERS = frozenset({"openai", "azure"})
_NOT_THERE = frozenset({404, 405, 501})
_ONE_BY_ONE = "Leave out `batch=True` to send the requests one by one."


@dataclass(frozen=True, slots=True)
class BatchState:
    """The state of a batch. Times are seconds since 1970, `codes` the reasons of a failure, `token` our mark."""

    id: str
    status: str
    total: int = 0
    completed: int = 0
    failed: int = 0
    created_at: int = 0
    expires_at: int = 0
    output_file: str = ""
    error_file: str = ""
    codes: tuple[str, ...] = field(default=())
    token: str = ""

    @property
    def ended(self) -> bool:
        """Whether its replies are complete."""
        return self.status in ENDED

    @property
    def until(self) -> datetime:
        """When the provider gives it up."""
        return datetime.fromtimestamp(self.expires_at, UTC)

    @property
    def awaited(self) -> bool:
        """Whether it has not ended and the provider may still end it."""
        return not self.ended and datetime.now(UTC) < self.until + LATE


def check_support(model: str, base_url: str = "") -> None:
    """Raise ConfigurationError if LiteLLM does not support the batches of the model's provider as they are used here.

    Without the list of batches and their metadata, a batch could be created twice. Whether a server at a base URL has the API
    shows when the first file is uploaded. Raises UnknownModel as well.
    """
    provider = provider_of(litellm_name(model, base_url))
    # Without an address, LiteLLM would send the files of the providers in _WITH_ADDRESS to OpenAI.
    if provider in _PROVIDERS or (base_url and provider in _WITH_ADDRESS):
        return
    hint = "Leave out `batch=True`, or use a model of OpenAI or Azure, or a server with OpenAI's batch API."
    raise ConfigurationError(f"The provider {provider!r} of {model!r} has no batch API that drag-graph supports.", hint=hint)


class BatchApi:
    """Uploads, creates, finds and reads batches of one model.

    Every method raises the ModelErrors of `chat_client.complete`, and ConfigurationError if the server has no batch API.
    """

    def __init__(self, server: Server) -> None:
        self._server = server

    def body(self, messages: Sequence[Mapping[str, str]], parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of a request with the parameters that the provider supports, as LiteLLM would send it."""
        litellm = load_litellm()
        name, provider, _, _ = litellm.get_llm_provider(litellm_name(self._server.model, self._server.base_url))
        mapped = litellm.utils.get_optional_params(model=name, custom_llm_provider=provider, drop_params=True, **parameters)
        extra = mapped.pop("extra_body", None) or {}
        mapped.pop("stream", None)
        return {"model": name, "messages": [dict(message) for message in messages], **mapped, **extra}

    def submit(self, requests: bytes, token: str) -> BatchState:
        """Upload the requests as a file and create a batch with `token`, unless there is one already.

        A request whose reply was lost may have created the batch, so it is searched before each retry.
        """
        content = (f"{token}.jsonl", requests, "application/jsonl")
        uploaded = self._ask("create_file", least=_TRANSFER_SECONDS, file=content, purpose="batch")
        since = datetime.now(UTC)

        def existing() -> BatchState | None:
            return self.find(token, since)

        call: dict[str, Any] = {"completion_window": "24h", "endpoint": ENDPOINT, "metadata": {MARK: token}}
        try:
            made = self._ask("create_batch", done_already=existing, input_file_id=uploaded.id, **call)
        except ModelUnavailable:
            state = existing()
            if state is None:
                raise
            return state
        return made if isinstance(made, BatchState) else _state(made)

    def find(self, token: str, since: datetime) -> BatchState | None:
        """Return the batch with `token` that was created at `since` or later, or None."""
        after: dict[str, Any] = {}
        oldest = int((since - _CLOCK_SKEW).timestamp())
        while True:
            page = self._ask("list_batches", limit=_PAGE, **after)
            states = [_state(batch) for batch in page.data or []]
            for state in states:
                if state.token == token:
                    return state
            more = getattr(page, "has_more", None) is not False and states and states[-1].created_at >= oldest
            if not more or after.get("after") == states[-1].id:
                return None
            after = {"after": states[-1].id}

    def state(self, batch_id: str) -> BatchState | None:
        """Return the state of a batch, or None if the provider no longer knows it."""
        batch = self._ask("retrieve_batch", may_be_gone=True, batch_id=batch_id)
        return None if batch is None else _state(batch)

    def lines(self, file_id: str) -> Iterator[tuple[str, bytes]]:
        """Yield the JSON objects of a reply file as (id of the request, line); nothing if the provider no longer has it."""
        file = self._ask("file_content", least=_TRANSFER_SECONDS, may_be_gone=True, file_id=file_id)
        for line in file.content.splitlines() if file is not None else ():
            try:
                document = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(document, dict):
                yield str(document.get("custom_id")), line

    def _ask(self, kind: Kind, *, least: float = 0.0, may_be_gone: bool = False, **call: Any) -> Any:
        """Return the provider's answer, with at least `least` seconds of time; None for a missing object that `may_be_gone`."""
        server = replace(self._server, timeout=max(self._server.timeout, least))
        where = f"{server.where[:1].upper()}{server.where[1:]}"
        try:
            return manage(kind, server, **call)
        except (RequestRejected, UnknownModel) as error:
            status = getattr(error, "status", 404)
            if status not in _NOT_THERE:
                hint = "Run the same command again later, or without `batch=True`."
                raise ModelUnavailable(f"{where} accepts no batches now (HTTP {status}).", hint=hint) from error
            if may_be_gone:
                return None
            raise ConfigurationError(f"{where} has no batch API (HTTP {status}).", hint=_ONE_BY_ONE) from error
        except (ValidationError, AttributeError, TypeError) as error:  # another service answers at this path
            raise ModelUnavailable(f"{where} does not answer like a batch API.", hint=_ONE_BY_ONE) from error


def _state(batch: Any) -> BatchState:
    counts, errors = batch.request_counts, batch.errors
    codes = [str(error.code) for error in (errors.data if errors else None) or [] if error.code]
    return BatchState(
        id=batch.id,
        status=batch.status,
        total=counts.total if counts else 0,
        completed=counts.completed if counts else 0,
        failed=counts.failed if counts else 0,
        created_at=batch.created_at,
        expires_at=batch.expires_at or batch.created_at + HOURS * 3600,
        output_file=batch.output_file_id or "",
        error_file=batch.error_file_id or "",
        codes=tuple(dict.fromkeys(codes)),
        token=str((batch.metadata or {}).get(MARK, "")),
    )
