"""The Neo4j releases that can be started without Docker, and their requirements (docs/how-to/neo4j.md)."""

from dataclasses import dataclass

from drag_graph.errors import ConfigurationError

_OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.lang")


@dataclass(frozen=True, slots=True)
class Neo4jRelease:
    """One release: its series and full version, the lowest Java that runs it, and its own options and settings."""

    series: str
    version: str
    minimum_java: int
    java_options: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()

    def all_java_options(self) -> list[str]:
        """Return the options of the JVM, without memory."""
        return [*(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED), *self.java_options]


RELEASES = (
    Neo4jRelease("5.26", "5.26.30", minimum_java=17),
    Neo4jRelease(
        "2026",
        "2026.08.1",
        minimum_java=21,
        java_options=("--enable-native-access=ALL-UNNAMED", "--add-modules=jdk.incubator.vector"),
        # By default this series announces itself on the local network; 5.26 neither does so nor knows the setting.
        settings=(("server.fleet_discovery.enabled", "false"),),
    ),
)


def release_of(series: str) -> Neo4jRelease:
    """Return the release of a series (`5.26`, `2026`). Raises ConfigurationError for any other."""
    for release in RELEASES:
        if series == release.series:
            return release
    series_names = ", ".join(release.series for release in RELEASES)
    raise ConfigurationError(f"Neo4j {series!r} is not among the supported versions.", hint=f"Use one of: {series_names}.")
