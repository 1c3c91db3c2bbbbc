"""What never leaves for another machine, looked for in all that comes to a scripted server (conftest.py)."""

import os
from pathlib import Path

CANARIES = ("quenneville", "zorblax", "grimsthorpe", "ysolde", "marchbanks", "4711830255", "wexcombe", "pemberley")
"""Words that tests put into questions, options, ids, metadata and names of files."""
TEMPORARY = "pytest-of-"
"""Part of every path below the folder in which pytest lets tests keep files."""


def watched(log):
    """Return a server's `log` that says which canaries came. To an address of this machine words may go, and no paths."""

    def watched_log(server, request):
        said = f"{request.path} {dict(request.headers)} {request.body}".lower()
        is_here = request.headers.get("Host", "127.0.0.1").startswith("127.0.0.1")
        found = [word for word in (TEMPORARY, *(() if is_here else CANARIES)) if word in said]
        if found:
            with Path(os.environ["TESTS_REFUSED"]).open("a", encoding="utf-8") as refused:
                refused.write(f"came to a model: {', '.join(found)}\n")
        log(server, request)

    return watched_log
