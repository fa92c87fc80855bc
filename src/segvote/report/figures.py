"""Figures as inline SVG: histograms in rows, the heat scale, precision-recall and other curves.

Colours come from the page's style by class. The lines of a chart differ in colour and in dashes, for print.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from segvote.evaluation.evaluate import Ranking
from segvote.io.overlays import COLOURS, STOPS
from segvote.report.markup import format_number, format_share, render

WIDTH, MARGIN = 480, 4  # of a histogram, in SVG units
HEAD, FOOT, HEIGHT = 24, 26, 250  # height of a row's title, of the axis below all rows, and of the whole
N_BINS = 40


class HistogramRow(NamedTuple):
    """One group of values."""

    name: str
    colour: str  # a class of the style sheet
    values: np.ndarray  # (n,)
    unit: str = "segments"  # what is counted


def make_edges(values: np.ndarray, low: float | None = None, high: float | None = None) -> np.ndarray:
    """(N_BINS + 1,) edges over the bulk of the values; a few far outliers do not squeeze the rest."""
    values = values[np.isfinite(values)]
    if low is None or high is None:
        low, high = np.percentile(values, [0.1, 99.9]) if len(values) else (0.0, 1.0)
    if high <= low:
        low, high = low - 0.5, high + 0.5
    return np.linspace(low, high, N_BINS + 1)


def draw_histograms(rows: Sequence[HistogramRow], edges: np.ndarray, title: str, mark: float | None = None) -> str:
    """Histograms below each other on one axis; the highest bar of each row is as high as the row, and labelled.

    Values beyond the equally wide bins are counted in the end bins. A vertical line is drawn at `mark`.
    """
    low, high = float(edges[0]), float(edges[-1])
    return render(
        "histogram.svg.j2",
        width=WIDTH,
        height=HEIGHT,
        head=HEAD,
        left=MARGIN,
        right=WIDTH - MARGIN,
        title=title,
        rows=[_measure_row(row, edges, index, len(rows)) for index, row in enumerate(rows)],
        mark=None if mark is None or not low <= mark <= high else _place(mark, edges),
        ticks=[(min(max(_place(tick, edges), 12), WIDTH - 12), _format_tick(tick)) for tick in list_ticks(low, high)],
        tick_y=HEIGHT - FOOT + 18,
    )


def _format_tick(tick: float) -> str:
    return f"{tick:.3g}".replace("-", "\u2212")


def _place(value: float, edges: np.ndarray) -> float:
    return float(MARGIN + (WIDTH - 2 * MARGIN) * (value - edges[0]) / (edges[-1] - edges[0]))


class _Bar(NamedTuple):
    x: float
    width: float
    height: float
    text: str


def _measure_row(row: HistogramRow, edges: np.ndarray, index: int, n_rows: int) -> dict[str, Any]:
    """What the template draws of one row: its place, its texts, its bars."""
    pitch = (HEIGHT - FOOT) / n_rows
    finite = row.values[np.isfinite(row.values)]
    counts = np.histogram(np.clip(finite, edges[0], edges[-1]), bins=edges)[0]
    shares = counts / max(counts.sum(), 1)
    return {
        "name": row.name,
        "colour": row.colour,
        "unit": row.unit,
        "n_values": counts.sum(),
        "top": index * pitch,
        "base": (index + 1) * pitch,
        "bars": _list_bars(counts, shares, edges, pitch - HEAD),
        "note": f"highest bar {format_share(shares.max())}" if counts.any() else "",
    }


def _list_bars(counts: np.ndarray, shares: np.ndarray, edges: np.ndarray, highest: float) -> list[_Bar]:
    # Most segments are background: on a linear scale their bin would hide all others; a root still starts at zero.
    heights = np.sqrt(shares / (shares.max() or 1.0)) * highest
    bars = []
    for index in np.flatnonzero(counts).tolist():
        left, right = _place(edges[index], edges), _place(edges[index + 1], edges)
        span = f"{format_number(edges[index])} to {format_number(edges[index + 1])}"
        text = f"{span}: {format_share(shares[index])} ({counts[index]:,})"
        bars.append(_Bar(left + 0.5, right - left - 1, max(heights[index], 1.0), text))
    return bars


def list_ticks(low: float, high: float) -> list[float]:
    """About five round numbers between `low` and `high`."""
    rough = (high - low) / 5
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= 0.999 * rough)
    return [float(count * step) for count in range(int(np.ceil(low / step)), int(np.floor(high / step + 1e-9)) + 1)]


def draw_heat_scale() -> str:
    """The colours of the heat maps."""
    return render("heat_scale.svg.j2", stops=list(zip(STOPS, COLOURS.astype(int).tolist(), strict=True)))


LEFT, TOP, PLOT, BELOW = 46, 12, (320, 284), 340  # of a chart: margins, size of the plot, height
PITCH = 17  # of the legend, which is right of the plot
# Okabe and Ito's colours, which people who cannot tell red from green still tell apart; black follows the page.
LINE_COLOURS = ("currentColor", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31")
DASHES = ("", "7 3", "2 3")


class Line(NamedTuple):
    """One curve of a chart, its coordinates as shares of the two axes."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]


class Axes(NamedTuple):
    """Names of the axes and, evenly spread, of the marks on the horizontal one; the vertical one is from 0 to 1."""

    x: str
    y: str
    marks: Sequence[str] = ("0", "0.25", "0.5", "0.75", "1")


def draw_curves(rankings: Sequence[tuple[str, Ranking]]) -> str:
    """Precision over recall as one ``<svg>``, by name, the most important curve first."""
    lines = [Line(f"{name} {one.pixel_ap:.2f}", one.recall, one.precision) for name, one in rankings]
    return draw_lines(lines, Axes("recall", "precision"), "Precision over recall, pixels of all images")


def draw_lines(lines: Sequence[Line], axes: Axes, title: str) -> str:
    """A chart as one ``<svg>``, the most important curve first; `title` is for screen readers."""
    width, height = PLOT
    marks, n_steps = axes.marks, max(len(axes.marks) - 1, 1)
    return render(
        "chart.svg.j2",
        title=title,
        axes=axes,
        left=LEFT,
        width=width,
        height=max(BELOW, TOP + PITCH * (len(lines) + 1)),
        bottom=TOP + height,
        middle=TOP + height // 2,
        below=BELOW,
        legend=LEFT + width + 18,
        y_ticks=[(TOP + height * (1 - tick), f"{tick:g}") for tick in (0, 0.25, 0.5, 0.75, 1)],
        x_ticks=[(LEFT + width * place / n_steps, mark) for place, mark in enumerate(marks)],
        curves=[_measure_curve(line, number) for number, line in enumerate(lines)],
    )


def _measure_curve(line: Line, number: int) -> dict[str, Any]:
    """What the template draws of one curve and its key in the legend."""
    width, height = PLOT
    places = zip(line.xs, line.ys, strict=True)
    return {
        "name": line.name,
        "points": " ".join(f"{LEFT + width * x:.1f},{TOP + height * (1 - y):.1f}" for x, y in places),
        "colour": LINE_COLOURS[number % len(LINE_COLOURS)],
        "dashes": DASHES[number // len(LINE_COLOURS) % len(DASHES)],
        "width": 1.5 if number else 2.4,
        "y": TOP + 8 + PITCH * number,
    }
