"""Line charts as SVG without any library: precision over recall, and figures over a kind of stress.

Text takes the colour of the page around it. Lines differ in colour and in dashes, so that they can be told apart in
print; every line is named in the legend, in the order in which it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from segvote.report.markup import escape

WIDTH, HEIGHT = 560, 340
LEFT, TOP, BOTTOM = 46, 12, 44
PLOT = 320  # width of the plot; the rest is the legend
PITCH = 17  # of the legend
# Okabe and Ito's colours, which people who cannot tell red from green still tell apart; black follows the page.
COLOURS = ("currentColor", "#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31")
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
    x_names: Sequence[str] | None = None,
    marks: bool = False,
) -> str:
    """One ``<svg>`` of curves with y in [0, 1], the most important first; `title` is for screen readers.

    The x axis ends at the smallest and the largest of its ticks; `x_names` is what to write at them, where it is not
    the numbers. `marks` puts a dot at every point, for curves of few measurements.
    """
    low, high = min(x_ticks), max(x_ticks)

    def place(x: float, y: float) -> tuple[float, float]:
        span = (x - low) / ((high - low) or 1)
        return LEFT + PLOT * span, TOP + (HEIGHT - TOP - BOTTOM) * (1 - y)

    height = max(HEIGHT, TOP + PITCH * (len(lines) + 1))
    axes = _draw_axes(place, x_ticks, x_names or [f"{tick:g}" for tick in x_ticks], x_label, y_label)
    curves = [_draw_line(line, place, number, marks) for number, line in enumerate(lines)]
    legend = [_draw_key(line.name, number) for number, line in enumerate(lines)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lines" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="currentColor">'
        f"<title>{escape(title)}</title>{axes}{''.join(reversed(curves))}{''.join(legend)}</svg>\n"
    )


def _draw_axes(place: Place, x_ticks: Sequence[float], x_names: Sequence[str], x_label: str, y_label: str) -> str:
    parts = []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x, y = place(min(x_ticks), tick)
        parts.append(f'<path d="M{x:.1f} {y:.1f}h{PLOT}" stroke="currentColor" stroke-opacity=".15"/>')
        parts.append(f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for tick, name in zip(x_ticks, x_names, strict=True):
        x, y = place(tick, 0)
        parts.append(f'<text x="{x:.1f}" y="{y + 16:.1f}" text-anchor="middle">{escape(name)}</text>')
    middle, below = LEFT + PLOT / 2, HEIGHT - 10
    parts.append(f'<text x="{middle:.1f}" y="{below}" text-anchor="middle">{escape(x_label)}</text>')
    turned = f"rotate(-90 12 {(TOP + HEIGHT - BOTTOM) / 2:.0f})"
    parts.append(
        f'<text x="12" y="{(TOP + HEIGHT - BOTTOM) / 2:.0f}" text-anchor="middle" transform="{turned}">'
        f"{escape(y_label)}</text>"
    )
    return "".join(parts)


def _style(number: int) -> str:
    colour, dash = COLOURS[number % len(COLOURS)], DASHES[number // len(COLOURS) % len(DASHES)]
    width = 2.4 if number == 0 else 1.5
    return f'fill="none" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dash}" stroke-linejoin="round"'


def _draw_line(line: Line, place: Place, number: int, marks: bool) -> str:
    points = [place(x, y) for x, y in zip(line.x, line.y, strict=True)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = ""
    if marks:
        colour = COLOURS[number % len(COLOURS)]
        dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in points)
    return f'<g><title>{escape(line.name)}</title><polyline points="{path}" {_style(number)}/>{dots}</g>'


def _draw_key(name: str, number: int) -> str:
    x, y = LEFT + PLOT + 18, TOP + 8 + PITCH * number
    return f'<path d="M{x} {y}h22" {_style(number)}/><text x="{x + 28}" y="{y + 4}">{escape(name)}</text>'
