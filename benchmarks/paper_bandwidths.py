"""Every pair of bandwidths of the printed eKDE on one set, and which pair each reading of the paper's rule chooses.

The sums are those of `PaperEKDE`, over a table of kernels that is made once for each bandwidth instead of once for each
pair; a test holds them against the class.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from segvote.evaluation.compare_rules import decide_by_rules
from segvote.evaluation.compare_stage import Stage, prepare_stage
from segvote.evaluation.evaluate import rank_segments
from segvote.evaluation.evaluate_segments import measure_ious
from segvote.evaluation.evaluate_truth import list_truth
from segvote.io.tables import read_json, write_json
from segvote.method.table import SegmentTable
from segvote.metrics.overlap import IMAGE_THRESHOLD
from segvote.run.settings import Settings
from segvote.voters.bandwidths import GRID, READINGS, choose_bandwidths
from segvote.voters.segments import check_segments

Pair = tuple[float, float]
TINY = np.finfo(float).tiny
MAX_ROUNDS, SMALLEST_CHANGE = 1000, 1e-6


@dataclass(frozen=True)
class PairResult:
    """The printed eKDE with one pair (s+, s-) on one set.

    Attributes
    ----------
    ap
        Area-weighted average precision of the segments.
    corloc, common
        By sgn f after the second voting as printed; by the common rule.
    selected
        Share of the *with* segments with f > 0.
    """

    ap: float
    corloc: float
    common: float
    selected: float


@dataclass(frozen=True)
class BandwidthTable:
    """All pairs on one set, and the pair that each reading of the rule chooses."""

    results: Mapping[Pair, PairResult]
    readings: Mapping[str, Pair]

    @property
    def best(self) -> Pair:
        """The pair with the highest AP, which only the masks can tell; the first of equals."""
        return max(self.results, key=lambda pair: self.results[pair].ap)


def measure_bandwidths(folders: tuple[Path, Path, Path], out: Path, settings: Settings, n_jobs: int) -> BandwidthTable:
    """Measure every pair of the paper's grid; what is kept in `out` already is read."""
    path = out / "pairs" / "pairs.json"
    if path.is_file():
        return _parse(read_json(path))
    stage = prepare_stage(folders[:2], list_truth(folders[2]), out / "run", settings, {True}, n_jobs)
    table = stage.tables[True]
    results = {pair: judge_votes(stage, table, votes, settings) for pair, votes in score_pairs(table.X, table)}
    found = BandwidthTable(results, _choose(table))
    write_json(path, _format(found))
    return found


def score_pairs(
    X: np.ndarray, table: SegmentTable, grid: tuple[float, ...] = GRID
) -> Iterator[tuple[Pair, np.ndarray]]:
    """Pairs and (n_segments,) f of eq. 6 when eq. 17 has settled; 0 on *without* segments, which nobody asks for."""
    positive = table.is_candidate
    squared = _measure_squared(X[positive].astype(np.float64), X.astype(np.float64))
    kernels = {width: np.exp(squared / (-2 * width**2)) for width in grid}
    for pair in itertools.product(grid, grid):
        scores = np.zeros(len(X))
        scores[positive] = _iterate(kernels[pair[0]], kernels[pair[1]], positive)
        yield pair, scores


def _measure_squared(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    squared = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    return np.maximum(squared, 0.0)


def _iterate(k_for: np.ndarray, k_against: np.ndarray, positive: np.ndarray) -> np.ndarray:
    own_for, own_against = k_for[:, positive], k_against[:, positive]
    negatives = k_against[:, ~positive].sum(axis=1)
    weights = np.ones(len(k_for))
    for _ in range(MAX_ROUNDS):
        votes_for, against = own_for @ weights, negatives + own_against @ (1 - weights)
        updated = votes_for / np.maximum(votes_for + against, TINY)
        change, weights = np.abs(updated - weights).max(), updated
        if change <= SMALLEST_CHANGE:
            break
    return own_for @ weights - negatives - own_against @ (1 - weights)


def _choose(table: SegmentTable) -> dict[str, Pair]:
    segments = check_segments(table.X, table.is_candidate, table.bags, None, None)
    return {rule: choose_bandwidths(segments, rule=rule) for rule in READINGS}


def judge_votes(stage: Stage, table: SegmentTable, votes: np.ndarray, settings: Settings) -> PairResult:
    """Votes (n_segments,) judged by the masks of a set."""
    scores, _, decisions = decide_by_rules(table, votes, settings, stage.n_matched)
    ranking = rank_segments([scores[stage.run.get_slice(index)] for index in stage.truth], list(stage.truth.values()))
    return PairResult(
        ap=round(ranking.segment_ap, 4),
        corloc=round(_measure_corloc(stage, decisions["printed"]), 4),
        common=round(_measure_corloc(stage, decisions["common"]), 4),
        selected=round(float((votes[table.is_candidate] > 0).mean()), 4),
    )


def _measure_corloc(stage: Stage, selected: np.ndarray) -> float:
    overlaps = [one.measure(selected[stage.run.get_slice(index)]) for index, one in stage.truth.items()]
    return float((measure_ious(np.array(overlaps)) > IMAGE_THRESHOLD).mean())


def _format(table: BandwidthTable) -> dict:
    pairs = [{"pair": pair, **asdict(result)} for pair, result in table.results.items()]
    return {"pairs": pairs, "readings": table.readings}


def _parse(data: dict) -> BandwidthTable:
    results = {tuple(one.pop("pair")): PairResult(**one) for one in data["pairs"]}
    return BandwidthTable(results, {name: tuple(pair) for name, pair in data["readings"].items()})
