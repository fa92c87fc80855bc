"""Does it help to fit the features to the image labels first? "Fine-tuning" where there is no network to train.

    python benchmarks/adaptation.py DATA --out WORK

A linear classifier on the mean features of images gives one direction u, of length one; the adapted features are
``x + (gain - 1) (u . x) u``: what a step of training the last linear layer and its head on image labels does to them.
Measured with the plain walk (voter `walk`) and the printed eKDE: segment AP on every set.
WORK is the work folder of `paper.py`, whose segments and features are used.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

from paper_sets import N_IMAGES, N_SEGMENTS, SETS, Job
from segvote.evaluation.compare_stage import Stage, prepare_stage
from segvote.evaluation.evaluate import rank_segments
from segvote.evaluation.evaluate_truth import list_truth
from segvote.method.graph import stretch
from segvote.method.table import SegmentTable
from segvote.run.settings import Settings
from segvote.steps.vote import decide_votes
from segvote.voters import VOTERS

GAINS = (1.0, 2.0, 4.0, 8.0)
JUDGES = {"walk": False, "ekde-paper": True}  # whether features keep their lengths


def find_direction(table: SegmentTable) -> np.ndarray:
    """(d,) of length one: the linear map of a logistic regression on the mean features of images."""
    found = VOTERS["cam"]().fit(table.X, table.is_candidate, bags=table.bags).coef_
    return found / np.linalg.norm(found)


def measure_ap(stage: Stage, table: SegmentTable, voter: str, gain: float, settings: Settings) -> float:
    X = stretch(table.X, find_direction(table), gain)
    fitted = VOTERS[voter]().fit(X, table.is_candidate, bags=table.bags)
    scores = decide_votes(replace(table, X=X), fitted.scores_, settings)[0]
    parts = [scores[stage.run.get_slice(index)] for index in stage.truth]
    return rank_segments(parts, list(stage.truth.values())).segment_ap


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("build/paper"))
    parser.add_argument("--images", type=int, default=N_IMAGES)
    parser.add_argument("--sets", nargs="+", default=SETS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # the printed eKDE says that it selects nothing
    job = Job(options.data, options.out, options.images, None, 1)
    settings, found = Settings(n_segments=N_SEGMENTS, draw="segments"), []
    print("set", *(f"{voter}x{gain:g}" for voter in JUDGES for gain in GAINS))
    for name in options.sets:
        *folders, masks = job.lay_out(name)
        out = options.out / name / "comparison" / "run"
        stage = prepare_stage(tuple(folders), list_truth(masks), out, settings, {True, False}, 1)
        figures = [
            measure_ap(stage, stage.tables[lengths], voter, gain, settings)
            for voter, lengths in JUDGES.items()
            for gain in GAINS
        ]
        found.append(figures)
        print(name, *(f"{figure:.2f}" for figure in figures), flush=True)
    print("mean", *(f"{figure:.3f}" for figure in np.mean(found, axis=0)))


if __name__ == "__main__":
    main()
