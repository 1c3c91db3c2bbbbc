"""The command-line shell: the command table, help texts, error reports."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer

from cli import app, command_table, output
from cli.command_table import MODULES, PANELS, SUMMARIES, load_command
from drag_graph.errors import BudgetReached, Interrupted, NotStored

CLI = Path(app.__file__).parent
LOADED = """
import sys
sys.argv = ["drag-graph", "--help"]
from drag_graph.__main__ import main
try:
    main()
except SystemExit:
    print([name for name in sys.modules if name.startswith(("cli.", "drag_graph.", "pydantic"))])
"""


def command_that(act):
    """Return a command with the flag --json that does something."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def command(json: bool = False):
        act()

    return typer.main.get_command(app)


def run(monkeypatch, capsys, *args):
    """Run a command in this process and return (exit code, stdout, stderr)."""
    monkeypatch.setattr(sys, "argv", ["drag-graph", *args])
    code = app._run(debug=False)
    return (code, *capsys.readouterr())


def test_the_root_help_imports_no_command_and_no_settings():
    done = subprocess.run([sys.executable, "-c", LOADED], cwd=CLI.parent, capture_output=True, text=True, check=True)
    loaded = set(ast.literal_eval(done.stdout.splitlines()[-1]))
    assert loaded <= {
        "cli.app",
        "cli.command_table",
        "cli.output",
        "drag_graph.errors",
        "drag_graph.__main__",
        "drag_graph.version",
    }


def test_the_root_help_shows_eleven_commands_by_task_and_the_rest_under_more(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = run(monkeypatch, capsys, "--help")
    assert code == 0
    places = [out.index(f"\n{panel}:\n") for panel in PANELS]
    assert places == sorted(places)
    assert sum(len(commands) for panel, commands in PANELS.items() if panel != "More") == 11
    assert all(f"\n  {name} " in out for name in SUMMARIES)


def each_command(name):
    """Yield the words of a command and the command, then the same for its subcommands."""
    command = load_command(name)
    yield [name], command
    for other, subcommand in getattr(command, "commands", {}).items():
        yield [name, other], subcommand


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_help_wraps_at_the_width_of_the_terminal_and_indents_examples(monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    for command in ("show", "ask", "eval run"):
        _, out, _ = run(monkeypatch, capsys, *command.split(), "--help")
        before, _, after = out.partition("  Examples:\n")
        examples, _, options = after.partition("\n\n")
        assert all(line.startswith("    drag-graph") for line in examples.splitlines())
        assert max(map(len, (before + options).splitlines())) <= columns
        for paragraph in before.strip().split("\n\n")[1:]:
            assert all(len(line.rstrip()) > columns - 25 for line in paragraph.splitlines()[:-1]), paragraph


@pytest.mark.parametrize("name", SUMMARIES)
def test_no_help_cuts_the_name_of_a_flag_or_command(monkeypatch, capsys, name):
    monkeypatch.setenv("COLUMNS", "60")
    for words, command in each_command(name):
        _, out, _ = run(monkeypatch, capsys, *words, "--help")
        assert "…" not in out.replace("NEO4J_PASSWORD=…", "")
        for flag in (flag for parameter in command.params for flag in parameter.opts if flag.startswith("--")):
            assert re.search(rf"(^|[ ,]){flag}\b", out, re.MULTILINE), (words, flag)
        assert all(f"\n  {other}" in out for other in getattr(command, "commands", {}))


def test_an_unknown_command_and_an_unknown_flag_are_usage_errors_with_a_hint(monkeypatch, capsys):
    code, out, err = run(monkeypatch, capsys, "asc")
    assert (code, out) == (2, "")
    assert err.startswith("Error: No such command 'asc'. Did you mean 'ask'?")
    assert "Hint: `drag-graph --help`" in err
    code, out, err = run(monkeypatch, capsys, "config", "--jsno", "--json")
    assert "Hint: `drag-graph config --help`" in err
    document = json.loads(out)
    assert (document["error"], document["exit_code"], code) == (err.splitlines()[0].removeprefix("Error: "), 2, 2)


def test_an_error_with_json_is_one_object_on_stdout(monkeypatch, capsys):
    def fail(_name):
        raise NotStored("There is no answer '3f'.", hint="`drag-graph answers` lists them.")

    monkeypatch.setattr(command_table, "load_command", fail)
    code, out, err = run(monkeypatch, capsys, "audit", "3f", "--json")
    assert json.loads(out) == {"error": "There is no answer '3f'.", "hint": "`drag-graph answers` lists them.", "exit_code": 3}
    assert (code, err) == (3, "Error: There is no answer '3f'.\nHint: `drag-graph answers` lists them.\n")
    assert run(monkeypatch, capsys, "audit", "3f")[:2] == (3, "")


def test_a_text_that_reads_like_the_flag_asks_for_no_json(monkeypatch, capsys):
    assert run(monkeypatch, capsys, "distill", "-q", "--json")[:2] == (2, "")
    code, out, _ = run(monkeypatch, capsys, "distill", "-q", "--json", "--json")
    assert (code, json.loads(out)["error"]) == (2, "No teacher is set.")


def test_a_report_that_was_printed_is_followed_by_no_second_object(monkeypatch, capsys):
    def stop(_name):
        return command_that(lambda: output.exit_with(SimpleNamespace(stopped=error)))

    monkeypatch.setattr(command_table, "load_command", stop)
    for error in (BudgetReached("The budget is used up.", hint="Raise it."), Interrupted("Interrupted.", hint="Resume.")):
        code, out, err = run(monkeypatch, capsys, "distill", "--json")
        assert (code, out, err) == (error.exit_code, "", f"Error: {error}\nHint: {error.hint}\n")


def test_ctrl_c_without_a_report_is_an_error_with_a_hint(monkeypatch, capsys):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(command_table, "load_command", lambda _name: command_that(interrupt))
    code, out, err = run(monkeypatch, capsys, "distill", "--json")
    assert (code, json.loads(out)["exit_code"]) == (130, 130)
    assert "completed work is stored" in err


def test_the_report_of_work_that_stopped_early_is_returned_and_other_errors_are_raised():
    stopped = BudgetReached("The budget is used up.")
    stopped.report = "partial"

    def start(error):
        return SimpleNamespace(result=lambda: fail(error))

    def fail(error):
        raise error

    assert output.report_of(lambda: start(stopped)) == "partial"
    with pytest.raises(NotStored):
        output.report_of(lambda: start(NotStored("There is no run.")))


def test_a_renamed_flag_works_under_its_old_name(monkeypatch, capsys):
    for flag in ("--distil-missing", "--distill-missing"):
        code, _, err = run(monkeypatch, capsys, "ask", "Why?", "--query-id", "3f", flag)
        assert (code, "No such option" in err) == (2, False)


def modules():
    return {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in CLI.glob("*.py")}


def test_no_module_imports_the_module_of_a_command():
    commands = {MODULES.get(name, name) for name in SUMMARIES}
    imported = set()
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                imported |= {(name, other) for other in (node.module, *(alias.name for alias in node.names))}
    assert not {pair for pair in imported if pair[1] in commands}


def test_the_body_of_a_function_of_the_shell_has_at_most_40_lines():
    for name, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) is not None else node.body
                assert not body or body[-1].end_lineno - body[0].lineno < 40, (name, node.name)


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_summary_of_a_command_is_the_first_paragraph_of_its_help(name):
    assert " ".join(load_command(name).help.split("\n\n")[0].split()) == SUMMARIES[name]
