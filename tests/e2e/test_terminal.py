"""On a real terminal: the progress bar shows, and nothing of it reaches a pipe."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def on_a_terminal(folder, *args):
    """Run drag-graph with standard error on a terminal; return (exit code, standard output, what the terminal got)."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "DRAG_GRAPH_EMBEDDER": "lexical", "TERM": "xterm", "COLUMNS": "100"}
    command = [sys.executable, "-m", "drag_graph", *(str(arg) for arg in args)]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:  # Linux ends a terminal whose last writer is gone with an error, not with an end of file
            pass
        out = process.stdout.read()
    os.close(ours)
    return process.returncode, out.decode(), shown.decode()


@pytest.mark.parametrize("as_json", [False, True])
def test_distill_and_ask_show_a_bar_on_a_terminal_only(tmp_path, questions, curated, as_json):
    flags = ["--json"] if as_json else []
    for command in (["distill", questions, "--teacher", curated], ["ask", "--file", questions]):
        code, out, shown = on_a_terminal(tmp_path, *command, "--store", "g.lbug", *flags)
        assert code == 0, shown
        assert any(name in shown for name in ("Queries", "Questions")) is not as_json
        assert "Traceback" not in shown + out
        assert "Error" not in shown
        if as_json:
            assert json.loads(out)["totals"]
        else:
            assert "\x1b[" not in out
