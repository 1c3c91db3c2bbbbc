"""`drag-graph edge calibrate`."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import options
from .output import Force, require_picture

if TYPE_CHECKING:
    from drag_graph.edge.calibration import Point
    from drag_graph.settings import Settings

app = typer.Typer(
    no_args_is_help=True, help="The edge of a distributed graph: answer locally, and ask the cloud when not sure."
)
SHOWN = 12
"""Rows of the table, at most."""


@app.command()
@options.with_settings(*options.PANELS["Student"], "candidates", "privacy", *options.PANELS["Store"])
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
    from drag_graph.bootstrap import open_session
    from drag_graph.edge.calibration import curve, for_cloud_rate, for_wrong_rate
    from drag_graph.edge.local import judged
    from drag_graph.edge.picture import draw_calibration
    from drag_graph.errors import ConfigurationError, InputError

    from . import progress, render
    from .distill import questions_of

    if (cloud_rate is None) == (wrong_rate is None):
        raise ConfigurationError("give one of --cloud-rate and --wrong-rate", hint="drag-graph edge calibrate --help")
    if picture is not None:
        if picture.suffix not in {".svg", ".png", ".pdf"} or not picture.parent.is_dir():
            raise ConfigurationError(
                f"{picture} can be no picture", hint="Name a .svg, .png or .pdf in a folder that is there."
            )
        require_picture(picture, settings, force=force)
    queries = [line.query for line in questions_of(questions, settings) if line.query and line.query.gold is not None]
    if not queries:
        raise InputError(f"{questions} has no question with a right answer", hint='Give it under the key "answer".')
    with open_session(settings, create=False, read_only=True, asks=True) as session:
        asker = session.asker(keep=False)
        with progress.progress(len(queries), quiet=json, priced=False) as shown:
            points = curve(judged(asker, queries, session.embedder, settings.candidates, shown))
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
