"""The gallery: one card per bag, the most uncertain masks first, then the false positives with the highest scores.

A video has a player and a time line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import log
from statistics import median
from urllib.parse import quote

import numpy as np

from segvote.method.confidence import UNCERTAIN
from segvote.pipeline.video.write import Moment, get_film_path, read_timeline
from segvote.report.figures import draw_bar
from segvote.report.markup import escape, format_number, format_share
from segvote.report.thumbnails import PAGE_BYTES, choose_size, format_triplet
from segvote.run.record import BagRecord
from segvote.run.run import Run
from segvote.types import WITH

RATIOS = {"wide": 16 / 9, "photo": 3 / 2, "screen": 4 / 3, "square": 1.0, "tall": 3 / 4}  # classes of the style sheet
# Reading, scaling and writing pictures releases the GIL.
N_THREADS = os.cpu_count() or 1
# Images that are read at once: none are once the page is full.
CHUNK, NO_PICTURES = 64, ["", "", ""]


def sort_bags(bags: Sequence[BagRecord]) -> list[int]:
    """Numbers of the bags in the order of the page."""
    ranks = [(bag.bag_label != WITH, -bag.uncertainty, -bag.score, bag.name) for bag in bags]
    return sorted(range(len(bags)), key=ranks.__getitem__)


def choose_ratio(bags: Sequence[BagRecord]) -> str:
    """The shape of the cards' panes: the one nearest to most of the images."""
    ratio = median(bag.width / bag.height for bag in bags)
    return min(RATIOS, key=lambda name: abs(log(RATIOS[name] / ratio)))


def count_false_positives(bags: Sequence[BagRecord]) -> int:
    """*Without* bags whose best segment is above the voter's global threshold, 0."""
    return sum(bag.bag_label != WITH and bag.score > bag.threshold for bag in bags)


def list_cards(run: Run, n_objects: Mapping[int, int]) -> Iterator[str]:
    """Cards as HTML, in the order of the page; their pictures are made in threads.

    `n_objects` is the number of objects by the number of the bag, where it is known.
    """
    size, share = choose_size(len(run)), PAGE_BYTES // len(run)
    order, spent = sort_bags(run.bags), 0
    with ThreadPoolExecutor(N_THREADS) as pool:
        for start in range(0, len(order), CHUNK):
            some = order[start : start + CHUNK] if spent < PAGE_BYTES else []
            triplets = pool.map(lambda index: format_triplet(run, index, size, share), some)
            for rank, index in enumerate(order[start : start + CHUNK], start=start):
                made = next(triplets, NO_PICTURES)
                triplet = made if spent < PAGE_BYTES else NO_PICTURES
                spent += sum(map(len, triplet))
                film = format_film(run, run.bags[index])
                yield format_card(run.bags[index], triplet, rank, film, n_objects.get(index))


def format_card(bag: BagRecord, triplet: Sequence[str], rank: int, film: str = "", n_objects: int | None = None) -> str:
    """One card; `rank` is its place in the order of uncertainty, `film` the markup of a video's player."""
    bag_label, name = escape(bag.bag_label), escape(bag.name.removeprefix(f"{bag.bag_label}/"))
    stem = escape(quote(bag.stem, errors="surrogateescape"))
    missing = ("no image", "no heat map", "no mask" if bag.n_selected else "nothing selected")
    panes = [
        f'<span class="pane">{picture}</span>' if picture else f'<span class="pane missing">{words}</span>'
        for picture, words in zip(triplet, missing, strict=True)
    ]
    return (
        f'<li class="card" data-label="{bag_label}" data-rank="{rank}" data-score="{bag.score}"'
        f' data-area="{bag.area}" data-name="{name}">\n'
        f'<button type="button" class="triplet">{"".join(panes)}</button>\n'
        f'<div class="about"><h3><bdi>{name}</bdi></h3><span class="bag-label {bag_label}">{bag_label}</span></div>\n'
        f"{film}{_format_facts(bag, n_objects)}"
        # Links that work while the page lies in its run folder; shown when a card is enlarged.
        f'<p class="files">In the run folder: <a href="masks/{stem}.png">mask</a>, '
        f'<a href="heatmaps/{stem}.jpg">heat map</a></p>\n</li>\n'
    )


def _format_facts(bag: BagRecord, n_objects: int | None) -> str:
    above = ' <span class="alarm">above</span>' if bag.score > bag.threshold else ""
    facts = {"highest score": f"{format_number(bag.score)}{above}", "threshold": format_number(bag.threshold)}
    facts |= {"segments": f"{bag.n_segments}"}
    if bag.bag_label == WITH:
        level = "high" if bag.uncertainty >= UNCERTAIN else ""
        facts = {
            "uncertainty": f"{bag.uncertainty:.2f}{draw_bar(bag.uncertainty / (2 * UNCERTAIN), level)}",
            "score": format_number(bag.score),
            "threshold": format_number(bag.threshold),
            "area": format_share(bag.area),
            "segments": f"{bag.n_selected} of {bag.n_segments}",
        }
    if n_objects is not None:
        facts["objects"] = f"{n_objects}"
    facts["pixels"] = f"{bag.width} × {bag.height}"
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items())
    return f'<dl class="facts">{rows}</dl>\n'


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
    times, areas, heats = np.array([(one.time, one.area, one.heat) for one in moments]).T
    largest, seconds = areas.max(), times[-1] - times[0]
    x = WIDTH * (times - times[0]) / (seconds if seconds > 0 else 1)
    shape, line = (_join(x, values) for values in (areas / (largest or 1), heats))
    middle = (HEIGHT + HEAD) / 2
    title = f"{len(moments)} frames in {seconds:.1f} s; the mask covers at most {format_share(largest)} of a frame"
    return (
        f'<svg class="timeline" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"><title>{title}</title>'
        f'<polygon class="area" points="0,{HEIGHT} {shape} {WIDTH},{HEIGHT}"/>'
        f'<line class="mark" x1="0" x2="{WIDTH}" y1="{middle}" y2="{middle}"/><polyline class="heat" points="{line}"/>'
        f'<text x="0" y="11">heat (line), covered area (shape, at most {format_share(largest)})</text>'
        f'<text x="{WIDTH}" y="11" text-anchor="end">{seconds:.1f} s, {len(moments)} frames</text></svg>'
    )


def _join(x: np.ndarray, values: np.ndarray) -> str:
    y = HEIGHT - (HEIGHT - HEAD) * np.clip(values, 0, 1)
    return " ".join(f"{one:.1f},{other:.1f}" for one, other in zip(x, y, strict=True))
