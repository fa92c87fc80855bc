"""Parts of a report: numbers and advice at the top, lists of problems, histograms, parameters."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import PurePath
from statistics import median
from typing import Any

import numpy as np

from segvote.inputs.bags import Problem
from segvote.method.confidence import UNCERTAIN
from segvote.report.figures import HistogramRow, draw_histograms, make_edges
from segvote.report.gallery import count_false_positives
from segvote.report.markup import escape, format_share, format_table
from segvote.run.run import Run, format_command
from segvote.settings import Settings
from segvote.types import WITH, WITHOUT

MAX_OPEN = 5  # rows of a list that is shown unfolded
# What to do at each level of confidence.
NEXT_STEPS = {
    "high": "Look at the first cards, the least certain masks. Correct them with <code>{review}</code>, "
    "then write a set to train on: <code>{export}</code>.",
    "fair": "Look at every mask that is marked uncertain and correct it with <code>{review}</code>: similar "
    "segments of all images follow.",
    "low": "Look at all masks before you use any.",
}


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
        (f"{len(bags):,}", "images read", f"{len(shown):,} with, {n_without:,} without"),
        (f"{n_segments:,}", "segments", f"{n_selected:,} selected as {run.settings.label}"),
        (format_share(median(bag.area for bag in shown)), "of an image", "median area of a mask"),
        (f"{n_uncertain:,}", "uncertain", f"of {len(shown):,} masks: uncertainty {UNCERTAIN} or more"),
        (
            f"{count_false_positives(bags):,}",
            "look like it",
            f"of {n_without:,} images without; their masks are empty",
        ),
        (f"{n_problems:,}", "unreadable", "left out, with reasons below" if n_problems else "every file could be read"),
    ]
    body = "".join(
        f'<div class="tile"><dt>{name}</dt><dd><b>{value}</b><span>{escape(note)}</span></dd></div>\n'
        for value, name, note in tiles
    )
    return f'<dl class="tiles">\n{body}</dl>\n'


def format_confidence(run: Run) -> str:
    """How far to trust the run, in one sentence; nothing where it is not known."""
    found = {name: escape(str(run.confidence.get(name, ""))) for name in ("level", "reason", "advice")}
    if not found["level"]:
        return ""
    # Not `capitalize`, which would make WITH and WITHOUT small.
    reason = found["reason"][:1].upper() + found["reason"][1:]
    review, export = (
        escape(format_command(run.folder.path, *words)) for words in (("review",), ("export", "--format", "yolo"))
    )
    why = f" {reason}. Try: {found['advice'].replace('`segvote review`', f'<code>{review}</code>')}." if reason else ""
    step = NEXT_STEPS.get(found["level"], "").format(review=review, export=export)
    return f'<p class="confidence {found["level"]}"><b>Confidence {found["level"]}.</b>{why} {step}</p>\n'


def format_estimate(run: Run) -> str:
    """The expected IoU of the images that were not finished; nothing where it is not known."""
    text = escape(run.format_estimate())
    return f'<p class="estimate">{text[:1].upper()}{text[1:]}.</p>\n' if text else ""


def format_sample(run: Run) -> str:
    """How many images voted, where not all did; nothing otherwise."""
    if not run.record.predicted:
        return ""
    return (
        f'<p class="sample"><b>{len(run):,} of {len(run.all_bags):,} images voted</b> and are shown below; '
        f"the model of their vote predicted the other {len(run.record.predicted):,}, whose masks are in the folder and "
        "in every export. Confidence, estimate, alternatives and figures are of the images that voted.</p>\n"
    )


def format_drawing(run: Run) -> str:
    """How the masks were drawn, and why."""
    found = run.drawing
    network = escape(PurePath(found.refine).name) if found.way != "lines" else ""
    refined = f" Regions redrawn by {network} where it agreed with the vote." if network else ""
    return f'<p class="drawing"><b>Masks drawn as {escape(found.way)}:</b> {escape(found.reason)}.{refined}</p>\n'


def format_figures(run: Run) -> str:
    """Histograms of weights and scores over all segments."""
    is_with = np.repeat([bag.bag_label == WITH for bag in run.bags], [bag.n_segments for bag in run.bags])
    weights, scores, selected = (run.votes[name] for name in ("weights", "scores", "decisions"))
    by_label = [HistogramRow("with", WITH, weights[is_with]), HistogramRow("without", WITHOUT, weights[~is_with])]
    by_fate = [
        HistogramRow("with, selected", WITH, scores[is_with & selected]),
        HistogramRow("with, not selected", "left", scores[is_with & ~selected]),
        HistogramRow("without", WITHOUT, scores[~is_with]),
    ]
    figures = (
        (
            "Weights",
            "The soft label of every segment: 0 is background, 1 is object. Two peaks at the ends are a clear vote.",
            draw_histograms(by_label, make_edges(weights, 0.0, 1.0), "Histogram of weights, with and without"),
        ),
        (
            "Scores",
            "The score that decides. Two thresholds: in an image with the object, its own, given on its card; in "
            "images of unknown content 0, the line here. An image without the object has no mask, whatever its score.",
            draw_histograms(
                by_fate, make_edges(scores), "Histogram of scores: selected, not selected, without", mark=0.0
            ),
        ),
    )
    parts = [
        f"<figure><figcaption><h2>{title}</h2><p>{text}</p></figcaption>{drawing}</figure>\n"
        for title, text, drawing in figures
    ]
    return f'<div class="figures">\n{"".join(parts)}</div>\n'


def format_problems(problems: Iterable[Problem]) -> str:
    """Files that could not be read and why."""
    rows = _list_unreadable(problems)
    if not rows:
        return "<h3>Unreadable files</h3>\n<p>None: every file could be read.</p>\n"
    return format_table(rows, "Unreadable files")


def _list_unreadable(problems: Iterable[Problem]) -> list[tuple[str, str]]:
    rows = []
    for one in problems:
        path, separator, rest = one.reason.partition(": ")
        starts_with_name = separator and path.endswith(one.name.split("/", 1)[-1])
        rows.append((f"<bdi>{escape(one.name)}</bdi>", escape(rest if starts_with_name else one.reason)))
    return rows


def format_left_out(run: Run) -> str:
    """Images excluded from the vote and files that could not be read, with reasons; nothing where there is none."""
    other = {WITH: WITHOUT, WITHOUT: WITH}
    excluded = [
        (f"<bdi>{escape(bag.name)}</bdi>", f"likely mislabelled: it looks like the images {other[bag.bag_label]} it")
        for bag in run.bags
        if bag.excluded
    ]
    lists = {"Images excluded from the vote": excluded, "Unreadable files": _list_unreadable(run.record.problems)}
    return "".join(
        f'<details class="left-out"{" open" if len(rows) <= MAX_OPEN else ""}><summary>{title}: {len(rows)}</summary>'
        f"{format_table(rows, title)}</details>\n"
        for title, rows in lists.items()
        if rows
    )


def format_parameters(run: Run) -> str:
    """Two tables: the settings and folders, and the versions of the packages that may change a mask."""
    defaults = Settings().to_dict()
    chosen = [
        (escape(name), _format_value(value, value == defaults.get(name)))
        for name, value in run.settings.to_dict().items()
    ]
    folders = {WITH: run.inputs.with_folder, WITHOUT: run.inputs.without_folder}
    sources = [(f"folder {name}", f"<bdi>{escape(source)}</bdi>") for name, source in folders.items()]
    versions = {"segvote": run.record.segvote, **run.record.versions}
    listed = [(escape(package), escape(version)) for package, version in versions.items()]
    return format_table(chosen + sources, "Parameters") + format_table(listed, "Versions")


def _format_value(value: Any, is_default: bool) -> str:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True) if isinstance(value, dict) else str(value)
    return f"<code>{escape(text)}</code>" + ("" if is_default else ' <span class="changed">not the default</span>')
