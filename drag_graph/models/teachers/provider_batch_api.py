"""A provider's files and batches by LiteLLM (docs/adr/0013), through the project's only retry loop.

Batches are those of the OpenAI interface: a file of requests, a line each, is uploaded; a batch is made of it, which the
provider works through within a day; its replies are a file again, that of its failed lines another.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pydantic import ValidationError

from drag_graph.errors import ConfigurationError, ModelUnavailable, UnknownModel
from drag_graph.models.chat_client import Kind, Server, manage
from drag_graph.models.litellm_library import load_litellm, provider_of
from drag_graph.models.model_names import litellm_name
from drag_graph.models.provider_errors import ModelTarget, RequestRejected

ENDPOINT: Final = "/v1/chat/completions"
MARK = "drag_graph"
"""The key of a batch's metadata that holds its token."""
MOST_REQUESTS = 50_000
MOST_BYTES = 100_000_000
"""What a batch takes at most at the providers of this interface (OpenAI: 50,000 requests and 200 MB)."""
HOURS = 24
ENDED = frozenset({"completed", "failed", "expired", "cancelled"})
_TRANSFER_SECONDS = 600.0
_PAGE = 100
_CLOCK_SKEW = timedelta(hours=1)
_WITH_ADDRESS = frozenset({"hosted_vllm", "litellm_proxy"})
_PROVIDERS = frozenset({"openai", "azure"})
_NOT_THERE = frozenset({404, 405, 501})


@dataclass(frozen=True, slots=True)
class BatchState:
    """Where a batch stands. Times are seconds since 1970; `codes` say why it failed, where it did; `token` is its mark."""

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
        """Whether nothing will be added to its replies any more."""
        return self.status in ENDED


def check_support(model: str, base_url: str = "") -> None:
    """Raise ConfigurationError where LiteLLM cannot reach a batch API of the model's provider in the way used here.

    That needs the list of batches and their metadata, or a batch could be made twice. With an address of one's own, whether
    that server has the API shows when the first file is uploaded. Raises UnknownModel, too.
    """
    provider = provider_of(litellm_name(model, base_url))
    # Without an address, LiteLLM would send the files of these two to OpenAI.
    if provider in _PROVIDERS or (base_url and provider in _WITH_ADDRESS):
        return
    hint = "Leave --batch out, or use a model of OpenAI or Azure, or a server with OpenAI's batch API by --teacher-base-url."
    raise ConfigurationError(f"drag-graph knows no batch API of the provider {provider!r} of {model!r}", hint=hint)


class BatchApi:
    """Uploads, makes, looks up and reads batches of one model. `timeout` is that of a request in seconds; files get longer.

    Every method raises the ModelErrors of `chat_client.complete`, and ConfigurationError where the server has no such API.
    """

    def __init__(self, server: Server) -> None:
        check_support(server.model, server.base_url)
        self._server = server

    def body(self, messages: Sequence[Mapping[str, str]], parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return the body of a request, with what the provider knows of the parameters, as LiteLLM would send it alone."""
        litellm = load_litellm()
        name, provider, _, _ = litellm.get_llm_provider(litellm_name(self._server.model, self._server.base_url))
        mapped = litellm.utils.get_optional_params(model=name, custom_llm_provider=provider, drop_params=True, **parameters)
        extra = mapped.pop("extra_body", None) or {}
        mapped.pop("stream", None)
        return {"model": name, "messages": [dict(message) for message in messages], **mapped, **extra}

    def submit(self, requests: bytes, token: str) -> BatchState:
        """Upload the requests as a file and make a batch of it that bears `token`; one that bears it already is adopted.

        A request whose reply got lost may have made the batch, so it is looked for before the request is repeated.
        """
        content = (f"{token}.jsonl", requests, "application/jsonl")
        uploaded = self._ask("create_file", least=_TRANSFER_SECONDS, file=content, purpose="batch")
        since = datetime.now(UTC)

        def look() -> BatchState | None:
            return self.find(token, since)

        call: dict[str, Any] = {"completion_window": "24h", "endpoint": ENDPOINT, "metadata": {MARK: token}}
        try:
            made = self._ask("create_batch", done_already=look, input_file_id=uploaded.id, **call)
        except ModelUnavailable:
            state = look()
            if state is None:
                raise
            return state
        return made if isinstance(made, BatchState) else _state(made)

    def find(self, token: str, since: datetime) -> BatchState | None:
        """Return the batch that bears `token` and was made at `since` or later, or None."""
        after: dict[str, Any] = {}
        oldest = int((since - _CLOCK_SKEW).timestamp())
        while True:
            page = self._ask("list_batches", limit=_PAGE, **after)
            found = [_state(batch) for batch in page.data or []]
            for state in found:
                if state.token == token:
                    return state
            more = getattr(page, "has_more", None) is not False and found and found[-1].created_at >= oldest
            if not more or after.get("after") == found[-1].id:
                return None
            after = {"after": found[-1].id}

    def state(self, batch_id: str) -> BatchState | None:
        """Return where a batch stands, or None where the provider does not know it any more."""
        found = self._ask("retrieve_batch", may_be_gone=True, batch_id=batch_id)
        return None if found is None else _state(found)

    def lines(self, file_id: str) -> Iterator[tuple[str, bytes]]:
        """Yield the lines of a file of replies, each with the id of its request; none where the provider has it no more.

        What is no JSON object is left out.
        """
        found = self._ask("file_content", least=_TRANSFER_SECONDS, may_be_gone=True, file_id=file_id)
        for line in found.content.splitlines() if found is not None else ():
            try:
                document = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(document, dict):
                yield str(document.get("custom_id")), line

    def _ask(self, kind: Kind, *, least: float = 0.0, may_be_gone: bool = False, **call: Any) -> Any:
        """Return what the provider answers within `least` seconds or more; None where it does not have what may be gone."""
        server = replace(self._server, timeout=max(self._server.timeout, least))
        where = ModelTarget(server.model, server.base_url).where
        try:
            return manage(kind, server, **call)
        except (RequestRejected, UnknownModel) as error:
            status = getattr(error, "status", 404)
            if status not in _NOT_THERE:
                hint = "Run the same command again later, or without --batch."
                raise ModelUnavailable(f"{where} takes no batches: it answers HTTP {status}", hint=hint) from error
            if may_be_gone:
                return None
            hint = "Leave --batch out: its requests are then sent one by one."
            raise ConfigurationError(f"{where} has no batch API (HTTP {status})", hint=hint) from error
        except (ValidationError, AttributeError, TypeError) as error:  # something else answers under these paths
            hint = "Leave --batch out: its requests are then sent one by one."
            raise ModelUnavailable(f"{where} does not answer like a batch API", hint=hint) from error


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
