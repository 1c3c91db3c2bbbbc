"""`drag-graph edge …`: an edge of a cloud."""

import itertools
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .output import Force, require_picture

if TYPE_CHECKING:
    from collections.abc import Mapping

    from drag_graph.settings import Settings
    from drag_graph.sites.calibration import Point

app = typer.Typer(
    no_args_is_help=True, help="The edge of a distributed graph: answer locally, and ask the cloud when not sure."
)
SHOWN = 12
"""Rows of the table, at most."""


OWN = ("cloud", "edge_name", "cloud_ca", "insecure", "release")
Never = Annotated[
    list[str] | None,
    typer.Option(
        "--never-leave", help="A source of which nothing leaves: id, name or glob; repeat it.", rich_help_panel="Site"
    ),
]


@app.command()
@options.with_settings(*OWN, *options.PANELS["Store"])
def init(settings: "Settings", flags: "Mapping[str, Any]", never_leave: Never = None, json: options.Json = False) -> None:
    """Make this folder an edge of a cloud: settings into `drag-graph.toml`, the token into a file of its owner's.

    The token, which `drag-graph cloud edges add NAME` printed, is asked for; it may come on standard input or in
    DRAG_GRAPH_CLOUD_TOKEN, too. What a source of `--never-leave` says stays here, in summaries, too.

    \b
    Examples:
      drag-graph edge init --cloud https://cloud.example.org:8470 --name ward-7 --release passages
      drag-graph edge init --cloud http://127.0.0.1:8470 --name ward-7 --never-leave "staff-*.pdf" < token.txt
    """
    from drag_graph.errors import CloudUnavailable
    from drag_graph.sites.site_folder import begin_edge

    from . import render

    given = {name: value for name in OWN if (value := flags.get(name)) is not None}
    if never_leave:
        given["never_leave"] = tuple(never_leave)
    settings = settings.model_copy(update=given)
    token = settings.cloud_token.get_secret_value() or _token()
    said: dict[str, Any] = {"cloud": settings.cloud, "name": settings.edge_name, "release": settings.release}
    try:
        begin_edge(settings, given, token)
        said["reachable"] = True
    except CloudUnavailable as error:
        said["reachable"] = False
        typer.echo(f"Not checked: {error}", err=True)
    render.fields({**said, "never_leave": list(settings.never_leave)}, as_json=json)


def _token() -> str:
    """Return the token from a terminal, where it is not shown, or from standard input."""
    import sys

    from drag_graph.errors import ConfigurationError

    text = typer.prompt("Token", hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline()
    if not text.strip():
        raise ConfigurationError("there is no token", hint="Give it on standard input, or in DRAG_GRAPH_CLOUD_TOKEN.")
    return str(text).strip()


@app.command()
@options.with_settings(*OWN, "privacy", *options.PANELS["Store"])
def serve(settings: "Settings") -> None:
    """Tell the cloud the summaries of what is stored here, and answer its questions with what `--release` allows.

    The edge opens all connections, and tries again with growing pauses where the cloud is away. What leaves passes the privacy
    gate (`--privacy`, `standard` by default). Ctrl-C or SIGTERM ends it.

    \b
    Examples:
      drag-graph edge serve
      drag-graph edge serve --release nothing
    """
    from drag_graph.compose.session import open_edge
    from drag_graph.concurrency.interruption import in_background

    if settings.privacy != "off":
        typer.echo("Loading the privacy gate: some seconds.", err=True)
    with open_edge(settings) as service:
        in_background(service.run)


@app.command()
@options.with_settings(*OWN, *options.PANELS["Store"])
def status(settings: "Settings", json: options.Json = False) -> None:
    """Show whether the cloud answers and knows this edge, when it was last told the summaries, and what is released.

    \b
    Example:
      drag-graph edge status
    """
    from drag_graph.compose.model_factories import make_cloud_client
    from drag_graph.errors import CloudError
    from drag_graph.sites.traffic_log import Traffic

    from . import render

    reachable = "yes"
    try:
        with make_cloud_client(settings, None) as client:
            client.connect()
    except CloudError as error:
        reachable = str(error)
    said: dict[str, Any] = {"cloud": settings.cloud, "name": settings.edge_name, "reachable": reachable}
    said |= {"last_sync": Traffic(settings.traffic_path).last_sync() or None}
    said |= {"release": settings.release, "never_leave": list(settings.never_leave)}
    render.fields(said, as_json=json)
    raise typer.Exit(0 if reachable == "yes" else CloudError.exit_code)


@app.command()
@options.with_settings(*options.STORE)
def traffic(settings: "Settings", json: options.Json = False) -> None:
    """List what has left this edge and what came, by day and kind: requests, texts, bytes of bodies.

    `texts` left the edge: summaries, released passages, and questions with their options.

    \b
    Example:
      drag-graph edge traffic --json
    """
    from drag_graph.sites.site_folder import check_edge
    from drag_graph.sites.traffic_log import Traffic

    from . import render

    check_edge(settings)
    rows = [asdict(row) for row in Traffic(settings.traffic_path).rows()]
    if json:
        names = ("requests", "texts", "bytes_out", "bytes_in")
        render.document({"days": rows, "totals": {name: sum(row[name] for row in rows) for name in names}})
    elif rows:
        render.table(tuple(rows[0]), (list(row.values()) for row in rows))
    else:
        render.write("Nothing has left this edge.")


@app.command()
@options.with_settings(*options.PANELS["Student"], "candidates", *options.PANELS["Privacy"], *options.PANELS["Store"])
def calibrate(
    settings: "Settings",
    questions: Annotated[Path, typer.Argument(help="Questions with their right answers, as `distill` reads them.")],
    cloud_rate: Annotated[
        float | None, typer.Option("--cloud-rate", min=0, max=1, help="Ask the cloud about this share at most.")
    ] = None,
    wrong_rate: Annotated[
        float | None, typer.Option("--wrong-rate", min=0, max=1, help="Of local answers, this share may be wrong.")
    ] = None,
    picture: Annotated[Path | None, typer.Option("--picture", help="Draw the curve: a .svg, .png or .pdf.")] = None,
    force: Force = False,
    json: options.Json = False,
) -> None:
    """Find the agreement from which local answers are sure, for a wanted rate of cloud calls or of wrong local answers.

    Each question is answered several times from what is stored (`--candidates`), each time without other ones of its lines; no
    answer is kept. The setting to use is printed, for `drag-graph.toml`.

    \b
    Examples:
      drag-graph edge calibrate questions.jsonl --wrong-rate 0.1 --picture curve.svg
      drag-graph edge calibrate questions.jsonl --cloud-rate 0.3 --student gguf:qwen.gguf
    """
    from drag_graph.app.questions import question_lines
    from drag_graph.compose.session import open_session
    from drag_graph.errors import ConfigurationError, InputError
    from drag_graph.sites.calibration import curve, for_cloud_rate, for_wrong_rate
    from drag_graph.sites.calibration_plot import draw_calibration
    from drag_graph.sites.local_candidates import judged

    from . import progress, render

    if (cloud_rate is None) == (wrong_rate is None):
        raise ConfigurationError("give one of --cloud-rate and --wrong-rate", hint="drag-graph edge calibrate --help")
    if picture is not None:
        if picture.suffix not in {".svg", ".png", ".pdf"} or not picture.parent.is_dir():
            raise ConfigurationError(
                f"{picture} can be no picture", hint="Name a .svg, .png or .pdf in a folder that is there."
            )
        require_picture(picture, settings, force=force)
    queries = [line.query for line in question_lines(questions, settings) if line.query and line.query.gold is not None]
    if not queries:
        raise InputError(f"{questions} has no question with a right answer", hint='Give it under the key "answer".')
    with open_session(settings, create=False, read_only=True, asks=True) as session:
        asker = session.asker(unkept="a measurement")
        with progress.progress(quiet=json, priced=False) as shown:
            done = itertools.count(1)
            points = curve(judged(asker, queries, session.embedder, settings.candidates, lambda _cost: shown.count(next(done))))
    chosen = for_cloud_rate(points, cloud_rate) if cloud_rate is not None else for_wrong_rate(points, wrong_rate or 0.0)
    if picture is not None:
        draw_calibration(points, chosen, picture)
    if json:
        agreement = chosen.threshold if chosen.local else None
        render.document({"n": len(queries), "agreement": agreement, "points": [asdict(point) for point in points]})
    else:
        render.write(_table(points, chosen, len(queries)))
    raise typer.Exit(0 if chosen.local else 1)


def _table(points: "list[Point]", chosen: "Point", n: int) -> str:
    step = max(1, len(points) // SHOWN)
    rows = sorted({*points[::step], points[-1], chosen}, key=lambda point: point.cloud_rate)
    lines = [f"{n} questions", "", "agreement  ask the cloud  wrong of the local ones (95 %)  local"]
    lines += [
        f"{'>' if point == chosen else ' '} {point.threshold:7.4f}  {100 * point.cloud_rate:11.1f} %  "
        f"{100 * point.wrong_rate:9.1f} % ({100 * point.low:.1f} to {100 * point.high:.1f})  {point.local:5d}"
        for point in rows
    ]
    said = f"agreement = {chosen.threshold:.6f}  # in drag-graph.toml"
    return "\n".join([*lines, "", said if chosen.local else "No agreement keeps to that: all questions would ask the cloud."])
