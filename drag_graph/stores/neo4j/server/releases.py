"""The Neo4j releases that can be started without Docker, and what each wants from Java (docs/design.md, section 9)."""

from dataclasses import dataclass

from drag_graph.errors import ConfigurationError

_OPENED = ("java.nio", "java.io", "sun.nio.ch", "java.lang")


@dataclass(frozen=True, slots=True)
class Neo4jRelease:
    """One release: its full version, the lowest Java that runs it, and what it needs beyond the common options."""

    version: str
    minimum_java: int
    java_options: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def series(self) -> str:
        """The name users know it by: `5.26` or `2026`."""
        major, minor, *_ = self.version.split(".")
        return f"{major}.{minor}" if int(major) < _FIRST_CALENDAR_VERSION else major

    @property
    def order(self) -> tuple[int, ...]:
        """A key that sorts older releases before newer ones."""
        return version_order(self.version)

    def all_java_options(self) -> list[str]:
        """Return the options of the JVM, without memory."""
        return [*(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED), *self.java_options]


_FIRST_CALENDAR_VERSION = 2025

RELEASES = (
    Neo4jRelease("5.26.30", minimum_java=17),
    Neo4jRelease(
        "2026.08.1",
        minimum_java=21,
        java_options=("--enable-native-access=ALL-UNNAMED", "--add-modules=jdk.incubator.vector"),
        # By default this series announces itself on the local network; 5.26 neither does so nor knows the setting.
        settings=(("server.fleet_discovery.enabled", "false"),),
    ),
)
DEFAULT_VERSION = RELEASES[0].version


def version_order(version: str) -> tuple[int, ...]:
    """Return `version` as numbers, for comparison. Raises ValueError where it holds anything else."""
    return tuple(int(part) for part in version.split("."))


def release_of(version: str) -> Neo4jRelease:
    """Return the release that `version` names, in full (`5.26.30`) or by its series (`5.26`, `2026`).

    Raises ConfigurationError for any other.
    """
    for release in RELEASES:
        if version in (release.version, release.series):
            return release
    series = ", ".join(f"{release.series} ({release.version})" for release in RELEASES)
    raise ConfigurationError(f"Neo4j {version!r} is not among the supported versions.", hint=f"Use one of: {series}.")
