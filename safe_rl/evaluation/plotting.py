"""Matplotlib's one door, and the look that all figures share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safe_rl.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart with every common kind of colour blindness
BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
VERMILLION = "#D55E00"
SKY = "#56B4E9"
PURPLE = "#CC79A7"
BLACK = "#000000"
GREY = "#7F7F7F"
SERIES = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK)
MARKERS = ("o", "s", "D", "^", "v", "P", "X")

_STYLE: dict[Any, Any] = {
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 150,
}


@contextmanager
def figure_file(path: str | Path, width: float, height: float) -> Iterator[Figure]:
    """Open a figure of ``width`` by ``height`` inches and save it to ``path`` at the end.

    No window system is touched: the figure is drawn by the Agg canvas only.

    Raises:
        MissingDependencyError: matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError("matplotlib", "sb3", "drawing figures") from error
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        figure.savefig(path)


def shorten(text: str, limit: int = 34) -> str:
    """Cut a label in the middle so that both its ends stay readable.

    >>> shorten("grasp_remains_synced[o=porcelain_mug_1]", 24)
    'grasp_remain…lain_mug_1]'
    """
    if len(text) <= limit:
        return text
    head = limit // 2
    return f"{text[:head]}…{text[len(text) - (limit - head - 1) :]}"


def hide_frame(axes: Axes) -> None:
    """Leave only the content: for strips that carry their own labels."""
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.grid(False)
