"""What goes between an edge and the cloud: every body, with its bounds. Both sides refuse what is not of this form.

An edge proves who it is by its token. The cloud keeps only the hash of that. Before an edge sends its token, the cloud
proves that it knows the hash (`proof_of`): an address that is not the cloud's learns nothing.
"""

import hashlib
import hmac
import json
import secrets
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from drag_graph.errors import ConfigurationError
from drag_graph.identity import sha256_of
from drag_graph.model import LABELS, LineKind

VERSION = 1
"""Of the protocol: the paths begin with it, and both sides tell theirs."""
LONGEST_POLL = 25.0
"""Seconds that an edge's request for work stays open: less than what proxies cut off."""
MOST_SUMMARIES = 20_000
MOST_UPLOADED = 100
"""Summaries of an edge, and of one request."""
MOST_PASSAGES = 32
MOST_AUDITED = 128
"""Lines of one request."""
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
"""Bytes of a body, by kind."""
LARGEST_REPLY = 4096 * KIB
"""Bytes of anything that the cloud says."""

Key = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[\w.:-]+$")]
Ref = Annotated[str, StringConstraints(min_length=1, max_length=500)]
"""Of an edge of a graph, whose id is made of those of its ends and, by strategy, a predicate."""
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Name = Annotated[str, StringConstraints(pattern=r"^[\w][\w.-]{0,63}$")]
"""Of an edge: it stands in tables, in answers and in file names."""
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
    """An edge asks who is there."""

    name: Name
    nonce: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    version: int = VERSION


class CloudProof(Body):
    """That the cloud knows the edge: `proof_of` its token's hash, the name and the nonce."""

    proof: Hash
    version: int


class Hashes(Body):
    """All summaries that an edge wants to be known by: its key of each, and the hash of its text."""

    hashes: Annotated[dict[Key, Hash], Field(max_length=MOST_SUMMARIES)]


class Wanted(Body):
    """The keys that the cloud lacks, and how many summaries it erased because the edge did not name them."""

    send: tuple[Key, ...]
    dropped: int


class SummaryText(Body):
    """One summary of what an edge knows."""

    key: Key
    text: Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_SUMMARY)]


class Summaries(Body):
    """Summaries that the cloud asked for."""

    summaries: Annotated[tuple[SummaryText, ...], Field(max_length=MOST_UPLOADED)]


class Stored(Body):
    """How many summaries were written."""

    stored: int


class LineRef(Body):
    """A line that an edge released: its own ids of the source, and of the evidence or edge behind it."""

    source_id: Key
    kind: LineKind
    ref: Ref


class EdgeWork(Body):
    """What the cloud wants of an edge, in so many seconds: passages that bear on a question, or what is behind `lines`.

    The id is good for one reply: `EdgeReply`, or `EdgeOrigins` where there are lines.
    """

    id: Key
    question: Annotated[str, StringConstraints(max_length=LONGEST_QUESTION)] = ""
    options: Options = ()
    lines: Annotated[tuple[LineRef, ...], Field(max_length=MOST_AUDITED)] = ()
    seconds: Seconds


class DocumentSpan(Body):
    """The document that a passage is of, and the characters of it, from `start` up to `end`."""

    id: Key
    name: Short
    start: int = 0
    end: int = 0


class ReleasedPassage(LineRef):
    """A line that an edge releases. `generalised` says that its privacy gate has changed the text."""

    text: PassageText
    document: DocumentSpan | None = None
    generalised: bool = False

    @property
    def is_possible(self) -> bool:
        """Whether the span can have this text: a passage is not longer than the characters that it is said to be of."""
        if self.document is None:
            return True
        start, end = self.document.start, self.document.end
        if not 0 <= start <= end:
            return False
        return self.kind == "edge" or self.generalised or len(self.text) <= end - start


class EdgeReply(Body):
    """What an edge releases for a question, or of what is behind one line.

    `withheld` lines were found and not released; `problem` says why there is nothing.
    """

    passages: Annotated[tuple[ReleasedPassage, ...], Field(max_length=MOST_PASSAGES)] = ()
    withheld: Annotated[int, Field(ge=0)] = 0
    problem: Short = ""


class EdgeOrigins(Body):
    """What is behind each of the lines that were asked for, in their order."""

    lines: Annotated[tuple[EdgeReply, ...], Field(max_length=MOST_AUDITED)]


class Taken(Body):
    """That a reply, or a withdrawal, came."""

    taken: Literal[True] = True


class CloudQuestion(Body):
    """An edge asks the cloud."""

    question: QuestionText
    options: Options = ()


class CloudLine(LineRef):
    """A line of an answer, the edge that it is from, and that edge's own ids of what is behind it.

    `receipt` is what the edge that asked shows the cloud to have the line audited (`receipt_of`).
    """

    n: int
    text: str
    edge: str
    document: DocumentSpan | None = None
    generalised: bool = False
    receipt: Hash


class GivenLine(LineRef):
    """A line of an answer that an edge was given and wants audited."""

    edge: Name
    receipt: Hash


class CloudAudit(Body):
    """An edge asks what is behind lines of its answers."""

    lines: Annotated[tuple[GivenLine, ...], Field(max_length=MOST_AUDITED)]


class AskedEdge(Body):
    """An edge that was asked: how many of the best summaries are its, what it sent, what stands in the prompt."""

    edge: str
    summaries: int
    passages: int
    withheld: int
    lines: int
    seconds: float


class MissingEdge(Body):
    """An edge that something is missing from, and why."""

    edge: str
    reason: str


class CloudAnswer(Body):
    """What the cloud says. `problem` says why there is no answer; the lines are there all the same."""

    answer: str
    label: str | None = None
    confidence: float = 0.0
    student: str
    lines: tuple[CloudLine, ...] = ()
    asked: tuple[AskedEdge, ...] = ()
    missing: tuple[MissingEdge, ...] = ()
    problem: str = ""
    prompt_tokens: int = 0
    seconds: float = 0.0


class Refusal(Body):
    """Why a request was refused."""

    detail: str


def new_token() -> str:
    """Return a token for an edge: 256 random bits, so that its plain hash gives nothing away."""
    return secrets.token_urlsafe(32)


def new_nonce() -> str:
    """Return what an edge asks the cloud to sign."""
    return secrets.token_hex(32)


def token_hash(token: str) -> str:
    """Return what the cloud keeps of a token."""
    return sha256_of(token)


def proof_of(token_sha256: str, name: str, nonce: str) -> str:
    """Return what only one who knows the token, or its hash, can say to a nonce."""
    return hmac.new(bytes.fromhex(token_sha256), f"drag-graph cloud {name} {nonce}".encode(), hashlib.sha256).hexdigest()


def receipt_of(token_sha256: str, asker: str, line: LineRef) -> str:
    """Return what proves that the edge `asker` was given a line of the edge whose token has this hash.

    Only the cloud and the edge of the line can make it, so nothing is kept of who was given what. It ends with the token.
    """
    message = json.dumps(["drag-graph line", asker, line.source_id, line.kind, line.ref]).encode()
    return hmac.new(bytes.fromhex(token_sha256), message, hashlib.sha256).hexdigest()


def check_name(name: str) -> None:
    """Raise ConfigurationError for what is no name of an edge."""
    try:
        TypeAdapter(Name).validate_python(name)
    except ValidationError:
        hint = "Use up to 64 letters, digits, points, dashes and underscores, a letter or digit first."
        raise ConfigurationError(f"{name!r} is no name of an edge", hint=hint) from None


def require_safe(address: str, *, insecure: bool) -> None:
    """Raise ConfigurationError where bytes would go over a network in the clear, unless that was said to be meant."""
    parts = urlsplit(address)
    if parts.scheme == "https" or is_loopback(parts.hostname or "") or insecure:
        return
    raise ConfigurationError(
        f"{address} is not on this machine, and what goes there could be read on the way",
        hint="Use https (TLS), or say --insecure where the network is one that you trust.",
    )


def is_loopback(host: str) -> bool:
    """Whether a host's name is that of this machine."""
    return host in {"localhost", "::1"} or (host.startswith("127.") and host.replace(".", "").isdigit())
