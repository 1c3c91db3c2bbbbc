"""Refuse whatever a Python process of the tests wants to send to another machine, and the look-up of another machine's name.

Python runs this module at the start of each process that has this folder in PYTHONPATH. The file that TESTS_REFUSED
names then says what was refused; by it the test fails, whatever the process makes of the error (conftest.py).
"""

import errno
import os
import sys

HERE = {"127.0.0.1", "::1", "localhost", os.uname().nodename}


def _host(event, args):
    """Return the host that an event of Python's audit is about; '' where it is about none."""
    if event in {"socket.connect", "socket.sendto", "socket.sendmsg"}:
        return args[1][0] if isinstance(args[1], tuple) and args[1] else ""  # a Unix socket has a path
    if event in {"socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}:
        return args[0] or ""
    return ""


def _is_own(name):
    """Whether this is an address of this machine, to which one can bind; a name would have to be looked up."""
    import socket

    is_6 = ":" in name
    if not is_6 and not name.replace(".", "").isdigit():
        return False
    with socket.socket(socket.AF_INET6 if is_6 else socket.AF_INET) as one:
        try:
            one.bind((name, 0))
        except OSError:
            return False
    return True


def _guard(event, args):
    if not event.startswith("socket.") or not (host := _host(event, args)):
        return
    name = host.decode() if isinstance(host, bytes) else str(host)
    if name in HERE or _is_own(name):
        return
    said = f"{event} to {args[1] if event == 'socket.connect' else name}"
    # Ray's dashboard tells its maker even that it is to tell nothing, and looks for the cloud it is in. No test can help it.
    if "/ray/dashboard/" not in sys.argv[0]:
        with open(os.environ.get("TESTS_REFUSED", os.devnull), "a", encoding="utf-8") as refused:  # noqa: PTH123 - pathlib is slow
            refused.write(f"{said}\n")
    if event.startswith("socket.get"):
        import socket

        raise socket.gaierror(socket.EAI_NONAME, f"tests have no network: {said}")
    raise OSError(errno.ENETUNREACH, f"tests have no network: {said}")


sys.addaudithook(_guard)
