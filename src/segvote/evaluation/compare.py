"""Voters side by side: combinations of segmenters, features and voters on the same images.

Segments and features are computed once, in one run folder; voters differ in the vote alone. Each result is a small file
named by a key of its inputs and settings, so that an interrupted comparison continues. A combination that fails is
recorded with its reason and does not stop the rest.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby, product
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from segvote import __version__
from segvote.errors import SegvoteError
from segvote.evaluation.comparison import Combination, Comparison, Result
from segvote.evaluation.evaluate import rank_segments
from segvote.evaluation.rules import RULES, decide_by_rules
from segvote.evaluation.segments import CountedTruth, count_image, count_video, find_run_truth, measure_limit
from segvote.evaluation.truth import TruthReader
from segvote.io.tables import convert_record, read_json, write_json
from segvote.masks import scale_heat
from segvote.method.table import SegmentTable
from segvote.metrics.overlap import IMAGE_THRESHOLD
from segvote.pipeline.annotate import annotate_folders
from segvote.pipeline.looks import SCALABLE
from segvote.pipeline.opening import RunInputs, reopen
from segvote.pipeline.vote import hold_vote
from segvote.pipeline.workers import Resources
from segvote.registry import check_known
from segvote.run.features import read_features
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder, make_key
from segvote.settings import COARSE, Settings
from segvote.voters import METHOD, VOTERS, keeps_lengths

# After the name of a voter: with the re-vote and the linear classifier of the method.
FINISH = "+finish"
VoterOptions = Mapping[str, Mapping[str, Any]]  # voter to parameters of its class


def list_combinations(
    voters: Iterable[str], features: Iterable[str] = (Settings.features,), segmenters: Iterable[str] = ("ward",)
) -> list[Combination]:
    """All combinations; those that share segments and features are neighbours."""
    return [Combination(*names) for names in product(segmenters, features, voters)]


@dataclass(frozen=True)
class Experiment:
    """Combinations on two folders of images, with the truth of `list_truth`; results are kept in `out`."""

    folders: tuple[Path, Path]  # *with* and *without*
    readers: Mapping[str, TruthReader]
    out: Path
    combinations: Sequence[Combination]
    settings: Settings = field(default_factory=Settings)  # everything else
    voter_options: VoterOptions = field(default_factory=dict)
    threshold: float = IMAGE_THRESHOLD  # overlap above which an image is found
    resources: Resources = field(default_factory=Resources)


def compare_combinations(experiment: Experiment) -> Comparison:
    """Measure all combinations by all rules; see `segvote.compare`."""
    out, resources, combinations = experiment.out, experiment.resources, experiment.combinations
    for one in combinations:
        check_known(one.voter.removesuffix(FINISH), (METHOD, *VOTERS), "voter")
    settings, options, results = share_settings(experiment.settings), experiment.voter_options, []
    with RunFolder(out).lock():
        for _, group in groupby(combinations, key=lambda one: (one.segmenter, one.features)):
            members = list(group)
            shared = choose_settings(settings, replace(members[0], voter=settings.voter), {})
            stage = _try_stage(experiment.folders, experiment.readers, out / "run", shared, resources)
            for one in members:
                results.append(_try_combination(one, stage, choose_settings(settings, one, options), out))
                resources.progress("compare", len(results), len(combinations))
    return Comparison(out, experiment.folders[0], settings.voter, experiment.threshold, results)


def share_settings(settings: Settings) -> Settings:
    """The settings with which voters are compared: whole segments, and one detail for all."""
    # ``auto`` would let the confidence of the reference choose the features of all other voters.
    return replace(settings, draw="segments", detail=COARSE if settings.detail == "auto" else settings.detail)


def choose_settings(settings: Settings, combination: Combination, options: VoterOptions) -> Settings:
    """The settings of one combination; only the network of `SCALABLE` takes inputs of any size."""
    voter = combination.voter.removesuffix(FINISH)
    own = settings.voter_options if voter == settings.voter else {}
    return replace(
        settings,
        segmenter=combination.segmenter,
        features=combination.features,
        voter=voter,
        finish=voter != combination.voter,
        voter_options={**own, **options.get(voter, {})},
        detail=settings.detail if combination.features == SCALABLE else COARSE,
    )


@dataclass(frozen=True)
class Stage:
    """Segments and features that voters share."""

    run: Run  # of the reference
    tables: dict[bool, SegmentTable]  # by whether features keep their lengths
    truth: dict[int, CountedTruth]  # by bag number
    key: str  # of the images and the truth

    @property
    def n_matched(self) -> int:
        """How many segments the reference selected."""
        return int(self.run.votes["selected"].sum())

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """Values of all segments, (n_segments,), to those of each image with truth."""
        return [values[self.run.get_slice(index)] for index in self.truth]

    def measure(self, selected: np.ndarray) -> list[tuple[float, float]]:
        """Overlap of selected segments, (n_segments,) bool, with the truth of each image."""
        return [one.measure(part) for one, part in zip(self.truth.values(), self.split(selected), strict=True)]


def prepare_stage(
    folders: tuple[Path, Path],
    readers: Mapping[str, TruthReader],
    out: Path,
    settings: Settings,
    resources: Resources,
) -> Stage:
    """Segment, extract features, run the reference, and count the truth of every segment."""
    run = annotate_folders(*folders, out, settings, resources)
    videos, images = find_run_truth(run, readers, len(run))  # of the bags that voted
    truth = {index: count_video(run, index, frames) for index, frames in videos.items()}
    truth |= {index: count_image(run, index, read()) for index, read in images.items()}
    truth = dict(sorted(truth.items()))
    key = make_key(run=run.record.key, truth=joblib.hash(truth))
    opened = reopen(run)
    return Stage(run, {kind: scale_table(run, opened, kind) for kind in (False, True)}, truth, key)


def scale_table(run: Run, opened: RunInputs, has_lengths: bool) -> SegmentTable:
    """The table with standardised features; blocks have length one, or keep their lengths."""
    table = opened.table
    if opened.standardiser.has_lengths == has_lengths:
        return table
    standardiser = replace(opened.standardiser, has_lengths=has_lengths)
    X = np.empty_like(table.X)
    for index, bag in enumerate(run.bags):
        X[run.get_slice(index)] = standardiser.apply(read_features(run.folder.features_path(bag.features)))
    return replace(table, X=X)


def _try_stage(*arguments: Any) -> Stage | Exception:
    try:
        return prepare_stage(*arguments)
    except Exception as error:  # the reason goes into the table
        return error


def _try_combination(combination: Combination, stage: Stage | Exception, settings: Settings, out: Path) -> Result:
    """The stored result, or a new one, which is stored; one that failed has its reason and is not stored."""
    if isinstance(stage, Exception):
        return Result(combination, reason=format_reason(stage))
    key = make_key(version=__version__, settings=settings.to_dict(), rules=RULES, stage=stage.key)
    path = out / "results" / f"{key}.json"
    try:
        return convert_record(read_json(path), Result, path)
    except SegvoteError:  # there is none, or it is damaged
        pass
    try:
        result = measure_combination(combination, stage, settings)
    except Exception as error:  # as above
        return Result(combination, reason=format_reason(error))
    write_json(path, asdict(result), indent=None)
    return result


def measure_combination(combination: Combination, stage: Stage, settings: Settings) -> Result:
    """Hold one vote, decide by all rules, and measure the selections."""
    table = stage.tables[keeps_lengths(settings.voter)]
    votes, seconds, notes = count_votes(table, settings)
    scores, thresholds, selections = decide_by_rules(table, votes, settings, stage.n_matched)
    parts, bags = stage.split(scores), [stage.run.bags[index] for index in stage.truth]
    heats = [
        scale_heat(part, float(level), float(scores.min())).round(3).tolist()
        for part, level in zip(parts, thresholds[list(stage.truth)], strict=True)
    ]
    return Result(
        combination,
        names=[bag.name for bag in bags],
        segments=[bag.segments for bag in bags],
        heats=heats,
        overlaps={rule: stage.measure(selected) for rule, selected in selections.items()},
        limits=[measure_limit(one) for one in stage.truth.values()],
        ranking=rank_segments(parts, list(stage.truth.values())),
        seconds=round(seconds, 3),
        notes=notes,
    )


def count_votes(table: SegmentTable, settings: Settings) -> tuple[np.ndarray, float, list[str]]:
    """Let the segments vote: the voter's own scores (n_segments,), processor seconds, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        started = time.process_time()
        base = hold_vote(table, settings)
        seconds = time.process_time() - started
    notes = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    votes = np.asarray(base.selection.unsmoothed, dtype=np.float64)
    if not np.isfinite(votes).all():
        raise SegvoteError(f"{settings.voter} gave scores that are not finite numbers; report this")
    return votes, seconds, list(dict.fromkeys(notes))


def format_reason(error: Exception) -> str:
    """One line for a table."""
    message = (str(error).splitlines() or [""])[0]
    return message if isinstance(error, SegvoteError) else f"{type(error).__name__}: {message}"
