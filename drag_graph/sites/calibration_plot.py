"""The picture of a calibration: what each threshold of agreement would have cost, and what it would have let pass."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from drag_graph.evaluation.plots import draw_picture
from drag_graph.sites.calibration import Point

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_calibration(points: Sequence[Point], chosen: Point, path: Path) -> Path:
    """Draw wrong local answers over cloud calls, with the 95 % interval, and mark the chosen point. Raises MissingExtra."""

    def fill(axes: "Axes") -> None:
        some = [point for point in points if point.local]
        rates = [100 * point.cloud_rate for point in some]
        axes.fill_between(rates, [100 * point.low for point in some], [100 * point.high for point in some], alpha=0.15)
        axes.plot(rates, [100 * point.wrong_rate for point in some], marker="o", markersize=3)
        if chosen.local:
            axes.plot([100 * chosen.cloud_rate], [100 * chosen.wrong_rate], marker="s", color="black", linestyle="")
        axes.set_xlabel("questions that ask the cloud, %")

    return draw_picture(path, fill, "wrong among local answers, % (with 95 % interval)")
