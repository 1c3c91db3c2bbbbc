"""Translation of the driver's errors into ours. They never contain a password or a parameter of a statement."""

import re
import socket
import ssl
from collections.abc import Iterator

from neo4j import exceptions as neo4j_errors

from drag_graph.errors import StoreError, StoreUnavailable, StoreUnfit, SubgraphRefused

START = "Start it (`drag-graph db up`), or check `store=ADDRESS` and NEO4J_URI."
CREDENTIALS = "Check NEO4J_USERNAME and NEO4J_PASSWORD."

VANISHED = "Neo.ClientError.Statement.EntityNotFound"
"""A node that an index returned was deleted before it was read."""
TIMED_OUT = tuple(
    f"Neo.ClientError.Transaction.{title}"
    for title in ("TransactionTimedOut", "TransactionTimedOutClientConfiguration", "LockClientStopped")
)
"""A transaction ran out of time; the last one while it waited for a lock."""
_LATER = "Try again; `drag-graph db status` says whether the server answers."
_PROBLEM_CODE = re.compile(r"Neo\.\w+\.(?P<area>\w+)\.(?P<title>\w+)\Z")
READING = "Use another NEO4J_USERNAME, or have its rights extended."
_SECURITY = {
    "Unauthorized": ("does not accept the user name and password", CREDENTIALS),
    "CredentialsExpired": (
        "requires that the password is changed first",
        "Run ALTER CURRENT USER SET PASSWORD in Neo4j Browser, then set NEO4J_PASSWORD to the new one.",
    ),
    "AuthenticationRateLimit": (
        "refuses all logins for some seconds after too many wrong passwords",
        f"{CREDENTIALS} Then wait a few seconds.",
    ),
    "Forbidden": ("does not let this user do that", READING),
}

_UNFIT = {
    "DatabaseNotFound": ("has no such database", "Check NEO4J_DATABASE; Community has one, `neo4j`."),
    "AccessMode": ("may only be read", READING),
    "ForbiddenOnReadOnlyDatabase": ("may only be read", READING),
}


def explain(error: BaseException, location: str, timeout: float) -> StoreError:
    """Return our error for an error of the driver.

    StoreUnavailable if the server is away, too slow or refuses the credentials; StoreUnfit if it is not a Neo4j or lacks the
    database; otherwise a StoreError with Neo4j's code.
    """
    where = f"Neo4j at {location}"
    if isinstance(error, neo4j_errors.Neo4jError):
        return _refusal(error, where)
    if isinstance(error, UnicodeError | OverflowError):
        what = (
            "a text with half a character (a lone surrogate)" if isinstance(error, UnicodeError) else "a number beyond 64 bits"
        )
        return SubgraphRefused(f"A value cannot be stored: {what}.", hint="Fix the line of the input that it came from.")
    if isinstance(error, neo4j_errors.IncompleteCommit):
        return StoreUnavailable(
            f"{where} went away during a commit; the outcome is unknown.", hint=f"{_LATER} Repeating is safe."
        )
    return _unreachable(error, where, timeout)


def _unreachable(error: BaseException, where: str, timeout: float) -> StoreError:
    hopeless = hopeless_reason(error)
    if hopeless is None and isinstance(error, neo4j_errors.ConfigurationError):
        return StoreUnavailable(f"{where}: the driver refuses this connection ({type(error).__name__}).", hint=CREDENTIALS)
    what, hint = hopeless or (_reason(error, timeout), START)
    return StoreUnavailable(f"{where} cannot be reached: {what}.", hint=hint)


def hopeless_reason(error: BaseException) -> tuple[str, str] | None:
    """Return why waiting will not help, and a hint; None if the server may come back."""
    for cause in _causes(error):
        kind, text = type(cause).__name__, str(cause)
        if isinstance(cause, socket.gaierror) and cause.errno == socket.EAI_NONAME:
            return "its host name is unknown", "Check the host in `store=ADDRESS` or NEO4J_URI."
        if "looks like HTTP" in text or kind in ("BoltHandshakeError", "BoltProtocolError", "UnsupportedServerProduct"):
            return (
                "the server at this port does not speak Neo4j's Bolt protocol",
                "Check the port in `store=ADDRESS` or NEO4J_URI (7687 by default), and that it is Neo4j 5.26 or newer.",
            )
        if isinstance(cause, ssl.SSLError):
            return (
                "the encrypted connection failed",
                "Use bolt:// or neo4j:// for a server without TLS, bolt+s:// or neo4j+s:// for one with a trusted certificate.",
            )
    return None


def is_passing(error: BaseException) -> bool:
    """Whether to try again, given that repeating is safe."""
    if isinstance(error, neo4j_errors.IncompleteCommit) or getattr(error, "code", "") == VANISHED:
        return True
    retryable = isinstance(error, neo4j_errors.DriverError | neo4j_errors.Neo4jError) and error.is_retryable()
    return retryable and hopeless_reason(error) is None


def may_have_come_through(error: BaseException) -> bool:
    """Whether a commit may have succeeded in spite of this error.

    It may if the connection broke during the commit, or if the server was stopping, because its reply then says nothing about
    the commit. After any other error the transaction was rolled back.
    """
    return isinstance(error, neo4j_errors.IncompleteCommit | neo4j_errors.DatabaseUnavailable)


def _refusal(error: BaseException, where: str) -> StoreError:
    code = str(getattr(error, "code", "") or "")
    match = _PROBLEM_CODE.match(code)
    area, title = (match["area"], match["title"]) if match else ("", "")
    if area == "Security":
        what, hint = _SECURITY.get(title, (f"refused the connection ({code})", CREDENTIALS))
        return StoreUnavailable(f"{where} {what}.", hint=hint)
    if title in _UNFIT:
        what, hint = _UNFIT[title]
        return StoreUnfit(f"{where} {what}.", hint=hint)
    if title == "ConstraintValidationFailed":
        return SubgraphRefused(
            f"{where}: an id already belongs to something else in the store.", hint="Run `drag-graph db verify`."
        )
    if code == VANISHED:
        return StoreUnavailable(f"{where}: nodes are being erased while they are read.", hint="Run the same command again.")
    is_retryable = getattr(error, "is_retryable", None)
    if code in TIMED_OUT or (is_retryable and is_retryable()):
        return StoreUnavailable(f"{where} did not finish in time ({code}).", hint=_LATER)
    return StoreError(f"{where} cannot execute a statement ({code}).", hint="`drag-graph db status --debug` shows the details.")


def _reason(error: BaseException, timeout: float) -> str:
    for cause in _causes(error):
        if isinstance(cause, ConnectionRefusedError):
            return "nothing listens there"
        if isinstance(cause, socket.gaierror):
            return "its host name cannot be resolved now"
        if isinstance(cause, TimeoutError) or "Timeout" in type(cause).__name__ or "timed out" in str(cause).lower():
            return f"it did not answer within {timeout:g} s"
    return "the connection broke off"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the error and all its causes."""
    waiting: list[BaseException | None] = [error]
    visited: set[int] = set()
    while waiting:
        current = waiting.pop()
        if current is None or id(current) in visited:
            continue
        visited.add(id(current))
        yield current
        waiting += [current.__context__, current.__cause__, *getattr(current, "exceptions", ())]
