"""What makes a folder an edge: settings in its `drag-graph.toml`, and its token in a file of its owner's."""

import json
import re
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from drag_graph.errors import CloudUnavailable, ConfigurationError
from drag_graph.files import replacing
from drag_graph.settings import CONFIG_FILE, Settings
from drag_graph.sites.cloud_client import CloudClient
from drag_graph.sites.traffic_log import Traffic
from drag_graph.sites.wire import check_name

READABLE_BY_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_edge(settings: Settings) -> None:
    """Raise ConfigurationError where the working folder is no edge of a cloud."""
    if not (settings.cloud and settings.edge_name):
        hint = "Run `drag-graph edge init --cloud ADDRESS --name NAME` in the folder of the edge."
        raise ConfigurationError("this folder is no edge of a cloud", hint=hint)


def edge_token(path: Path) -> str:
    """Return the token of a folder's edge. Raises ConfigurationError where it is not there, or others may read it."""
    try:
        mode, token = path.stat().st_mode, path.read_text(encoding="utf-8").strip()
    except OSError as error:
        hint = "Run `drag-graph edge init` again; `drag-graph cloud edges add NAME` at the cloud prints a token."
        raise ConfigurationError(f"the edge's token is not in {path}", hint=hint) from error
    if mode & READABLE_BY_OTHERS:
        raise ConfigurationError(f"others may read the edge's token in {path}", hint=f"chmod 600 {path}")
    return token


def keep_token(path: Path, token: str) -> None:
    """Write the token to a file that only its owner may read."""
    with replacing(path) as file:
        file.write(token + "\n")


def set_settings(path: Path, values: Mapping[str, Any]) -> None:
    """Put settings into a configuration file; what else is there stays as it is, comments too.

    Raises ConfigurationError, and changes nothing, where the file could not be read again as it is meant.
    """
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    try:
        wanted = {**tomllib.loads(before), **{name: _plain(value) for name, value in values.items()}}
        text = before
        for name, value in values.items():
            line = f"{name} = {_toml(value)}"
            text, found = re.subn(rf"^{name}\s*=.*$", line.replace("\\", r"\\"), text, count=1, flags=re.MULTILINE)
            if not found:
                text = f"{text.rstrip()}\n{line}\n".lstrip()
        is_right = tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        lines = "; ".join(f"{name} = {_toml(value)}" for name, value in values.items())
        raise ConfigurationError(f"{path} cannot be changed", hint=f"Write into it by hand: {lines}")
    with replacing(path) as file:
        file.write(text)


def begin_edge(settings: Settings, given: Mapping[str, Any], token: str) -> None:
    """Make the working folder an edge, of the settings that are given, if the cloud knows it by this token.

    Raises CloudRefused, and ConfigurationError; then nothing has changed but the count of traffic. Raises CloudUnavailable
    where nobody answers; then all is written.
    """
    away: CloudUnavailable | None = None
    check_name(settings.edge_name)
    if not settings.cloud:
        raise ConfigurationError("the cloud's address is not given", hint="Give --cloud ADDRESS.")
    traffic = Traffic(settings.traffic_path)
    with CloudClient(
        *(settings.cloud, settings.edge_name, token),
        ca=settings.cloud_ca,
        insecure=settings.insecure,
        check=lambda _texts: None,
        traffic=traffic,
    ) as client:
        try:
            client.connect()
        except CloudUnavailable as error:
            away = error
    set_settings(Path(CONFIG_FILE), given)
    keep_token(settings.edge_token_path, token)
    if away is not None:
        raise away


def _toml(value: Any) -> str:
    """Return a value as TOML writes it, which for these kinds is as JSON does."""
    return json.dumps(_plain(value), ensure_ascii=False)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
