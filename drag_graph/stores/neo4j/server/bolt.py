"""The first login at a fresh server, which sets its password."""

from pathlib import Path

from drag_graph.errors import ConfigurationError

USERNAME = "neo4j"
FIRST_PASSWORD = "neo4j"  # noqa: S105 - what every new Neo4j accepts once, only to be replaced
MINIMUM_PASSWORD = 8
_REFUSED = ("Neo.ClientError.Security.Unauthorized", "Neo.ClientError.Security.CredentialsExpired")


def check_password(password: str) -> None:
    """Raise ConfigurationError if Neo4j would refuse `password`: under 8 characters, or its first one."""
    if len(password) < MINIMUM_PASSWORD:
        raise ConfigurationError(
            f"Neo4j requires a password of at least {MINIMUM_PASSWORD} characters.",
            hint="Set NEO4J_PASSWORD to a longer one.",
        )


def ensure_password(address: str, password: str) -> None:
    """Make sure that `password` opens the server at `address` (bolt://host:port); on a first start, set it.

    Raises ConfigurationError if the server has another password, errors of the driver (neo4j.exceptions) while it is not
    ready.
    """
    if _accepts(address, password):
        return
    if not (_accepts(address, FIRST_PASSWORD, new=password) and _accepts(address, password)):
        raise ConfigurationError(
            f"The Neo4j at {address} already has another password.",
            hint="Set NEO4J_PASSWORD to the one that it was first started with, or choose another folder with `home=FOLDER`.",
        )


def _accepts(address: str, password: str, *, new: str = "") -> bool:
    """Return whether the server accepts a password. `new` replaces it."""
    import neo4j
    from neo4j.exceptions import ClientError

    login = neo4j.GraphDatabase.driver(
        address, auth=(USERNAME, password), connection_timeout=5, telemetry_disabled=True, notifications_min_severity="OFF"
    )
    try:
        with login as driver, driver.session(database="system" if new else None) as session:
            if new:
                text = (Path(__file__).parent / "set_password.cypher").read_text(encoding="utf-8")
                session.run(text, {"old": password, "new": new}).consume()
            else:
                session.begin_transaction().close()  # proves that the default database serves
    except ClientError as error:
        if error.code in _REFUSED:
            return False
        raise
    return True
