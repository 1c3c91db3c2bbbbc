"""The edge's side of the wire: it opens all connections, makes the cloud prove itself, and counts what leaves."""

import hmac
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from drag_graph.errors import CloudRefused, CloudUnavailable, ConfigurationError
from drag_graph.graph.paging import pages
from drag_graph.sites import wire
from drag_graph.sites.traffic_log import Traffic

CONNECTING = 10.0
"""Seconds until a connection has to stand, or a short request is answered."""
MODEL_TIME = 300.0
"""Seconds that the cloud may take where a model is at work: its edges' deadline and its model, or its embedder."""
Check = Callable[[Sequence[str]], None]
"""Raises Withheld where one of these texts must not leave this machine."""
_Said = TypeVar("_Said", bound=BaseModel)
_GONE = "Is the address right? `drag-graph edge status` tells whether it answers."
_UNKNOWN = "On the cloud's machine: `drag-graph cloud edges`. Then here: `drag-graph edge init` with a new token."


class CloudClient:
    """One edge's connection to its cloud. Not thread-safe. A context manager.

    Every method raises CloudUnavailable where the cloud cannot be reached, CloudRefused where it does not know this edge or is
    not the one that the edge knows, and Withheld where `check` finds in a text what must not leave.
    """

    def __init__(
        self, address: str, name: str, token: str, *, ca: str = "", insecure: bool = False, check: Check, traffic: Traffic
    ) -> None:
        """`ca` is a file of certificates to know the cloud by. Raises ConfigurationError where bytes would go in the clear."""
        wire.require_safe(address, insecure=insecure)
        self.address = address
        self.name = name
        self._token = token
        self._check = check
        self._traffic = traffic
        self._is_proven = False
        # A proxy of the environment is asked for nothing that is not encrypted.
        self._http = httpx.Client(
            base_url=address, timeout=CONNECTING, verify=_certificates(ca), trust_env=address.startswith("https:")
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def connect(self) -> None:
        """Make the cloud prove that it knows this edge. The token is sent only after this."""
        nonce = wire.new_nonce()
        body = wire.Hello(name=self.name, nonce=nonce)
        said = self._said(wire.CloudProof, self._send("hello", "POST", "/v1/hello", body, proven=False))
        wanted = wire.proof_of(wire.token_hash(self._token), self.name, nonce)
        if not hmac.compare_digest(said.proof, wanted):
            raise CloudRefused(f"{self.address} does not know the edge {self.name!r} by its token", hint=_UNKNOWN)
        if said.version != wire.VERSION:
            raise CloudRefused(
                f"{self.address} speaks version {said.version} of the protocol", hint="Install the same version."
            )
        self._is_proven = True

    def sync(self, texts: Mapping[str, str]) -> tuple[int, int]:
        """Bring the cloud up to date with all summaries, by key: send the changed ones, withdraw those that are not here.

        Return how many were sent, and how many withdrawn.
        """
        hashes = {key: wire.token_hash(text) for key, text in texts.items()}
        said = self._said(wire.Wanted, self._send("sync", "POST", "/v1/summaries/sync", wire.Hashes(hashes=hashes)))
        wanted = iter([wire.SummaryText(key=key, text=texts[key]) for key in said.send if key in texts])
        sent = 0
        while some := tuple(islice(wanted, wire.MOST_UPLOADED)):
            body = wire.Summaries(summaries=some)
            told = [item.text for item in some]
            self._said(wire.Stored, self._send("summaries", "POST", "/v1/summaries", body, told, timeout=MODEL_TIME))
            sent += len(some)
        return sent, said.dropped

    def withdraw(self) -> None:
        """Erase this edge's summaries at the cloud. It stays registered."""
        self._said(wire.Taken, self._send("sync", "DELETE", "/v1/summaries"))

    def work(self, wait: float = wire.LONGEST_POLL) -> wire.EdgeWork | None:
        """Wait for a question; return None where none came in this time."""
        reply = self._send("poll", "GET", f"/v1/work?wait={wait:g}", timeout=wait + CONNECTING)
        return self._said(wire.EdgeWork, reply) if reply else None

    def reply(self, work_id: str, said: wire.EdgeReply | wire.EdgeOrigins) -> bool:
        """Send what the edge releases for a question, or of what is behind lines; False where its time is over."""
        kind, replies = ("audit", said.lines) if isinstance(said, wire.EdgeOrigins) else ("passages", (said,))
        passages = [item for reply in replies for item in reply.passages]
        names = {item.document.name: None for item in passages if item.document}
        try:
            texts = [*(item.text for item in passages), *names]
            self._said(wire.Taken, self._send(kind, "POST", f"/v1/work/{work_id}", said, texts))
        except _Over:
            return False
        return True

    def ask(self, question: str, options: Sequence[str] = ()) -> wire.CloudAnswer:
        """Ask the cloud; it asks other edges."""
        body = wire.CloudQuestion(question=question, options=tuple(options))
        texts = [question, *options]
        return self._said(wire.CloudAnswer, self._send("question", "POST", "/v1/questions", body, texts, timeout=MODEL_TIME))

    def audit(self, lines: Sequence[wire.GivenLine]) -> list[wire.EdgeReply]:
        """Ask the cloud what is behind lines that it gave to this edge; it asks the edges that they are from."""
        found: list[wire.EdgeReply] = []
        for some in pages(lines, wire.MOST_AUDITED):
            body = wire.CloudAudit(lines=tuple(some))
            said = self._said(wire.EdgeOrigins, self._send("audit", "POST", "/v1/audits", body, timeout=MODEL_TIME))
            if len(said.lines) != len(some):
                raise CloudUnavailable(f"{self.address} says what no cloud says", hint=_GONE)
            found += said.lines
        return found

    def _send(
        self,
        kind: str,
        method: str,
        path: str,
        body: BaseModel | None = None,
        texts: Sequence[str] = (),
        *,
        timeout: float = CONNECTING,
        proven: bool = True,
    ) -> bytes:
        """Send a body once the cloud has proven itself; return what it says, at most `LARGEST_REPLY` bytes."""
        if proven and not self._is_proven:
            self.connect()
        if texts:
            self._check(texts)
        content = b"" if body is None else body.model_dump_json().encode()
        headers = {"Content-Type": "application/json"}
        if proven:
            headers["Authorization"] = f"Bearer {self.name}:{self._token}"
        limits = httpx.Timeout(CONNECTING, read=timeout)
        said = b""
        try:
            with self._http.stream(method, path, content=content, headers=headers, timeout=limits) as reply:
                said = _bounded(reply, time.monotonic() + timeout)
                self._require_ok(reply, said)
        except httpx.HTTPError as error:
            self._is_proven = False  # who answers next may be another
            raise CloudUnavailable(f"{self.address} does not answer: {_reason(error)}", hint=_GONE) from error
        finally:
            self._traffic.add(kind, texts=len(texts), bytes_out=len(content), bytes_in=len(said))
        return said

    def _require_ok(self, reply: httpx.Response, said: bytes) -> None:
        if reply.is_success:
            return
        try:
            detail = wire.Refusal.model_validate_json(said).detail
        except ValidationError:
            detail = ""
        match reply.status_code:
            case 401:
                self._is_proven = False
                raise CloudRefused(f"{self.address} does not know the edge {self.name!r} any more", hint=_UNKNOWN)
            case 409 if reply.request.url.path.startswith("/v1/work/"):
                raise _Over(detail)
            case 404:
                raise CloudRefused(f"there is no cloud at {self.address}", hint="Give the address that `cloud serve` printed.")
            case 413 | 422:
                raise CloudRefused(f"{self.address} refused what this edge sent: {detail}")
            case status:  # of the cloud, or of whatever stands before it
                raise CloudUnavailable(f"{self.address} cannot serve now: {detail or status}", hint=_GONE)

    def _said(self, form: type[_Said], content: bytes) -> _Said:
        try:
            return form.model_validate_json(content)
        except ValidationError:
            raise CloudUnavailable(f"{self.address} says what no cloud says", hint=_GONE) from None


class _Over(CloudRefused):
    """The work was answered, or its time is over."""


def _bounded(reply: httpx.Response, until: float) -> bytes:
    """Return what the cloud says. Raises HTTPError where that has no end, or does not come in time."""
    content = bytearray()
    for part in reply.iter_bytes():
        content += part
        if len(content) > wire.LARGEST_REPLY:
            raise httpx.ReadError("it says more than any answer has")
        if time.monotonic() > until:
            raise httpx.ReadTimeout("it comes too slowly")
    return bytes(content)


def _certificates(ca: str) -> Any:
    if not ca:
        return True
    import ssl

    try:
        return ssl.create_default_context(cafile=str(Path(ca).expanduser()))
    except OSError as error:  # of ssl, too
        raise ConfigurationError(f"{ca} cannot be used: {error}", hint="--cloud-ca takes a file of PEM.") from error


def _reason(error: httpx.HTTPError) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
