"""`drag-graph edge …`: this machine as a site of a cloud."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options, progress, render

if TYPE_CHECKING:
    from collections.abc import Mapping

    from drag_graph.app.sites_group import Calibration, TrafficReport

app = typer.Typer(no_args_is_help=True)
ROWS = 12
"""Maximum number of thresholds in the table."""
SITE = ("cloud", "edge_name", "cloud_ca", "insecure", "release")
NeverLeave = Annotated[
    list[str] | None,
    typer.Option(
        "--never-leave",
        help="A source of which nothing leaves: an id, a name or a glob of names. Repeatable.",
        rich_help_panel="Site",
    ),
]


@app.command()
@options.with_settings(*SITE, "Store")
def init(graph: "options.Graph", flags: "Mapping[str, Any]", never_leave: NeverLeave = None) -> None:
    """Set up this folder as a site of a cloud.

    The settings go to `drag-graph.toml`, and the token to a file that only you can read. The command asks for the token that
    `drag-graph cloud edges add NAME` printed; it also reads it from stdin or from DRAG_GRAPH_CLOUD_TOKEN.

    Examples:
      drag-graph edge init --cloud https://cloud.example.org:8470 --name ward-7 --release passages
      drag-graph edge init --cloud http://127.0.0.1:8470 --name ward-7 --never-leave "staff-*.pdf" < token.txt
    """
    token = "" if graph.settings.cloud_token.get_secret_value() else _read_token()
    setup = graph.sites.init(token, **{name: flags[name] for name in SITE}, never_leave=never_leave or None)
    if setup.problem:
        typer.echo(f"Not checked: {setup.problem}", err=True)
    render.fields(setup.to_dict())


def _read_token() -> str:
    """Return the token from a hidden prompt on a terminal, else the first line of stdin."""
    import sys

    return str(typer.prompt("Token", hide_input=True, err=True)) if sys.stdin.isatty() else sys.stdin.readline()


@app.command()
@options.with_settings(*SITE, "privacy", "Store", has_json=False)
def serve(graph: "options.Graph") -> None:
    """Share summaries with the cloud and answer its questions, until Ctrl-C or SIGTERM.

    `--release` sets what leaves in addition to summaries. Everything that leaves passes the privacy gate (`--privacy`, by
    default `standard`). If the cloud is not available, the site tries again with growing pauses.

    Examples:
      drag-graph edge serve
      drag-graph edge serve --release nothing
    """
    from drag_graph.concurrency.interruption import until_interrupted

    until_interrupted(graph.sites.serve)


@app.command()
@options.with_settings(*SITE, "Store")
def status(graph: "options.Graph") -> None:
    """Check if the cloud answers and knows this site, and show what the site releases.

    Example:
      drag-graph edge status
    """
    state = graph.sites.status()
    render.fields(state.to_dict())
    raise typer.Exit(state.exit_code)


@app.command()
@options.with_settings(*options.STORE)
def traffic(graph: "options.Graph") -> None:
    """List the traffic between this site and its cloud, by day and kind: requests, texts and bytes of bodies.

    `texts` counts what left this site: summaries, released passages, and questions with their options.

    Example:
      drag-graph edge traffic --json
    """
    render.result(graph.sites.traffic(), _print_traffic)


def _print_traffic(report: "TrafficReport") -> None:
    if rows := report.to_dict()["days"]:
        render.table(tuple(rows[0]), (list(row.values()) for row in rows))
    else:
        render.write("Nothing has left this site.")


@app.command()
@options.with_settings("Student", "candidates", "gate", "Privacy", "Store")
def calibrate(
    graph: "options.Graph",
    questions: Annotated[Path, typer.Argument(help="Questions with gold answers, in a file as for `distill`.")],
    cloud_rate: Annotated[
        float | None,
        typer.Option("--cloud-rate", min=0, max=1, help="Upper limit on the fraction of questions sent to the cloud."),
    ] = None,
    wrong_rate: Annotated[
        float | None, typer.Option("--wrong-rate", min=0, max=1, help="Acceptable error rate of answers given locally.")
    ] = None,
) -> None:
    """Find the agreement at which a site answers locally, for a given rate of cloud calls or of wrong local answers.

    Each question is answered several times (`--candidates`) with different lines of the store. No answer is stored. The command
    prints the setting for `drag-graph.toml`.

    Examples:
      drag-graph edge calibrate questions.jsonl --wrong-rate 0.1
      drag-graph edge calibrate questions.jsonl --cloud-rate 0.3 --student gguf:qwen.gguf
    """
    with progress.progress(priced=False) as meter:
        run = graph.sites.calibrate(questions, cloud_rate=cloud_rate, wrong_rate=wrong_rate, on_progress=meter.run)
    calibration = run.result()
    render.result(calibration, _print)
    raise typer.Exit(calibration.exit_code)


def _print(calibration: "Calibration") -> None:
    points, chosen = calibration.points, calibration.chosen
    step = max(1, len(points) // ROWS)
    rows = [
        (
            ">" if point == chosen else "",
            f"{point.threshold:.4f}",
            f"{100 * point.cloud_rate:.1f} %",
            f"{100 * point.wrong_rate:.1f} % ({100 * point.low:.1f} to {100 * point.high:.1f})",
            point.local,
        )
        for point in sorted({*points[::step], points[-1], chosen}, key=lambda point: point.cloud_rate)
    ]
    columns = ("", "agreement", "ask the cloud", "wrong (95 %)", "local")
    render.table(columns, rows, title=f"{calibration.n} questions")
    setting = f"agreement = {chosen.threshold:.6f}  # in drag-graph.toml"
    render.write(setting if chosen.local else "No threshold meets this target. All questions would go to the cloud.")
