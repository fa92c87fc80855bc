"""Masks where a sample of the images votes and the model of that vote predicts the others.

    python benchmarks/bench_sample.py SET [SET ...] [--part half|quarter|twelve|all] [--jobs 1]
    python benchmarks/bench_sample.py --part stream [--quick] [--jobs 1]

Each set is annotated by a vote of all its images, of half of them, of a quarter, and of 12 *with* images with the same
share of the *without* images. CorLoc and mean IoU are those of the masks of all *with* images, whether they voted or
were predicted; `voters` and `others` are the changes of mean IoU against the whole vote, on the images that voted and
on those that were predicted. The figures of a set are printed as soon as they are known.

The part ``stream`` is the peak memory of `segvote predict` on more and more small images.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from PIL import Image

import segvote
from harness import Given, measure_seconds, read_peak, run_alone, run_parts
from segvote.datasets import make_scenes, write_scenes
from segvote.pipeline import sample
from segvote.settings import Settings

DETAIL = "coarse"  # one look for all votes: another look would be another difference
N_FEWEST = 12  # *with* images that vote in the part `twelve`
PARTS: dict[str, Callable[[int], float]] = {
    "half": lambda n_with: 1 / 2,
    "quarter": lambda n_with: 1 / 4,
    "twelve": lambda n_with: min(N_FEWEST / n_with, 1.0),
}
SMALL = (64, 48)  # pixels of the images of the part `stream`
N_STREAMED = (256, 1024, 4096)
Figures = dict[str, float]


def measure_sets(part: str, given: Given) -> dict[str, Any]:
    """CorLoc and mean IoU of each set by the whole vote and by a vote of a part, and the mean difference."""
    rows = {folder.name: compare_votes(folder, given, [part]) for folder in given.sets}
    return summarise(rows)


def measure_all(given: Given) -> dict[str, Any]:
    """All parts; segments and features of a set are computed once."""
    return summarise({folder.name: compare_votes(folder, given, list(PARTS)) for folder in given.sets})


def compare_votes(folder: Path, given: Given, parts: list[str]) -> Figures:
    out, figures = given.scratch / folder.name, {}
    whole = annotate_part(folder, out, "whole", given.jobs)
    for name in ("whole", *parts):
        run, found = whole if name == "whole" else annotate_part(folder, out, name, given.jobs)
        figures |= {f"{name} {figure}": value for figure, value in measure_part(run, found, whole[1]).items()}
    print(folder.name, {name: round(value, 4) for name, value in figures.items()}, flush=True)
    return figures


def measure_part(run: segvote.Run, found: segvote.Evaluation, whole: segvote.Evaluation) -> Figures:
    """CorLoc, mean IoU, number of voters; changes of the mean IoU of voting and predicted images, 0 where none is."""
    others = {bag.name for bag in run.record.predicted}
    changes = found.ious - whole.ious  # the same images in the same order
    is_other = np.array([image.name in others for image in found.images])
    parts = {"voters": changes[~is_other], "others": changes[is_other]}
    means = {name: float(some.mean()) if len(some) else 0.0 for name, some in parts.items()}
    return {"corloc": found.to_dict()["corloc"], "miou": float(found.ious.mean()), "voted": len(run), **means}


def annotate_part(folder: Path, out: Path, part: str, jobs: int) -> tuple[segvote.Run, segvote.Evaluation]:
    """Annotate into the same run folder, where segments and features are, and measure the masks of all images."""
    settings = replace(Settings(), detail=DETAIL, vote_on="all" if part == "whole" else str(sample.LEAST_VOTERS))
    with mock.patch.object(sample, "count_voters", partial(count_share, part)):
        run = segvote.annotate(folder / "with", folder / "without", out, settings, n_jobs=jobs)
    return run, segvote.evaluate(run, folder / "masks")


def count_share(part: str, n_with: int, n_without: int, n_voters: int) -> tuple[int, int]:
    """The same share of both folders, in place of equal numbers."""
    share = PARTS[part](n_with) if part in PARTS else 1.0
    return round(share * n_with), round(share * n_without)


def measure_stream(given: Given) -> dict[str, Any]:
    """Peak memory in GB and CPU seconds of `predict`, by the number of images."""
    scenes = make_scenes(n_with=8, n_without=8, size=SMALL, object_area=(0.08, 0.16))
    write_scenes(given.scratch / "scenes", scenes)
    folders = [given.scratch / "scenes" / name for name in ("with", "without")]
    settings = Settings(features="color", n_segments=20, size=SMALL[0])
    model = segvote.annotate(*folders, given.scratch / "model", settings, n_jobs=1).folder.path
    counts = N_STREAMED[:2] if given.quick else N_STREAMED
    return {
        str(count): run_alone(predict_copies, model, folders, given.scratch / str(count), count) for count in counts
    }


def predict_copies(model: Path, folders: list[Path], target: Path, count: int) -> Figures:
    """Predict so many copies of the images, with a pixel changed in each."""
    paths = [path for folder in folders for path in sorted(folder.iterdir())]
    (target / "images").mkdir(parents=True)
    for number in range(count):
        image = Image.open(paths[number % len(paths)])
        image.putpixel((0, 0), (number % 256, number // 256 % 256, number // 65536))
        image.save(target / "images" / f"{number:06d}.png")
    _, seconds = measure_seconds(
        lambda: segvote.predict(model, target / "images", target / "out", n_jobs=1), time.process_time
    )
    return {"peak": read_peak(), "cpu_seconds": seconds}


def summarise(rows: dict[str, Figures]) -> dict[str, Any]:
    """The rows, and the mean of each figure over the sets."""
    names = next(iter(rows.values()))
    return {**rows, "mean": {name: float(np.mean([row[name] for row in rows.values()])) for name in names}}


if __name__ == "__main__":
    run_parts(
        __doc__, {"all": measure_all, "stream": measure_stream, **{part: partial(measure_sets, part) for part in PARTS}}
    )
