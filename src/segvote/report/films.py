"""A video on its card: the film under its masks, and a time line of how much is covered and how sure the vote was."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from segvote.report.markup import escape, format_share
from segvote.run.record import BagRecord
from segvote.run.run import Run
from segvote.steps.video.timeline import Moment, read_timeline
from segvote.steps.video.write import get_film_path

WIDTH, HEIGHT, HEAD = 480, 84, 16  # of a time line, in SVG units; of the line of text above it


def format_film(run: Run, bag: BagRecord) -> str:
    """Player and time line of a video; empty for an image. The film stays a file beside the page."""
    if not bag.n_frames:
        return ""
    player = ""
    if get_film_path(run.folder, bag.stem).is_file():
        source = escape(quote(f"films/{bag.stem}.mp4", errors="surrogateescape"))
        name = escape(bag.name)
        player = (
            f'<video controls muted loop preload="metadata" src="{source}" aria-label="{name} with its masks"></video>'
        )
    moments = read_timeline(run.folder, bag.stem)
    return f'<div class="film">{player}{draw_timeline(moments) if moments else ""}</div>\n'


def draw_timeline(moments: Sequence[Moment]) -> str:
    """Heat as a line between 0 and 1, with the decision at one half; the covered area as a filled shape below it."""
    largest = max(moment.area for moment in moments)
    areas = [moment.area / largest if largest else 0.0 for moment in moments]
    places = _place_times(moments)
    shape = " ".join([f"0,{HEIGHT}", *_join(places, areas), f"{WIDTH},{HEIGHT}"])
    line = " ".join(_join(places, [moment.heat for moment in moments]))
    middle = (HEIGHT + HEAD) / 2
    seconds = moments[-1].time - moments[0].time
    title = f"{len(moments)} frames in {seconds:.1f} s; the mask covers at most {format_share(largest)} of a frame"
    return (
        f'<svg class="timeline" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><title>{title}</title>'
        f'<polygon class="area" points="{shape}"/><line class="mark" x1="0" x2="{WIDTH}" y1="{middle}" y2="{middle}"/>'
        f'<polyline class="heat" points="{line}"/>'
        f'<text x="0" y="11">heat (line), covered area (shape, at most {format_share(largest)})</text>'
        f'<text x="{WIDTH}" y="11" text-anchor="end">{seconds:.1f} s, {len(moments)} frames</text></svg>'
    )


def _place_times(moments: Sequence[Moment]) -> list[float]:
    first, last = moments[0].time, moments[-1].time
    return [WIDTH * (moment.time - first) / (last - first) if last > first else 0.0 for moment in moments]


def _join(places: Sequence[float], values: Sequence[float]) -> list[str]:
    room = HEIGHT - HEAD
    return [f"{x:.1f},{HEIGHT - room * min(max(y, 0.0), 1.0):.1f}" for x, y in zip(places, values, strict=True)]
