"""The server as a process: started detached, recognised again by its command line, stopped for certain."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from drag_graph.errors import StoreUnavailable

LOOPBACK = "127.0.0.1"
_POLL_SECONDS = 0.1
_EXEC_TRIES = 20
# A shell starts the server in the background and ends at once, so the server is nobody's child: it cannot become a zombie of
# ours, and Python has no process object to warn about.
_SPAWN = '"$@" >&2 & echo $!'


def spawn(command: Sequence[str], log: Path, folder: Path) -> int:
    """Start `command` in a session of its own, output appended to `log`, and return its process id.

    A signal to our terminal's process group does not reach it. Raises StoreUnavailable if it cannot be started.
    """
    try:
        with log.open("ab") as output:
            shell = subprocess.run(  # noqa: S603 - arguments are passed as such, never as shell text
                ["/bin/sh", "-c", _SPAWN, "sh", *command],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,
                check=True,
            )
        return int(shell.stdout)
    except (OSError, subprocess.CalledProcessError, ValueError) as error:
        raise StoreUnavailable(f"{command[0]} cannot be started: {error}.", hint=f"See {log}.") from error


def command_line(pid: int) -> list[str]:
    """Return the arguments of a running process; empty when there is none (a zombie has none either)."""
    if Path("/proc/self/cmdline").exists():
        return _read_proc(Path("/proc") / str(pid))
    listed = subprocess.run(  # noqa: S603 - where there is no /proc (macOS)
        ["/bin/ps", "-ww", "-o", "args=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return listed.stdout.split()


def _read_proc(proc: Path) -> list[str]:
    # The arguments are empty for a moment while a process replaces its program, as one that has just started does. Its
    # program can be named even then; that of a zombie cannot. Few tries: a process may also wipe its arguments for good.
    for _ in range(_EXEC_TRIES):
        try:
            if arguments := (proc / "cmdline").read_bytes():
                return arguments.decode(errors="replace").split("\0")[:-1]
            (proc / "exe").readlink()
        except OSError:
            return []
        time.sleep(_POLL_SECONDS / 10)
    return []


def runs(pid: int, home: Path) -> bool:
    """Return whether `pid` is the launcher on `home`, and not an unrelated process that got the same number later."""
    arguments = command_line(pid)
    return any(argument.endswith("Launcher.java") for argument in arguments) and str(home) in arguments


def terminate(pid: int, home: Path, patience: float) -> None:
    """Stop the launcher on `home`: SIGTERM, up to `patience` seconds, then SIGKILL.

    Raises StoreUnavailable if it belongs to another user, or still runs 10 s after SIGKILL.
    """
    for number, wait in ((signal.SIGTERM, patience), (signal.SIGKILL, 10.0)):
        deadline = time.monotonic() + wait
        try:
            if runs(pid, home):
                os.kill(pid, number)
        except ProcessLookupError:
            return
        except PermissionError as error:
            raise StoreUnavailable(f"Process {pid} (Neo4j) belongs to another user.", hint="Stop it as that user.") from error
        while runs(pid, home) and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
    if runs(pid, home):
        raise StoreUnavailable(f"Neo4j (process {pid}) does not stop.", hint="The machine may be out of disk space.")


def reserve_ports(wanted: Sequence[tuple[str, int]]) -> list[int]:
    """Return the ports to use: each as `wanted` (name, port), or a free one for 0. All are bound at once, so they differ.

    Raises StoreUnavailable that names the one in use. They are free again on return, so another process could still
    take one: then the server's own start fails, with that reason.
    """
    with contextlib.ExitStack() as stack:
        ports = []
        for name, port in wanted:
            holder = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            # As servers do: the remains of closed connections do not count as in use.
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                holder.bind((LOOPBACK, port))
            except OSError as error:
                raise StoreUnavailable(
                    f"Port {port} ({name}) is in use on this machine, so Neo4j cannot listen there: {error.strerror}.",
                    hint="Choose other ports with `bolt_port=PORT` and `http_port=PORT`, or stop the program that uses it.",
                ) from error
            ports.append(holder.getsockname()[1])
        return ports
