"""Every voter side by side: all combinations of segmenters, features and voters on the same images.

Segments and features are made once, by the main job, in one run folder; voters differ only in the vote. Each result is
a small file under a key of all that decides it: a comparison that was stopped goes on where it was. A combination that
fails leaves its reason and does not stop the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from segvote import __version__
from segvote.errors import SegvoteError
from segvote.evaluation.compare_results import (
    Combination,
    Comparison,
    Result,
    read_result,
    split_voter,
    wants_lengths,
    write_result,
)
from segvote.evaluation.compare_stage import (
    RULES,
    Stage,
    choose_detail,
    count_votes,
    decide_by_rules,
    hash_inputs,
    measure_segments,
    prepare_stage,
)
from segvote.evaluation.evaluate import rank_segments
from segvote.evaluation.evaluate_truth import TruthReader, list_truth
from segvote.io.arrays import write_arrays
from segvote.metrics.overlap import IMAGE_THRESHOLD
from segvote.progress import Progress, ignore_progress
from segvote.run.run_folder import RunFolder, make_key
from segvote.run.settings import Settings
from segvote.steps.workers import N_JOBS
from segvote.voters import SYSTEMS, check_system


@dataclass(frozen=True)
class Plan:
    """What to compare."""

    # Names; every combination is tried. Every voter gets the features scaled as suits it (its ``wants_lengths``); a
    # name that ends in ``:lengths`` or ``:unit`` gives all voters vectors as long as they are, or blocks of length one.
    # A voter that ends in ``+finish`` is followed by the re-vote and the linear classifier of the method.
    voters: tuple[str, ...] = SYSTEMS
    features: tuple[str, ...] = (Settings.features,)
    segmenters: tuple[str, ...] = (Settings.segmenter,)
    pairs: tuple[tuple[str, str], ...] = ()  # voter and features; where given, only these pairs of them are tried
    voter_options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # voter to parameters of its class

    def choose_voter(self, settings: Settings, voter: str) -> Settings:
        """The settings with another voter and its options, or the same with those of the plan besides."""
        name, finish = split_voter(voter)
        own = settings.voter_options if name == settings.voter else {}
        options = {**own, **self.voter_options.get(name, {})}
        return replace(settings, voter=name, finish=finish, voter_options=options)


def list_combinations(plan: Plan) -> list[Combination]:
    """All combinations, those that share segments and features together."""
    for voter in plan.voters:
        check_system(split_voter(voter)[0])
    return [
        Combination(segmenter, features, voter)
        for segmenter in plan.segmenters
        for features in plan.features
        for voter in plan.voters
        if not plan.pairs or (voter, features) in plan.pairs
    ]


def compare(
    with_folder: Path | str,
    without_folder: Path | str,
    truth: Path | str | Mapping[str, TruthReader],
    out: Path | str,
    plan: Plan | None = None,
    settings: Settings | None = None,
    *,
    label: str | None = None,
    label_maps: Path | str | None = None,
    threshold: float = IMAGE_THRESHOLD,
    n_jobs: int = N_JOBS,
    progress: Progress = ignore_progress,
) -> Comparison:
    """Try every combination of a plan, by default all voters, on two folders of images; see `segvote.compare`.

    `truth` may be readers by image name. The voter of the settings is the reference. The detail is the same for all
    voters: ``auto``, by which the method chooses for itself, becomes ``coarse``. `label_maps` as `segments` of
    `annotate`.
    """
    plan, settings = plan or Plan(), measure_segments(settings or Settings())
    readers = truth if isinstance(truth, Mapping) else list_truth(truth, label)
    folders, maps = (Path(with_folder), Path(without_folder)), None if label_maps is None else Path(label_maps)
    job = _Job(folders, readers, Path(out), plan, settings, n_jobs, progress, maps)
    results = job.carry_out(list_combinations(plan))
    return Comparison(Path(out), Path(with_folder), settings.voter, threshold, results)


@dataclass
class _Job:
    """One call of `compare`."""

    folders: tuple[Path, Path]
    readers: Mapping[str, TruthReader]
    out: Path
    plan: Plan
    settings: Settings
    n_jobs: int
    progress: Progress
    label_maps: Path | None = None

    def __post_init__(self) -> None:
        self.input = hash_inputs(self.folders, self.readers, self.settings, self.label_maps)

    def carry_out(self, combinations: Sequence[Combination]) -> list[Result]:
        results: list[Result] = []
        with RunFolder(self.out).lock():
            for _, group in groupby(combinations, key=lambda one: (one.segmenter, one.features)):
                for result in self._carry_out_group(list(group)):
                    results.append(result)
                    self.progress("compare", len(results), len(combinations))
        return results

    def _carry_out_group(self, group: list[Combination]) -> Iterator[Result]:
        found = {one: self._read(one) for one in group}
        pending = [one for one in group if found[one] is None]
        stage = self._try_stage(pending) if pending else None
        for combination in group:
            result = found[combination]
            if result is None:
                result = self._try(combination, stage)
                write_result(self.out / "results", result)
            yield result

    def _read(self, combination: Combination) -> Result | None:
        """What is known already; a failure is tried again, unless it was one of size."""
        result = read_result(self.out / "results", self._make_key(combination))
        return result if result is None or result.is_good or result.kind == "TooLargeError" else None

    def _try_stage(self, pending: Sequence[Combination]) -> Stage | Exception:
        first = pending[0]
        settings = choose_detail(replace(self.settings, segmenter=first.segmenter, features=first.features))
        kinds = {wants_lengths(one.features, one.voter) for one in pending}
        try:
            out = self.out / "run"
            return prepare_stage(
                self.folders, self.readers, out, settings, kinds, self.n_jobs, self.progress, self.label_maps
            )
        except Exception as error:  # one bad combination must not stop the rest: its reason goes into the table
            return error

    def _try(self, combination: Combination, stage: Stage | Exception | None) -> Result:
        try:
            if not isinstance(stage, Stage):
                raise stage or AssertionError("segments are prepared where a result is missing")
            return self._measure(combination, stage)
        except Exception as error:  # as above
            key = self._make_key(combination)
            return Result(combination, key, reason=format_reason(error), kind=type(error).__name__)

    def _measure(self, combination: Combination, stage: Stage) -> Result:
        settings, key = self._make_settings(combination), self._make_key(combination)
        has_lengths = wants_lengths(combination.features, combination.voter)
        table = stage.tables[has_lengths]
        votes, seconds, notes = count_votes(table, settings)
        flat, thresholds, decisions = decide_by_rules(table, votes, settings, stage.n_matched)
        scores = [flat[stage.run.get_slice(index)] for index in stage.truth]
        self._write_scores(key, scores, thresholds[list(stage.truth)], float(flat.min()))
        ranking = rank_segments(scores, list(stage.truth.values()))
        return Result(
            combination,
            key,
            names=[stage.run.bags[index].name for index in stage.truth],
            segments=[stage.run.bags[index].segments for index in stage.truth],
            overlaps={rule: _measure_all(stage, selected) for rule, selected in decisions.items()},
            limits=[segments.measure_limit() for segments in stage.truth.values()],
            segment_ap=ranking.segment_ap,
            pixel_ap=ranking.pixel_ap,
            curve=ranking.curve,
            seconds=round(seconds, 3),
            notes=notes,
        )

    def _write_scores(self, key: str, scores: list[np.ndarray], thresholds: np.ndarray, lowest: float) -> None:
        write_arrays(
            self.out / "scores" / f"{key}.npz",
            scores=np.concatenate(scores).astype(np.float32),
            counts=np.array([len(one) for one in scores]),
            thresholds=thresholds,
            lowest=np.array(lowest),
        )

    def _make_settings(self, combination: Combination) -> Settings:
        settings = self.plan.choose_voter(self.settings, combination.voter)
        return choose_detail(replace(settings, segmenter=combination.segmenter, features=combination.features))

    def _make_key(self, combination: Combination) -> str:
        return make_key(
            version=__version__,
            settings=self._make_settings(combination).to_dict(),
            has_lengths=wants_lengths(combination.features, combination.voter),
            reference=self.settings.voter,
            rules=RULES,
            input=self.input,
        )


def _measure_all(stage: Stage, decisions: np.ndarray) -> list[tuple[float, float]]:
    return [segments.measure(decisions[stage.run.get_slice(index)]) for index, segments in stage.truth.items()]


def format_reason(error: Exception) -> str:
    """One line for a table."""
    message = (str(error).splitlines() or [""])[0]
    return message if isinstance(error, SegvoteError) else f"{type(error).__name__}: {message}"
