"""Parts of a report: numbers and advice at the top, lists of problems, histograms, parameters."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import PurePath
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from segvote.inputs.bags import Problem
from segvote.method.confidence import UNCERTAIN
from segvote.report.figures import HistogramRow, draw_histograms, make_edges
from segvote.report.gallery import count_false_positives
from segvote.report.markup import format_count, format_share, render
from segvote.run.run import Run, format_command
from segvote.settings import Settings
from segvote.types import WITH, WITHOUT

MAX_OPEN = 5  # rows of a list that is shown unfolded


class Tile(NamedTuple):
    """A number with its name and what it means."""

    value: str
    name: str
    note: str


def format_title(run: Run) -> str:
    """The run in one line of plain text."""
    n_with = sum(bag.bag_label == WITH for bag in run.all_bags)
    n_without = len(run.all_bags) - n_with
    return f"{run.settings.label}: {n_with} image{'s' * (n_with != 1)} with, {n_without} without"


def format_tiles(run: Run) -> str:
    """The run in six numbers."""
    bags = run.all_bags
    shown = [bag for bag in bags if bag.bag_label == WITH]
    n_without = len(bags) - len(shown)
    n_segments = sum(bag.n_segments for bag in bags)
    n_selected = sum(bag.n_selected for bag in bags)
    n_uncertain = sum(bag.uncertainty >= UNCERTAIN for bag in shown)
    used = {bag.name for bag in bags}
    n_problems = sum(problem.name not in used for problem in run.record.problems)
    tiles = [
        Tile(format_count(len(bags)), "images read", f"{len(shown):,} with, {n_without:,} without"),
        Tile(format_count(n_segments), "segments", f"{n_selected:,} selected as {run.settings.label}"),
        Tile(format_share(median(bag.area for bag in shown)), "of an image", "median area of a mask"),
        Tile(format_count(n_uncertain), "uncertain", f"of {len(shown):,} masks: uncertainty {UNCERTAIN} or more"),
        Tile(
            format_count(count_false_positives(bags)),
            "look like it",
            f"of {n_without:,} images without; their masks are empty",
        ),
        Tile(
            format_count(n_problems),
            "unreadable",
            "left out, with reasons below" if n_problems else "every file could be read",
        ),
    ]
    return render("tiles.html.j2", tiles=tiles)


def format_confidence(run: Run) -> str:
    """How far to trust the run, and what to do next; nothing where it is not known."""
    level, reason, advice = (str(run.confidence.get(name, "")) for name in ("level", "reason", "advice"))
    return render(
        "confidence.html.j2",
        level=level,
        reason=_begin_sentence(reason),
        advice=advice,
        review=format_command(run.folder.path, "review"),
        export=format_command(run.folder.path, "export", "--format", "yolo"),
    )


def format_estimate(run: Run) -> str:
    """The expected IoU of the images that were not finished; nothing where it is not known."""
    return render("estimate.html.j2", estimate=_begin_sentence(run.format_estimate()))


def _begin_sentence(text: str) -> str:
    return text[:1].upper() + text[1:]  # `capitalize` would make WITH and WITHOUT small


def format_sample(run: Run) -> str:
    """How many images voted, where not all did; nothing otherwise."""
    return render(
        "sample.html.j2", n_voters=len(run), n_images=len(run.all_bags), n_predicted=len(run.record.predicted)
    )


def format_drawing(run: Run) -> str:
    """How the masks were drawn, and why."""
    drawing = run.drawing
    network = PurePath(drawing.refine).name if drawing.way != "lines" else ""
    return render("drawing.html.j2", way=drawing.way, reason=drawing.reason, network=network)


def format_figures(run: Run) -> str:
    """Histograms of weights and scores over all segments."""
    is_with = np.repeat([bag.bag_label == WITH for bag in run.bags], [bag.n_segments for bag in run.bags])
    weights, scores, selected = (run.votes[name] for name in ("weights", "scores", "selected"))
    by_label = [HistogramRow("with", WITH, weights[is_with]), HistogramRow("without", WITHOUT, weights[~is_with])]
    by_fate = [
        HistogramRow("with, selected", WITH, scores[is_with & selected]),
        HistogramRow("with, not selected", "left", scores[is_with & ~selected]),
        HistogramRow("without", WITHOUT, scores[~is_with]),
    ]
    return render(
        "weights_and_scores.html.j2",
        weights=draw_histograms(by_label, make_edges(weights, 0.0, 1.0), "Histogram of weights, with and without"),
        scores=draw_histograms(
            by_fate, make_edges(scores), "Histogram of scores: selected, not selected, without", mark=0.0
        ),
    )


def list_unreadable(problems: Iterable[Problem]) -> list[tuple[str, str]]:
    """Names of files that could not be read, with reasons that do not repeat the name."""
    rows = []
    for one in problems:
        path, separator, rest = one.reason.partition(": ")
        starts_with_name = separator and path.endswith(one.name.split("/", 1)[-1])
        rows.append((one.name, rest if starts_with_name else one.reason))
    return rows


def format_left_out(run: Run) -> str:
    """Images excluded from the vote and files that could not be read, with reasons; nothing where there is none."""
    other = {WITH: WITHOUT, WITHOUT: WITH}
    excluded = [
        (bag.name, f"likely mislabelled: it looks like the images {other[bag.bag_label]} it")
        for bag in run.bags
        if bag.excluded
    ]
    lists = {"Images excluded from the vote": excluded, "Unreadable files": list_unreadable(run.record.problems)}
    return render("left_out.html.j2", lists=lists, max_open=MAX_OPEN)


def format_parameters(run: Run) -> str:
    """Two tables: the settings and folders, and the versions of the packages that may change a mask."""
    defaults = Settings().to_dict()
    return render(
        "parameters.html.j2",
        settings=[(key, _format_value(one), one == defaults.get(key)) for key, one in run.settings.to_dict().items()],
        folders=[(WITH, run.inputs.with_folder), (WITHOUT, run.inputs.without_folder)],
        versions={"segvote": run.record.segvote, **run.record.versions},
    )


def _format_value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if isinstance(value, dict) else str(value)
