"""Figures as inline SVG: histograms in rows, bars, the heat scale, precision-recall and other curves.

Colours come from the page's style by class. The lines of a chart differ in colour and in dashes, for print.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from segvote.evaluation.evaluate import Ranking
from segvote.io.overlays import COLOURS, STOPS
from segvote.report.markup import escape, format_number, format_share

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
    pitch = (HEIGHT - FOOT) / len(rows)
    parts = []
    for index, row in enumerate(rows):
        top, base = index * pitch, (index + 1) * pitch
        parts.append(_draw_row(row, edges, top, base))
        if mark is not None and edges[0] <= mark <= edges[-1]:
            x = f"{_place(mark, edges):.1f}"
            parts.append(f'<line class="mark" x1="{x}" x2="{x}" y1="{top + HEAD:.1f}" y2="{base:.1f}"/>')
    for tick in list_ticks(float(edges[0]), float(edges[-1])):
        x = f"{min(max(_place(tick, edges), 12), WIDTH - 12):.1f}"
        text = f"{tick:.3g}".replace("-", "\u2212")
        parts.append(f'<text class="tick" x="{x}" y="{HEIGHT - FOOT + 18}" text-anchor="middle">{text}</text>')
    return (
        f'<svg class="histogram" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>\n"
    )


def _place(value: float, edges: np.ndarray) -> float:
    return float(MARGIN + (WIDTH - 2 * MARGIN) * (value - edges[0]) / (edges[-1] - edges[0]))


def _draw_row(row: HistogramRow, edges: np.ndarray, top: float, base: float) -> str:
    finite = row.values[np.isfinite(row.values)]
    counts = np.histogram(np.clip(finite, edges[0], edges[-1]), bins=edges)[0]
    shares = counts / max(counts.sum(), 1)
    # Most segments are background: on a linear scale their bin would hide all others; a root still starts at zero.
    heights = np.sqrt(shares / (shares.max() or 1.0)) * (base - top - HEAD)
    bars = []
    for index in np.flatnonzero(counts).tolist():
        left, right, height = _place(edges[index], edges), _place(edges[index + 1], edges), max(heights[index], 1.0)
        span = f"{format_number(edges[index])} to {format_number(edges[index + 1])}"
        bars.append(
            f'<rect x="{left + 0.5:.1f}" y="{base - height:.1f}" width="{right - left - 1:.1f}" height="{height:.1f}">'
            f"<title>{span}: {format_share(shares[index])} ({counts[index]:,})</title></rect>"
        )
    highest = f"highest bar {format_share(shares.max())}" if bars else ""
    right = WIDTH - MARGIN
    return (
        f'<g class="{row.colour}"><text class="name" x="{MARGIN}" y="{top + 15:.1f}">{escape(row.name)}'
        f'<tspan class="count" dx="8">{counts.sum():,} {escape(row.unit)}</tspan></text>'
        f'<text x="{right}" y="{top + 15:.1f}" text-anchor="end">{highest}</text>'
        f'<line class="base" x1="{MARGIN}" x2="{right}" y1="{base:.1f}" y2="{base:.1f}"/>{"".join(bars)}</g>'
    )


def list_ticks(low: float, high: float) -> list[float]:
    """About five round numbers between `low` and `high`."""
    rough = (high - low) / 5
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= 0.999 * rough)
    return [float(count * step) for count in range(int(np.ceil(low / step)), int(np.floor(high / step + 1e-9)) + 1)]


def draw_bar(share: float, colour: str) -> str:
    """A short horizontal bar with a mark in its middle, filled by `share` of its length."""
    filled = 100 * min(max(share, 0.0), 1.0)
    return (
        f'<svg class="bar {colour}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="track" width="100" height="6"/><rect class="fill" width="{filled:.2f}" height="6"/>'
        '<line class="mark" x1="50" x2="50" y1="0" y2="6"/></svg>'
    )


def draw_heat_scale() -> str:
    """The colours of the heat maps."""
    stops = "".join(
        f'<stop offset="{stop:g}" stop-color="rgb({",".join(str(int(channel)) for channel in colour)})"/>'
        for stop, colour in zip(STOPS, COLOURS, strict=True)
    )
    return (
        '<svg class="scale" viewBox="0 0 200 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<defs><linearGradient id="heat">{stops}</linearGradient></defs>'
        '<rect width="200" height="10" fill="url(#heat)"/></svg>'
    )


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
    height = max(BELOW, TOP + PITCH * (len(lines) + 1))
    parts = [_draw_line(line, number) for number, line in reversed(list(enumerate(lines)))]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lines" viewBox="0 0 560 {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="currentColor">'
        f"<title>{escape(title)}</title>{_draw_axes(axes)}{''.join(parts)}</svg>\n"
    )


def _draw_axes(axes: Axes) -> str:
    (width, height), parts = PLOT, []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        y = TOP + height * (1 - tick)
        parts.append(f'<path d="M{LEFT} {y:.1f}h{width}" stroke="currentColor" stroke-opacity=".15"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for place, mark in enumerate(axes.marks):
        x = LEFT + width * place / max(len(axes.marks) - 1, 1)
        parts.append(f'<text x="{x:.1f}" y="{TOP + height + 16}" text-anchor="middle">{escape(mark)}</text>')
    middle = TOP + height // 2
    parts.append(f'<text x="{LEFT + width // 2}" y="{BELOW - 10}" text-anchor="middle">{escape(axes.x)}</text>')
    turned = f'text-anchor="middle" transform="rotate(-90 12 {middle})"'
    parts.append(f'<text x="12" y="{middle}" {turned}>{escape(axes.y)}</text>')
    return "".join(parts)


def _draw_line(line: Line, number: int) -> str:
    """A curve and its key in the legend."""
    colour, dash = LINE_COLOURS[number % len(LINE_COLOURS)], DASHES[number // len(LINE_COLOURS) % len(DASHES)]
    look = f'fill="none" stroke="{colour}" stroke-width="{1.5 if number else 2.4}" stroke-dasharray="{dash}"'
    points = " ".join(
        f"{LEFT + PLOT[0] * x:.1f},{TOP + PLOT[1] * (1 - y):.1f}" for x, y in zip(line.xs, line.ys, strict=True)
    )
    text, x, y = escape(line.name), LEFT + PLOT[0] + 18, TOP + 8 + PITCH * number
    key = f'<path d="M{x} {y}h22" {look}/><text x="{x + 28}" y="{y + 4}">{text}</text>'
    return f'<g><title>{text}</title><polyline points="{points}" {look} stroke-linejoin="round"/></g>{key}'
