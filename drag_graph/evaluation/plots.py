"""Plots of outcomes: accuracy by mode, tokens against accuracy, calibration, and a sweep over a setting."""

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drag_graph.errors import InputError, MissingExtra
from drag_graph.evaluation.outcome import Record, by_mode, figures

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 5
"""Bins of the calibration plot, with equal numbers of items."""
_SIZE = (6.4, 4.0)
_COLUMNS = {
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "drag-graph",
    "axes.spines.top": False,
    "axes.spines.right": False,
}


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """Draw the plots of an outcome into its folder and return their paths; none if matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        return []
    modes = by_mode(records)
    measured = {mode: figures(group) for mode, group in modes.items()}
    return [
        draw_picture(folder / "accuracy.svg", lambda axes: _accuracy(axes, measured)),
        draw_picture(folder / "tokens.svg", lambda axes: _tokens(axes, measured)),
        draw_picture(folder / "calibration.svg", lambda axes: _calibration(axes, modes)),
    ]


def draw_sweep(outcomes: Mapping[float, Sequence[Record]], over: str, path: Path) -> Path:
    """Draw the accuracy of each mode over the values of a setting. Raises MissingExtra, or InputError for a single value."""
    if len(outcomes) < 2:  # noqa: PLR2004 - a line needs two points
        hint = "Pass outcomes with different values of it."
        raise InputError(f"All outcomes have the same value of {over}.", hint=hint)
    values = sorted(outcomes)
    measured = {value: {mode: figures(group) for mode, group in by_mode(outcomes[value]).items()} for value in values}

    def sweep(axes: "Axes") -> None:
        for mode in dict.fromkeys(mode for modes in measured.values() for mode in modes):
            at = [value for value in values if mode in measured[value]]
            _with_interval(axes, at, [measured[value][mode] for value in at], label=mode, line=True)
        axes.set_xlabel(over)
        axes.set_xticks(values)
        axes.legend()

    return draw_picture(path, sweep)


def draw_picture(path: Path, fill: Callable[["Axes"], None]) -> Path:
    """Draw one plot; `fill` draws on its axes. Raises MissingExtra."""
    if find_spec("matplotlib") is None:
        raise MissingExtra("Plots need the package matplotlib.", extra="evaluation")
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_COLUMNS):
        figure = Figure(figsize=_SIZE)
        axes = figure.add_subplot()
        axes.set_ylabel("accuracy, %")
        fill(axes)
        figure.savefig(path, metadata={"Date": None})
    return path


def _accuracy(axes: "Axes", measured: Mapping[str, dict[str, Any]]) -> None:
    _with_interval(axes, list(range(len(measured))), list(measured.values()))
    axes.set_xticks(range(len(measured)), list(measured))
    axes.set_xlim(-0.5, len(measured) - 0.5)
    axes.set_xlabel("mode (with 95 % interval)")


def _tokens(axes: "Axes", measured: Mapping[str, dict[str, Any]]) -> None:
    for mode, one in measured.items():
        _with_interval(axes, [one["prompt_tokens"]], [one], label=mode)
    axes.set_xlabel("tokens of a prompt")
    axes.legend()


def _calibration(axes: "Axes", modes: Mapping[str, Sequence[Record]]) -> None:
    axes.plot([0, 100], [0, 100], color="0.7", linestyle=":")
    for mode, records in modes.items():
        # Sorted by confidence alone: ties broken by correctness would look like a slope.
        ordered = sorted(((record.confidence, record.correct) for record in records), key=lambda pair: pair[0])
        cuts = [len(ordered) * place // BINS for place in range(BINS + 1)]
        bins = [ordered[start:end] for start, end in pairwise(cuts) if end > start]
        points = [[100 * sum(pair[side] for pair in one) / len(one) for one in bins] for side in (0, 1)]
        axes.plot(points[0], points[1], marker="o", label=mode)
    axes.set_xlabel("confidence, % (mean of a fifth of the items)")
    axes.legend()


def _with_interval(
    axes: "Axes", places: Sequence[float], modes: Sequence[dict[str, Any]], *, label: str | None = None, line: bool = False
) -> None:
    shares = [100 * one["accuracy"] for one in modes]
    below = [100 * (one["accuracy"] - one["low"]) for one in modes]
    above = [100 * (one["high"] - one["accuracy"]) for one in modes]
    axes.errorbar(places, shares, yerr=[below, above], fmt="o-" if line else "o", capsize=4, label=label)
