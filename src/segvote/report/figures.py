"""Figures as inline SVG without any library: histograms in rows, bars, the heat scale, line charts.

Colours come from the page's style by class. Lines of a chart differ in colour and in dashes, so that they can be told
apart in print; every line is named in the legend, in the order in which it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from segvote.io.overlays import COLOURS, STOPS
from segvote.report.markup import escape, format_number, format_share

WIDTH, LEFT, RIGHT = 480, 4, 4  # of a histogram, in SVG units
HEAD, FOOT, HEIGHT = 24, 26, 250  # height of a row's title, of the axis below all rows, and of the whole
N_BINS = 40


@dataclass(frozen=True)
class HistogramRow:
    """One group of segments: its name on the page, its colour (a class of the style sheet), (n,) values."""

    name: str
    colour: str
    values: np.ndarray


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

    Edges are equally wide; values beyond the ends are counted in the end bins. A vertical line is drawn at `mark`.
    """
    pitch = (HEIGHT - FOOT) / len(rows)
    parts = [_draw_row(row, edges, y=index * pitch, height=pitch) for index, row in enumerate(rows)]
    if mark is not None and edges[0] <= mark <= edges[-1]:
        x = f"{_place(mark, edges):.1f}"
        spans = [(index * pitch + HEAD, (index + 1) * pitch) for index in range(len(rows))]
        parts += [f'<line class="mark" x1="{x}" x2="{x}" y1="{top:.1f}" y2="{bottom:.1f}"/>' for top, bottom in spans]
    return (
        f'<svg class="histogram" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
        f"<title>{escape(title)}</title>{''.join(parts)}{_draw_axis(edges)}</svg>\n"
    )


def draw_bar(share: float, colour: str = "", mark: float | None = None) -> str:
    """A short horizontal bar, filled by `share` of its length; decoration beside a printed number."""
    filled = 100 * min(max(share, 0.0), 1.0)
    line = "" if mark is None else f'<line class="mark" x1="{100 * mark:g}" x2="{100 * mark:g}" y1="0" y2="6"/>'
    return (
        f'<svg class="bar {colour}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="track" width="100" height="6"/><rect class="fill" width="{filled:.2f}" height="6"/>{line}</svg>'
    )


def draw_heat_scale() -> str:
    """The colours of the heat maps, from the table the maps are painted with."""
    stops = "".join(
        f'<stop offset="{stop:g}" stop-color="rgb({",".join(str(int(channel)) for channel in colour)})"/>'
        for stop, colour in zip(STOPS, COLOURS, strict=True)
    )
    return (
        '<svg class="scale" viewBox="0 0 200 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<defs><linearGradient id="heat">{stops}</linearGradient></defs>'
        '<rect width="200" height="10" fill="url(#heat)"/></svg>'
    )


def _count(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    finite = values[np.isfinite(values)]
    return np.histogram(np.clip(finite, edges[0], edges[-1]), bins=edges)[0]


def _place(value: float, edges: np.ndarray) -> float:
    return float(LEFT + (WIDTH - LEFT - RIGHT) * (value - edges[0]) / (edges[-1] - edges[0]))


def _draw_row(row: HistogramRow, edges: np.ndarray, y: float, height: float) -> str:
    counts = _count(row.values, edges)
    shares = counts / max(counts.sum(), 1)
    base = y + height
    # Most segments are background: on a linear scale their bin would hide all others; a root still starts at zero.
    heights = np.sqrt(shares / (shares.max() or 1.0)) * (height - HEAD)
    bars = [
        _draw_column(edges, index, f"{format_share(shares[index])} ({counts[index]:,})", base, heights[index])
        for index in np.flatnonzero(counts).tolist()
    ]
    highest = f"highest bar {format_share(shares.max())}" if bars else ""
    return (
        f'<g class="{row.colour}"><text class="name" x="{LEFT}" y="{y + 15:.1f}">{escape(row.name)}'
        f'<tspan class="count" dx="8">{counts.sum():,} segments</tspan></text>'
        f'<text x="{WIDTH - RIGHT}" y="{y + 15:.1f}" text-anchor="end">{highest}</text>'
        f'<line class="base" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base:.1f}" y2="{base:.1f}"/>{"".join(bars)}</g>'
    )


def _draw_column(edges: np.ndarray, index: int, label: str, base: float, height: float) -> str:
    left, right = _place(edges[index], edges), _place(edges[index + 1], edges)
    height = max(height, 1.0)  # what exists is seen
    span = f"{format_number(edges[index])} to {format_number(edges[index + 1])}"
    return (
        f'<rect x="{left + 0.5:.1f}" y="{base - height:.1f}" width="{right - left - 1:.1f}" height="{height:.1f}">'
        f"<title>{span}: {label}</title></rect>"
    )


def _draw_axis(edges: np.ndarray) -> str:
    return "".join(
        f'<text class="tick" x="{min(max(_place(tick, edges), 12), WIDTH - 12):.1f}" y="{HEIGHT - FOOT + 18}" '
        f'text-anchor="middle">{_format_tick(tick)}</text>'
        for tick in list_ticks(float(edges[0]), float(edges[-1]))
    )


def list_ticks(low: float, high: float) -> list[float]:
    """About five round numbers between `low` and `high`."""
    rough = (high - low) / 5
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= 0.999 * rough)
    return [float(count * step) for count in range(int(np.ceil(low / step)), int(np.floor(high / step + 1e-9)) + 1)]


def _format_tick(value: float) -> str:
    return f"{value:.3g}".replace("-", "\u2212")


WIDTH, HEIGHT = 560, 340
LEFT, TOP, BOTTOM = 46, 12, 44
PLOT = 320  # width of the plot; the rest is the legend
PITCH = 17  # of the legend
# Okabe and Ito's colours, which people who cannot tell red from green still tell apart; black follows the page.
LINE_COLOURS = ("currentColor", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31")
DASHES = ("", "7 3", "2 3")
Place = Callable[[float, float], tuple[float, float]]


@dataclass(frozen=True)
class Line:
    """One curve: its name and its points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


def draw_lines(
    lines: Sequence[Line],
    title: str,
    x_label: str,
    y_label: str,
    x_ticks: Sequence[float] = (0, 0.25, 0.5, 0.75, 1),
    marks: bool = False,
) -> str:
    """One ``<svg>`` of curves with y in [0, 1], the most important first; `title` is for screen readers.

    The x axis ends at the smallest and the largest of its ticks. `marks` puts a dot at every point, for curves of few
    measurements.
    """
    low, high = min(x_ticks), max(x_ticks)

    def place(x: float, y: float) -> tuple[float, float]:
        span = (x - low) / ((high - low) or 1)
        return LEFT + PLOT * span, TOP + (HEIGHT - TOP - BOTTOM) * (1 - y)

    height = max(HEIGHT, TOP + PITCH * (len(lines) + 1))
    axes = _draw_axes(place, x_ticks, x_label, y_label)
    curves = [_draw_line(line, place, number, marks) for number, line in enumerate(lines)]
    legend = [_draw_key(line.name, number) for number, line in enumerate(lines)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lines" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="currentColor">'
        f"<title>{escape(title)}</title>{axes}{''.join(reversed(curves))}{''.join(legend)}</svg>\n"
    )


def _draw_axes(place: Place, x_ticks: Sequence[float], x_label: str, y_label: str) -> str:
    parts = []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x, y = place(min(x_ticks), tick)
        parts.append(f'<path d="M{x:.1f} {y:.1f}h{PLOT}" stroke="currentColor" stroke-opacity=".15"/>')
        parts.append(f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for tick in x_ticks:
        x, y = place(tick, 0)
        parts.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{tick:g}</text>')
    middle, below = LEFT + PLOT / 2, HEIGHT - 10
    parts.append(f'<text x="{middle:.1f}" y="{below}" text-anchor="middle">{escape(x_label)}</text>')
    turned = f"rotate(-90 12 {(TOP + HEIGHT - BOTTOM) / 2:.0f})"
    parts.append(
        f'<text x="12" y="{(TOP + HEIGHT - BOTTOM) / 2:.0f}" text-anchor="middle" transform="{turned}">'
        f"{escape(y_label)}</text>"
    )
    return "".join(parts)


def _style(number: int) -> str:
    colour, dash = LINE_COLOURS[number % len(LINE_COLOURS)], DASHES[number // len(LINE_COLOURS) % len(DASHES)]
    width = 2.4 if number == 0 else 1.5
    return f'fill="none" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dash}" stroke-linejoin="round"'


def _draw_line(line: Line, place: Place, number: int, marks: bool) -> str:
    points = [place(x, y) for x, y in zip(line.x, line.y, strict=True)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = ""
    if marks:
        colour = LINE_COLOURS[number % len(LINE_COLOURS)]
        dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in points)
    return f'<g><title>{escape(line.name)}</title><polyline points="{path}" {_style(number)}/>{dots}</g>'


def _draw_key(name: str, number: int) -> str:
    x, y = LEFT + PLOT + 18, TOP + 8 + PITCH * number
    return f'<path d="M{x} {y}h22" {_style(number)}/><text x="{x + 28}" y="{y + 4}">{escape(name)}</text>'
