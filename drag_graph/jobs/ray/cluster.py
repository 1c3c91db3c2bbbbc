"""The cluster that a run works on: one that runs already, or one of this machine alone for this run."""

import contextlib
import logging
import os
import signal
import socket
import threading
from typing import Any, Self

from drag_graph.errors import ConfigurationError, DragGraphError, MissingExtra, ModelUnavailable
from drag_graph.settings import prepare_ray

CONNECT_SECONDS = 60.0
"""How long connecting to a running cluster may take."""
KNOCK_SECONDS = 5.0
OBJECT_STORE_BYTES = 100 * 1024 * 1024
"""Shared memory of a cluster of our own: Ray's default is a third of the machine's, and what travels is small."""
_HINT = "Start one with `ray start --head`, name another with --address, or leave it out to use this machine alone."


class Cluster:
    """A connection to a Ray cluster; a context manager.

    `address` is as Ray names it (`auto`, `HOST:PORT`); '' is the one that RAY_ADDRESS names, else one of this machine, which is
    started for this connection and stopped with it. Where this process is connected to Ray already, that is used and left.

    Raises MissingExtra, ConfigurationError for an address that cannot be used, ModelUnavailable when nobody answers there.
    """

    def __init__(self, address: str = "") -> None:
        address = prepare_ray(address)
        if "://" in address:
            raise ConfigurationError(
                "a Ray client (ray://…) cannot distill: the tape and the store are on this machine, which has to be a node",
                hint="Run `ray start --address=HOST:6379` here, and then --address auto.",
            )
        self._ours = False
        ray = _ray()
        if ray.is_initialized():
            return
        logging.getLogger("ray").setLevel(logging.CRITICAL)  # what matters of it is raised
        if address:
            _connect(ray, address)
        else:
            _start(ray)
        self._ours = True
        # Ray prints what happened to nodes and workers to stdout, where our documents go; there is no public switch for it.
        import ray._private.worker as printer

        printer._worker_logs_enabled = False  # noqa: SLF001

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Disconnect, and stop the cluster where it was started here; a second call does nothing."""
        if self._ours:
            _ray().shutdown()
        self._ours = False

    def here(self) -> str:
        """Return Ray's id of the node that this process is on."""
        return str(_ray().get_runtime_context().get_node_id())

    def processors(self) -> int:
        """Return how many processors the cluster has, at least 1."""
        return max(int(_ray().cluster_resources().get("CPU", 1)), 1)


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("`--engine ray` needs the package ray.", extra="cluster") from error
    return ray


def _start(ray: Any) -> None:
    """Start a cluster of this machine. Ray would also take over SIGTERM and, on some systems, leave the process group."""
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
            f"Ray cannot be started on this machine: {_line(error)}", hint="See /tmp/ray for its logs."
        ) from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)
        if os.getpgrp() != group:
            with contextlib.suppress(OSError):
                os.setpgid(0, group)


def _connect(ray: Any, address: str) -> None:
    """Connect to a running cluster, in a thread: where the other side is no Ray, Ray tries for ever."""
    if address != "auto":
        _knock(address)
    outcome: list[DragGraphError | None] = []

    def work() -> None:
        try:
            ray.init(address=address, configure_logging=False, log_to_driver=False)
        except (RuntimeError, OSError, ValueError, AssertionError) as error:
            outcome.append(ModelUnavailable(f"the Ray cluster at {address} cannot be used: {_line(error)}", hint=_HINT))
        else:
            outcome.append(None)

    thread = threading.Thread(target=work, name="ray-connect", daemon=True)
    thread.start()
    thread.join(CONNECT_SECONDS)
    if not outcome:
        raise ModelUnavailable(f"the Ray cluster at {address} did not answer within {CONNECT_SECONDS:.0f} s", hint=_HINT)
    if outcome[0] is not None:
        raise outcome[0]


def _knock(address: str) -> None:
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ConfigurationError(f"{address!r} is not the address of a Ray cluster", hint="Write auto or HOST:PORT.")
    try:
        socket.create_connection((host.strip("[]"), int(port)), KNOCK_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ModelUnavailable(f"there is no Ray cluster at {address}: {_line(error)}", hint=_HINT) from error


def _line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
