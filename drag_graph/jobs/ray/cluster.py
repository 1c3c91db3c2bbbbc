"""The Ray cluster of a run: an existing one, or one on this machine that lasts as long as the run."""

import contextlib
import logging
import os
import signal
import socket
import threading
from typing import Any

from drag_graph.errors import ConfigurationError, DragGraphError, MissingExtra, ModelUnavailable
from drag_graph.process_environment import prepare_ray

CONNECT_SECONDS = 60.0
"""Timeout for connecting to a running cluster, in seconds."""
KNOCK_SECONDS = 5.0
OBJECT_STORE_BYTES = 100 * 1024 * 1024
"""Shared memory of our own cluster. Ray's default is a third of the machine's memory, but our messages are small."""
_HINT = "Start a cluster with `ray start --head`, or leave out `ray_address=ADDRESS` to use only this machine."


class Cluster:
    """A connection to a Ray cluster. Close it after use.

    `address` is `auto` or `HOST:PORT`. Without it, RAY_ADDRESS counts. Otherwise a cluster is started on this machine, and
    stopped when the connection closes. An existing connection of this process is used and left open.

    Raises MissingExtra, ConfigurationError for an unusable address, and ModelUnavailable if the cluster does not answer.
    """

    def __init__(self, address: str = "") -> None:
        address = prepare_ray(address)
        if "://" in address:
            raise ConfigurationError(
                "A Ray client (ray://...) cannot distill: this machine has the tape and the store, so it must be a node.",
                hint="Run `ray start --address=HOST:6379` on this machine, then use `ray_address=auto`.",
            )
        self._ours = False
        ray = _ray()
        if ray.is_initialized():
            return
        logging.getLogger("ray").setLevel(logging.CRITICAL)  # problems that matter raise an error
        if address:
            _connect(ray, address)
        else:
            _start(ray)
        self._ours = True
        # Ray prints messages about nodes and workers to stdout, where our documents go. There is no public switch.
        import ray._private.worker as printer

        printer._worker_logs_enabled = False  # noqa: SLF001

    def close(self) -> None:
        """Disconnect, and stop the cluster if it was started here. Further calls do nothing."""
        if self._ours:
            _ray().shutdown()
        self._ours = False


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("`engine=ray` needs the package ray.", extra="cluster") from error
    return ray


def _start(ray: Any) -> None:
    """Start a cluster on this machine, and undo Ray's changes to SIGTERM and the process group."""
    handler, group = signal.getsignal(signal.SIGTERM), os.getpgrp()
    try:
        ray.init(
            address="local",
            include_dashboard=False,
            configure_logging=False,
            log_to_driver=False,
            object_store_memory=OBJECT_STORE_BYTES,
        )
    except (RuntimeError, OSError, ValueError) as error:
        raise ModelUnavailable(
            f"Cannot start Ray on this machine: {_line(error)}.", hint="Ray's logs are in /tmp/ray."
        ) from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)
        if os.getpgrp() != group:
            with contextlib.suppress(OSError):
                os.setpgid(0, group)


def _connect(ray: Any, address: str) -> None:
    """Connect to a running cluster, in a thread, because Ray retries forever if the other side is not Ray."""
    if address != "auto":
        _knock(address)
    outcome: list[DragGraphError | None] = []

    def work() -> None:
        try:
            ray.init(address=address, configure_logging=False, log_to_driver=False)
            outcome.append(None)
        except (RuntimeError, OSError, ValueError, AssertionError) as error:
            outcome.append(ModelUnavailable(f"Cannot use the Ray cluster at {address}: {_line(error)}.", hint=_HINT))

    thread = threading.Thread(target=work, name="ray-connect", daemon=True)
    thread.start()
    thread.join(CONNECT_SECONDS)
    if not outcome:
        raise ModelUnavailable(f"The Ray cluster at {address} did not answer within {CONNECT_SECONDS:.0f} s.", hint=_HINT)
    if outcome[0] is not None:
        raise outcome[0]


def _knock(address: str) -> None:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigurationError(f"{address!r} is not the address of a Ray cluster.", hint="Use auto or HOST:PORT.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), KNOCK_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ModelUnavailable(f"There is no Ray cluster at {address}: {_line(error)}.", hint=_HINT) from error


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
