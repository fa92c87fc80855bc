"""The gallery: one card per bag, the most uncertain masks first, then the false positives with the highest scores.

A video has a player and a time line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import log
from statistics import median

import numpy as np

from segvote.method.confidence import UNCERTAIN
from segvote.pipeline.video.write import Moment, get_film_path, read_timeline
from segvote.report.markup import render
from segvote.report.thumbnails import PAGE_BYTES, Triplet, choose_size, count_characters, make_triplet
from segvote.run.record import BagRecord
from segvote.run.run import Run
from segvote.types import WITH

RATIOS = {"wide": 16 / 9, "photo": 3 / 2, "screen": 4 / 3, "square": 1.0, "tall": 3 / 4}  # classes of the style sheet
# Reading, scaling and writing pictures releases the GIL.
N_THREADS = os.cpu_count() or 1
# Images that are read at once: none are once the page is full.
CHUNK = 64
NO_PICTURES: Triplet = (None, None, None)


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
    """Cards as HTML, in the order of the page.

    `n_objects` is the number of objects by the number of the bag, where it is known.
    """
    for rank, (index, triplet) in enumerate(_list_triplets(run)):
        yield format_card(run, index, triplet, rank, n_objects.get(index))


def _list_triplets(run: Run) -> Iterator[tuple[int, Triplet]]:
    """Numbers of the bags, in the order of the page, and their pictures until it is full; they are made in threads."""
    size, share = choose_size(len(run)), PAGE_BYTES // len(run)
    order, spent = sort_bags(run.bags), 0
    with ThreadPoolExecutor(N_THREADS) as pool:
        for start in range(0, len(order), CHUNK):
            some = order[start : start + CHUNK]
            made = pool.map(lambda index: make_triplet(run, index, size, share), some if spent < PAGE_BYTES else [])
            for index in some:
                triplet = next(made, NO_PICTURES)
                triplet = triplet if spent < PAGE_BYTES else NO_PICTURES
                spent += count_characters(triplet)
                yield index, triplet


def format_card(run: Run, index: int, triplet: Triplet, rank: int, n_objects: int | None = None) -> str:
    """One card; `rank` is its place in the order of uncertainty."""
    bag = run.bags[index]
    missing = ("no image", "no heat map", "no mask" if bag.n_selected else "nothing selected")
    return render(
        "card.html.j2",
        bag=bag,
        name=bag.name.removeprefix(f"{bag.bag_label}/"),
        panes=list(zip(triplet, missing, strict=True)),
        rank=rank,
        bar_share=min(bag.uncertainty / (2 * UNCERTAIN), 1.0),
        bar_colour="high" if bag.uncertainty >= UNCERTAIN else "",
        film=format_film(run, bag),
        n_objects=n_objects,
    )


WIDTH, HEIGHT, HEAD = 480, 84, 16  # of a time line, in SVG units; of the line of text above it


def format_film(run: Run, bag: BagRecord) -> str:
    """Player and time line of a video; empty for an image. The film stays a file beside the page."""
    if not bag.n_frames:
        return ""
    has_film, moments = get_film_path(run.folder, bag.stem).is_file(), read_timeline(run.folder, bag.stem)
    return render("film.html.j2", bag=bag, has_film=has_film, timeline=draw_timeline(moments) if moments else "")


def draw_timeline(moments: Sequence[Moment]) -> str:
    """Heat as a line between 0 and 1, with the decision at one half; the covered area as a filled shape below it."""
    times, areas, heats = np.array([(one.time, one.area, one.heat) for one in moments]).T
    largest, seconds = areas.max(), times[-1] - times[0]
    x = WIDTH * (times - times[0]) / (seconds if seconds > 0 else 1)
    return render(
        "timeline.svg.j2",
        width=WIDTH,
        height=HEIGHT,
        middle=(HEIGHT + HEAD) / 2,
        n_frames=len(moments),
        seconds=seconds,
        largest=largest,
        shape=_join(x, areas / (largest or 1)),
        line=_join(x, heats),
    )


def _join(x: np.ndarray, values: np.ndarray) -> str:
    y = HEIGHT - (HEIGHT - HEAD) * np.clip(values, 0, 1)
    return " ".join(f"{one:.1f},{other:.1f}" for one, other in zip(x, y, strict=True))
