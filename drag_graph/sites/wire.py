"""The bodies that a site and its cloud exchange, with their limits, and how each proves itself to the other.

Both sides refuse any other body. A site is identified by its token; the cloud stores only its hash. Before a site sends
its token, the cloud proves that it knows that hash (`proof_of`), so a wrong address learns nothing.
"""

import hashlib
import hmac
import json
import secrets
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from drag_graph.errors import ConfigurationError
from drag_graph.model import LABELS, LineKind

VERSION = 2
"""Version of the bodies. Both sides state theirs in `hello`, and a site refuses a cloud with another version."""
LONGEST_POLL = 25.0
"""Seconds that a request for work may stay open; proxies close connections that are idle for longer."""
MOST_SUMMARIES = 20_000
"""Summaries of one site."""
MOST_UPLOADED = 100
"""Summaries in one request."""
MOST_PASSAGES = 32
MOST_AUDITED = 128
"""Lines in one request."""
LONGEST_SUMMARY = 4_000
LONGEST_PASSAGE = 8_000
LONGEST_QUESTION = 8_000
KIB = 1024
LARGEST = {
    "hello": 4 * KIB,
    "sync": 4096 * KIB,
    "summaries": 2048 * KIB,
    "passages": 1024 * KIB,
    "question": 256 * KIB,
    "audit": 256 * KIB,
}
"""Maximum size of a request body in bytes, by kind."""
LARGEST_REPLY = 4096 * KIB
"""Maximum size of a reply of the cloud in bytes."""

Key = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[\w.:-]+$")]
Ref = Annotated[str, StringConstraints(min_length=1, max_length=500)]
"""The id of an evidence or edge. The id of an edge contains the ids of its ends."""
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[\w][\w.-]{0,63}$")]
"""The name of a site, as shown in tables and answers and used in file names."""
Short = Annotated[str, StringConstraints(max_length=500)]
QuestionText = Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_QUESTION)]
Options = Annotated[
    tuple[Annotated[str, StringConstraints(min_length=1, max_length=2_000)], ...], Field(max_length=len(LABELS))
]
PassageText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_PASSAGE)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Body(BaseModel):
    """A frozen body without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Hello(Body):
    """A site asks the cloud to prove itself."""

    name: Name
    nonce: Hash
    version: int = VERSION


class CloudProof(Body):
    """`proof_of` the hash of the site's token, its name and its nonce."""

    proof: Hash
    version: int


class Hashes(Body):
    """All summaries that a site shares: its own key of each, and the hash of the text."""

    hashes: Annotated[dict[Key, Hash], Field(max_length=MOST_SUMMARIES)]


class Wanted(Body):
    """The keys of the summaries that the cloud lacks, and how many it erased because the site no longer shares them."""

    send: tuple[Key, ...]
    dropped: int


class SummaryText(Body):
    """One summary of what a site knows."""

    key: Key
    text: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_SUMMARY)]


class Summaries(Body):
    """Summaries that the cloud lacks."""

    summaries: Annotated[tuple[SummaryText, ...], Field(max_length=MOST_UPLOADED)]


class LineRef(Body):
    """A line that a site released, by the site's own ids of the source and of the evidence or edge."""

    source_id: Key
    kind: LineKind
    ref: Ref


class SiteWork(Body):
    """A request to a site: passages for a question or, if there are `lines`, the evidence behind them.

    The site has `seconds` for the one reply to this id: a `SiteReply`, or `SiteOrigins` if there are lines.
    """

    id: Key
    question: Annotated[str, StringConstraints(max_length=LONGEST_QUESTION)] = ""
    options: Options = ()
    lines: Annotated[tuple[LineRef, ...], Field(max_length=MOST_AUDITED)] = ()
    seconds: Seconds


class DocumentSpan(Body):
    """The document of a passage, and the passage's characters from `start` up to `end`."""

    id: Key
    name: Short
    start: int = 0
    end: int = 0


class ReleasedPassage(LineRef):
    """A line that a site releases. `generalised`: its privacy gate has changed the text."""

    text: PassageText
    document: DocumentSpan | None = None
    generalised: bool = False


class SiteReply(Body):
    """The passages that a site releases for a question, or as the evidence behind one line.

    `withheld` counts the lines that it does not release; `problem` is the reason if there is nothing.
    """

    passages: Annotated[tuple[ReleasedPassage, ...], Field(max_length=MOST_PASSAGES)] = ()
    withheld: Annotated[int, Field(ge=0)] = 0
    problem: Short = ""


class SiteOrigins(Body):
    """A reply for each of the requested lines, in their order."""

    lines: Annotated[tuple[SiteReply, ...], Field(max_length=MOST_AUDITED)]


class CloudQuestion(Body):
    """A site asks the cloud."""

    question: QuestionText
    options: Options = ()


class CloudLine(LineRef):
    """A line of a cloud's answer. `site` is the name of the site that released it.

    With `receipt` (`receipt_of`) the asking site proves that it was given the line, to have it audited.
    """

    n: int
    text: str
    site: str
    document: DocumentSpan | None = None
    generalised: bool = False
    receipt: Hash


class GivenLine(LineRef):
    """A line that a site was given and wants to have audited."""

    site: Name
    receipt: Hash


class CloudAudit(Body):
    """A site asks what is behind lines of its answers."""

    lines: Annotated[tuple[GivenLine, ...], Field(max_length=MOST_AUDITED)]


class AskedSite(Body):
    """A site that was asked: how many of the nearest summaries are its own, what it sent, and how many lines were used."""

    site: str
    summaries: int
    passages: int
    withheld: int
    lines: int
    seconds: float


class MissingSite(Body):
    """A site from which something is missing, and why."""

    site: str
    reason: str


class CloudAnswer(Body):
    """The cloud's answer. If there is none, `problem` gives the reason; the lines are present in any case."""

    answer: str
    label: str | None = None
    confidence: float = 0.0
    student: str
    lines: tuple[CloudLine, ...] = ()
    asked: tuple[AskedSite, ...] = ()
    missing: tuple[MissingSite, ...] = ()
    problem: str = ""
    prompt_tokens: int = 0
    seconds: float = 0.0


class Refusal(Body):
    """Why a request was refused."""

    detail: str


def new_token() -> str:
    """Return a token for a site. It has 256 random bits, so a plain hash is safe to store."""
    return secrets.token_urlsafe(32)


def proof_of(token_sha256: str, name: str, nonce: str) -> str:
    """Return the reply to a nonce that only a holder of the token or its hash can compute."""
    return hmac.new(bytes.fromhex(token_sha256), f"drag-graph cloud {name} {nonce}".encode(), hashlib.sha256).hexdigest()


def receipt_of(token_sha256: str, asker: str, line: LineRef) -> str:
    """Return the proof that the site `asker` was given a line of the site whose token has this hash.

    Only the cloud and that site can compute it, so the cloud stores nothing about lines. A new token makes it invalid.
    """
    message = json.dumps(["drag-graph line", asker, line.source_id, line.kind, line.ref]).encode()
    return hmac.new(bytes.fromhex(token_sha256), message, hashlib.sha256).hexdigest()


def check_name(name: str) -> None:
    """Raise ConfigurationError if this is not a valid name of a site."""
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError:
        hint = "Use up to 64 letters, digits, dots, dashes and underscores, starting with a letter or digit."
        raise ConfigurationError(f"{name!r} is not a valid name for a site.", hint=hint) from None


def require_safe(address: str, *, insecure: bool) -> None:
    """Raise ConfigurationError if requests to this address would cross a network unencrypted, unless `insecure`."""
    parts = urlsplit(address)
    if parts.scheme == "https" or is_loopback(parts.hostname or "") or insecure:
        return
    raise ConfigurationError(
        f"{address} is on another machine, and requests to it are not encrypted.",
        hint="Use https, or add `insecure=True` if you trust the network.",
    )


def is_loopback(host: str) -> bool:
    """Whether a host name means this machine."""
    return host in {"localhost", "::1"} or (host.startswith("127.") and host.replace(".", "").isdigit())
