"""The first conversation with a fresh server: whether it serves, and that its password is the one asked for."""

from pathlib import Path
from typing import TYPE_CHECKING

from drag_graph.errors import ConfigurationError

if TYPE_CHECKING:
    from neo4j import Driver

USERNAME = "neo4j"
FIRST_PASSWORD = "neo4j"  # noqa: S105 - what every new Neo4j accepts once, only to be replaced
MINIMUM_PASSWORD = 8
_SYSTEM = "system"
_UNAUTHORISED = "Neo.ClientError.Security.Unauthorized"
_LOCKED = "Neo.ClientError.Security.AuthenticationRateLimit"
_CREDENTIALS_EXPIRED = "Neo.ClientError.Security.CredentialsExpired"


def check_password(password: str) -> None:
    """Raise ConfigurationError when Neo4j would refuse `password`: under 8 characters, or its first one."""
    if len(password) < MINIMUM_PASSWORD:
        raise ConfigurationError(
            f"Neo4j wants a password of at least {MINIMUM_PASSWORD} characters.", hint="Set NEO4J_PASSWORD to a longer one."
        )


def ensure_password(address: str, password: str, *, fresh: bool) -> None:
    """Make sure that `password` opens the server at `address` (bolt://host:port); on a first start, set it.

    Which of the two passwords is tried first is said by `fresh`; three wrong ones in a row lock the account for a while,
    two never do. Raises ConfigurationError when neither opens it or the account is locked; errors of the driver
    (neo4j.exceptions) when the server is not ready yet.
    """
    for candidate in (FIRST_PASSWORD, password) if fresh else (password, FIRST_PASSWORD):
        if candidate == password:
            if _opens(address, password):
                return
        elif _replace_first_password(address, password):
            return
    raise ConfigurationError(
        f"The Neo4j at {address} already has another password.",
        hint="Give the one it was first started with in NEO4J_PASSWORD, or use another --home.",
    )


def _driver(address: str, password: str) -> "Driver":
    import neo4j

    return neo4j.GraphDatabase.driver(
        address, auth=(USERNAME, password), connection_timeout=5, telemetry_disabled=True, notifications_min_severity="OFF"
    )


def _opens(address: str, password: str) -> bool:
    from neo4j.exceptions import ClientError

    try:
        with _driver(address, password) as driver, driver.session() as session, session.begin_transaction():
            return True  # beginning a transaction proves that the default database serves, too
    except ClientError as error:
        if _refused(error.code, address):
            return False
        raise


def _replace_first_password(address: str, password: str) -> bool:
    from neo4j.exceptions import ClientError

    text = (Path(__file__).parent / "set_password.cypher").read_text(encoding="utf-8")
    try:
        with _driver(address, FIRST_PASSWORD) as driver, driver.session(database=_SYSTEM) as session:
            session.run(text, {"old": FIRST_PASSWORD, "new": password}).consume()
    except ClientError as error:
        if _refused(error.code, address):
            return False
        raise
    return _opens(address, password)


def _refused(code: str | None, address: str) -> bool:
    """Whether an error's code means a wrong password. Raises ConfigurationError when the account is locked for a while."""
    if code == _LOCKED:
        raise ConfigurationError(
            f"The Neo4j at {address} refuses every password for some seconds, after too many wrong ones.",
            hint="Wait a little, then give the right one in NEO4J_PASSWORD.",
        )
    return code in (_UNAUTHORISED, _CREDENTIALS_EXPIRED)
