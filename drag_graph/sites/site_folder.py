"""Set up a folder as a site: settings in its `drag-graph.toml`, and its token in a file that only the owner can read."""

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drag_graph.errors import CloudUnavailable, ConfigurationError
from drag_graph.files import replacing
from drag_graph.settings import CONFIG_FILE, Settings
from drag_graph.sites.cloud_client import CloudClient
from drag_graph.sites.wire import check_name


def require_site(settings: Settings) -> None:
    """Raise ConfigurationError if the working folder is not set up as a site."""
    if not (settings.cloud and settings.edge_name):
        hint = "Run `drag-graph edge init --cloud ADDRESS --name NAME` in the folder of the site."
        raise ConfigurationError("This folder has not been set up as a site of a cloud.", hint=hint)


def read_token(path: Path) -> str:
    """Return the token of a folder's site. Raises ConfigurationError if it is missing or other users can read it."""
    try:
        mode, token = path.stat().st_mode, path.read_text(encoding="utf-8").strip()
    except OSError as error:
        hint = "Run `drag-graph cloud edges add NAME` on the cloud for a token, and `drag-graph edge init` here."
        raise ConfigurationError(f"Cannot read the token of this site from {path}.", hint=hint) from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigurationError(f"Other users can read the token of this site in {path}.", hint=f"chmod 600 {path}")
    return token


def write_token(path: Path, token: str) -> None:
    """Write the token to a file that only its owner can read."""
    with replacing(path) as file:
        file.write(token + "\n")


def set_settings(path: Path, values: Mapping[str, Any]) -> None:
    """Set values in a configuration file, and keep everything else in it, including comments.

    Raises ConfigurationError, and changes nothing, if the file is not valid TOML.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8") if path.exists() else "")
    except TOMLKitError as error:
        raise ConfigurationError(
            f"{path} is not valid TOML: {error}.", hint="Fix the file and run the command again."
        ) from error
    for name, value in values.items():
        document[name] = list(value) if isinstance(value, tuple) else value
    with replacing(path) as file:
        file.write(tomlkit.dumps(document))


def set_up_site(settings: Settings, values: Mapping[str, Any], token: str) -> None:
    """Make the working folder a site with these settings, if the cloud knows it by this token.

    Raises CloudRefused and ConfigurationError, and then changes nothing but the traffic log. Raises CloudUnavailable if the
    cloud does not answer, after everything has been written.
    """
    check_name(settings.edge_name)
    if not settings.cloud:
        raise ConfigurationError("The address of the cloud is missing.", hint="Add `cloud=ADDRESS`.")
    unavailable: CloudUnavailable | None = None
    with CloudClient.of(settings, token) as client:
        try:
            client.connect()
        except CloudUnavailable as error:
            unavailable = error
    set_settings(Path(CONFIG_FILE), values)
    write_token(settings.site_token_path, token)
    if unavailable is not None:
        raise unavailable
