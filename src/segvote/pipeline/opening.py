"""A run folder opened for a vote: its bags, the table of their segments, and the user's corrections."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from segvote.errors import DamagedFileError, SegvoteError
from segvote.features import FeatureExtractor, Standardiser, make_features
from segvote.inputs.bags import Bag
from segvote.method.table import SegmentTable
from segvote.pipeline.contrast_prior import weigh_contrast
from segvote.pipeline.table import gather_table
from segvote.pipeline.user_labels import label_segments
from segvote.pipeline.video.tubes import number_tubes
from segvote.pipeline.workers import Resources
from segvote.run.corrections import Corrections, make_result_key, read_corrections
from segvote.run.model_file import read_model_file, select_arrays
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.settings import CONTRAST, Settings
from segvote.types import WITH


@dataclass(frozen=True)
class RunInputs:
    """What the vote on a run is held on: its segments, settings and corrections."""

    folder: RunFolder
    settings: Settings
    extractor: FeatureExtractor
    bags: Sequence[Bag]  # that could be read, with their current labels
    table: SegmentTable  # segments of all bags
    standardiser: Standardiser  # scale of their features
    corrections: Corrections
    user_labels: np.ndarray | None  # (n_segments,) int8 of the corrections
    painted_shares: np.ndarray | None  # (n_segments,) painted, see `segvote.method.correct.correct`
    finished: np.ndarray | None  # (n_segments,) of finished images, see `segvote.method.teach.teach`
    tubes: np.ndarray | None = None  # (n_segments,) supervoxel of each segment; None without any
    others: Sequence[Bag] = ()  # that do not vote and are predicted

    @property
    def key(self) -> str:
        """Key of the result, by bags, features, settings and corrections."""
        return make_result_key(self.settings, self.bags, self.corrections, self.others)


def reopen(run: Run, corrections: Corrections | None = None) -> RunInputs:
    """Read features of a finished run, and its corrections unless given; nothing is segmented again."""
    corrections = corrections or read_corrections(run.folder)
    bags, others = split_run_bags(run, corrections)
    extractor = make_features(run.settings.features, **run.settings.feature_options)
    if extractor.needs_fit or run.settings.adapt:
        extractor.set_state(select_arrays(read_model_file(run.folder.path).arrays, "features"))
    try:
        opened = open_folder(run.folder, run.settings, extractor, bags, corrections)
        return replace(opened, others=others)
    except SegvoteError:
        raise
    except (ValueError, KeyError, IndexError) as error:  # other numbers of segments or features than in the record
        raise DamagedFileError(
            f"{run.folder.record_path} does not belong to the features beside it ({error}); annotate again"
        ) from error


def list_run_bags(run: Run, corrections: Corrections | None = None, numbers: Iterable[int] | None = None) -> list[Bag]:
    """Bags of a run as segmentation returned them, with bag labels changed by the user; by default those that voted."""
    return _list_bags(run, range(len(run)) if numbers is None else numbers, corrections)


def list_other_bags(run: Run, corrections: Corrections | None = None) -> list[Bag]:
    """The bags of a run that did not vote and were predicted."""
    return _list_bags(run, range(len(run), len(run.all_bags)), corrections)


def split_run_bags(run: Run, corrections: Corrections) -> tuple[list[Bag], list[Bag]]:
    """The bags of a run that vote next, in the order of `segvote.inputs.bags.list_bags`, and those that are predicted.

    As in `segvote.pipeline.sample`, a bag with corrections votes in addition to those that voted.
    """
    voters, others = list_run_bags(run, corrections), list_other_bags(run, corrections)
    corrected = set(corrections.list_images()) if others else set()
    more = [bag for bag in others if bag.digest in corrected]
    if not more:
        return voters, others
    # By the folder that a bag lies in, *with* first, whatever label the user gave it.
    ordered = sorted([*voters, *more], key=lambda bag: (not bag.name.startswith(f"{WITH}/"), bag.name))
    return ordered, [bag for bag in others if bag.digest not in corrected]


def make_run_key(run: Run, corrections: Corrections) -> str:
    """Key of the result that a run has with these corrections."""
    voters, others = split_run_bags(run, corrections)
    return make_result_key(run.settings, voters, corrections, others)


def _list_bags(run: Run, numbers: Iterable[int], corrections: Corrections | None) -> list[Bag]:
    moved = corrections.moved if corrections else {}
    return [
        Bag(
            record.name,
            moved.get(record.digest, record.name.split("/", 1)[0]),
            run.find_source(index),
            record.digest,
            segments_key=record.segments,
            features_key=record.features,
            height=record.height,
            width=record.width,
            n_segments=record.n_segments,
            n_frames=record.n_frames,
        )
        for index, record in ((number, run.all_bags[number]) for number in numbers)
    ]


def open_folder(
    folder: RunFolder,
    settings: Settings,
    extractor: FeatureExtractor,
    bags: Sequence[Bag],
    corrections: Corrections,
    scaled: tuple[SegmentTable, Standardiser] | None = None,
    resources: Resources = Resources(),
) -> RunInputs:
    """Read the segments of all bags and their corrections; `scaled` is the table where it is known."""
    table, standardiser = scaled or gather_table(folder, bags, extractor, settings)
    if settings.detail == CONTRAST:
        table = weigh_contrast(folder, bags, table, resources)
    labels = label_segments(folder, bags, corrections)
    tubes = number_tubes(folder, bags)
    return RunInputs(folder, settings, extractor, bags, table, standardiser, corrections, *labels, tubes)
