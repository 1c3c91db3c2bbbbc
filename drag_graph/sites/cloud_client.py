"""A site's connection to its cloud. The site opens all connections, makes the cloud prove itself, and counts what leaves."""

import hmac
import secrets
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from drag_graph.errors import CloudRefused, CloudUnavailable, ConfigurationError
from drag_graph.graph.paging import pages
from drag_graph.identity import sha256_of
from drag_graph.settings import Settings
from drag_graph.sites import wire
from drag_graph.sites.traffic_log import Traffic

CONNECTING = 10.0
"""Seconds for a connection, and for the reply to a short request."""
MODEL_TIME = 300.0
"""Seconds for a reply that includes work of the cloud's models or of other sites."""
Check = Callable[[Sequence[str]], None]
"""Raises Withheld if a text must not leave this machine."""
Reply = TypeVar("Reply", bound=BaseModel)
CHECK_ADDRESS = "Check the address and that the cloud is running. `drag-graph edge status` tests the connection."
REGISTER = "On the cloud, run `drag-graph cloud edges add NAME`; then `drag-graph edge init` here with the new token."


class CloudClient(AbstractContextManager["CloudClient"]):
    """The connection of one site to its cloud. Not thread-safe. A context manager.

    Every method raises CloudUnavailable if the cloud cannot be reached, CloudRefused if the cloud does not know this site or is
    another cloud, and Withheld if `check` refuses a text.
    """

    def __init__(
        self, address: str, name: str, token: str, *, ca: str = "", insecure: bool = False, check: Check, traffic: Traffic
    ) -> None:
        """`ca` is a PEM file of trusted certificates. Raises ConfigurationError as `wire.require_safe` does."""
        wire.require_safe(address, insecure=insecure)
        self.address = address
        self.name = name
        self._token = token
        self._check = check
        self.traffic = traffic
        self._is_proven = False
        # Unencrypted requests ignore the proxies of the environment.
        self._http = httpx.Client(
            base_url=address, timeout=CONNECTING, verify=_certificates(ca), trust_env=address.startswith("https:")
        )

    @classmethod
    def of(cls, settings: Settings, token: str, check: Check = lambda _texts: None) -> Self:
        """Return the connection of the site with these settings."""
        address, name, traffic = settings.cloud, settings.edge_name, Traffic(settings.traffic_path)
        return cls(address, name, token, ca=settings.cloud_ca, insecure=settings.insecure, check=check, traffic=traffic)

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def connect(self) -> None:
        """Make the cloud prove that it knows this site. Only then is the token sent."""
        nonce = secrets.token_hex(32)
        content = self._send("hello", "POST", "/v1/hello", wire.Hello(name=self.name, nonce=nonce), proven=False)
        reply = self._parsed(wire.CloudProof, content)
        if not hmac.compare_digest(reply.proof, wire.proof_of(sha256_of(self._token), self.name, nonce)):
            raise CloudRefused(f"The cloud at {self.address} does not know the site {self.name!r} by its token.", hint=REGISTER)
        if reply.version != wire.VERSION:
            raise CloudRefused(
                f"The cloud at {self.address} uses version {reply.version} of the protocol, this site version {wire.VERSION}.",
                hint="Install the same version of drag-graph on both machines.",
            )
        self._is_proven = True

    def sync(self, texts: Mapping[str, str]) -> tuple[int, int]:
        """Bring the cloud up to date with all summaries of this site, by key: send changed ones, withdraw missing ones.

        Return how many were sent, and how many withdrawn.
        """
        hashes = wire.Hashes(hashes={key: sha256_of(text) for key, text in texts.items()})
        reply = self._parsed(wire.Wanted, self._send("sync", "POST", "/v1/summaries/sync", hashes))
        wanted = [key for key in reply.send if key in texts]
        for keys in pages(wanted, wire.MOST_UPLOADED):
            summaries = tuple(wire.SummaryText(key=key, text=texts[key]) for key in keys)
            uploaded = [item.text for item in summaries]
            self._send("summaries", "POST", "/v1/summaries", wire.Summaries(summaries=summaries), uploaded, timeout=MODEL_TIME)
        return len(wanted), reply.dropped

    def work(self, wait: float = wire.LONGEST_POLL) -> wire.SiteWork | None:
        """Wait up to `wait` seconds for a question; return None if there is none."""
        content = self._send("poll", "GET", f"/v1/work?wait={wait:g}", timeout=wait + CONNECTING)
        return self._parsed(wire.SiteWork, content) if content else None

    def reply(self, work_id: str, body: wire.SiteReply | wire.SiteOrigins) -> bool:
        """Send what this site releases for a question or an audit. Return False if the deadline has passed."""
        kind, replies = ("audit", body.lines) if isinstance(body, wire.SiteOrigins) else ("passages", (body,))
        passages = [item for reply in replies for item in reply.passages]
        names = {item.document.name: None for item in passages if item.document}
        try:
            self._send(kind, "POST", f"/v1/work/{work_id}", body, [*(item.text for item in passages), *names])
        except _DeadlinePassed:
            return False
        return True

    def ask(self, question: str, options: Sequence[str] = ()) -> wire.CloudAnswer:
        """Ask the cloud, which asks other sites."""
        body = wire.CloudQuestion(question=question, options=tuple(options))
        texts = [question, *options]
        return self._parsed(wire.CloudAnswer, self._send("question", "POST", "/v1/questions", body, texts, timeout=MODEL_TIME))

    def audit(self, lines: Sequence[wire.GivenLine]) -> list[wire.SiteReply]:
        """Ask the sites that released these lines, through the cloud, what is behind them."""
        origins: list[wire.SiteReply] = []
        for page in pages(lines, wire.MOST_AUDITED):
            body = wire.CloudAudit(lines=tuple(page))
            reply = self._parsed(wire.SiteOrigins, self._send("audit", "POST", "/v1/audits", body, timeout=MODEL_TIME))
            if len(reply.lines) != len(page):
                raise self._no_cloud()
            origins += reply.lines
        return origins

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
        """Send a body, after the cloud has proven itself, and return the reply. `texts` are the texts that leave with it."""
        if proven and not self._is_proven:
            self.connect()
        if texts:
            self._check(texts)
        content = b"" if body is None else body.model_dump_json().encode()
        headers = {"Content-Type": "application/json"}
        if proven:
            headers["Authorization"] = f"Bearer {self.name}:{self._token}"
        limits = httpx.Timeout(CONNECTING, read=timeout)
        received = b""
        try:
            with self._http.stream(method, path, content=content, headers=headers, timeout=limits) as reply:
                received = _content_of(reply, time.monotonic() + timeout)
                self._require_ok(reply, received)
        except httpx.HTTPError as error:
            self._is_proven = False  # the next one to answer may be another
            reason = (str(error) or type(error).__name__).splitlines()[0]
            raise CloudUnavailable(f"The cloud at {self.address} does not answer: {reason}.", hint=CHECK_ADDRESS) from error
        finally:
            self.traffic.add(kind, texts=len(texts), bytes_out=len(content), bytes_in=len(received))
        return received

    def _require_ok(self, reply: httpx.Response, content: bytes) -> None:
        if reply.is_success:
            return
        try:
            detail = wire.Refusal.model_validate_json(content).detail
        except ValidationError:
            detail = f"HTTP status {reply.status_code}"
        match reply.status_code:
            case 401:
                self._is_proven = False
                raise CloudRefused(f"The cloud at {self.address} no longer knows the site {self.name!r}.", hint=REGISTER)
            case 409 if reply.request.url.path.startswith("/v1/work/"):
                raise _DeadlinePassed(detail)
            case 404:
                hint = "Use the address that `drag-graph cloud serve` printed."
                raise CloudRefused(f"There is no drag-graph cloud at {self.address}.", hint=hint)
            case 413 | 422:
                raise CloudRefused(f"The cloud at {self.address} rejected a request of this site: {detail}.")
            case _:  # from the cloud, or from a proxy in front of it
                raise CloudUnavailable(f"The cloud at {self.address} cannot serve now: {detail}.", hint=CHECK_ADDRESS)

    def _parsed(self, form: type[Reply], content: bytes) -> Reply:
        try:
            return form.model_validate_json(content)
        except ValidationError:
            raise self._no_cloud() from None

    def _no_cloud(self) -> CloudUnavailable:
        return CloudUnavailable(f"The reply of {self.address} is not from a drag-graph cloud.", hint=CHECK_ADDRESS)


class _DeadlinePassed(CloudRefused):
    """The work was answered before, or its deadline has passed."""


def _content_of(reply: httpx.Response, until: float) -> bytes:
    """Return the body of a reply. Raises HTTPError if it is too large or too slow."""
    content = bytearray()
    for part in reply.iter_bytes():
        content += part
        if len(content) > wire.LARGEST_REPLY:
            raise httpx.ReadError("the reply is too large")
        if time.monotonic() > until:
            raise httpx.ReadTimeout("the reply is too slow")
    return bytes(content)


def _certificates(ca: str) -> ssl.SSLContext | bool:
    if not ca:
        return True
    try:
        return ssl.create_default_context(cafile=str(Path(ca).expanduser()))
    except OSError as error:  # includes SSLError
        raise ConfigurationError(
            f"Cannot use the certificates in {ca}: {error}.", hint="Pass a PEM file with `cloud_ca=FILE`."
        ) from error
