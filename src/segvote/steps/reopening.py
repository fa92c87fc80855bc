"""A run folder opened for a vote, and the vote with the user's corrections; shared by all commands on runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from segvote.errors import DamagedFileError, SegvoteError
from segvote.features import FeatureExtractor, Standardiser, make_features
from segvote.method.extents import Extents, apply_levels, find_extents
from segvote.method.table import SegmentTable
from segvote.method.vote import Vote
from segvote.run.bags import Bag
from segvote.run.corrections import Corrections, label_segments, make_result_key, read_corrections
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.settings import CONTRAST, Settings
from segvote.steps.drawing.prior import weigh_contrast
from segvote.steps.table import gather_table
from segvote.steps.vote import Held, fetch_neighbours, hold_vote, join_frames, keep_neighbours
from segvote.steps.workers import Resources
from segvote.steps.write import Decision


@dataclass(frozen=True)
class Opened:
    """A run folder, ready for a vote."""

    folder: RunFolder
    settings: Settings
    extractor: FeatureExtractor
    bags: Sequence[Bag]  # that could be read, with their current labels
    table: SegmentTable  # segments of all bags
    standardiser: Standardiser  # scale of their features
    corrections: Corrections
    user_labels: np.ndarray | None  # (n_segments,) int8 of the corrections
    painted_shares: np.ndarray | None  # (n_segments,) painted, see `segvote.method.corrections.correct`

    @property
    def key(self) -> str:
        """Key of the result, by bags, features, settings and corrections."""
        return make_result_key(self.settings, self.bags, self.corrections)


@dataclass(frozen=True)
class Voted:
    """A run after the vote; its files are written from it."""

    opened: Opened
    held: Held  # without corrections
    refitted: Vote  # with user labels, from which later labels are propagated quickly
    vote: Vote  # with all corrections, at the default extent
    extents: Extents  # its nested selections

    @property
    def joined(self) -> Vote:
        """The vote with corrections at the default extent, with one threshold for each bag."""
        return join_frames(self.vote)

    @property
    def result(self) -> Vote:
        """The vote with corrections, at the extent that was chosen for each image."""
        opened = self.opened
        levels = opened.corrections.list_levels([bag.digest for bag in opened.bags], opened.settings.extent)
        return join_frames(apply_levels(self.vote, self.extents, levels[opened.table.image_bags]))

    @cached_property
    def decision(self) -> Decision:
        """The arrays that files are written from."""
        result = self.result
        return Decision(
            scores=result.scores,
            selected=result.selected,
            user_labels=result.user_labels,
            votes=self.joined.votes,
            weights=self.vote.weights,
            thresholds=result.thresholds,
            uncertainty=result.uncertainty,
            excluded=self.opened.table.average_by_bag(self.held.vote.excluded) > 0.5,
        )


def reopen(run: Run) -> Opened:
    """Read features and corrections of a finished run; nothing is segmented again."""
    corrections = read_corrections(run.folder)
    bags = list_run_bags(run, corrections)
    extractor = make_features(run.settings.features, **run.settings.feature_options)
    try:
        return open_folder(run.folder, run.settings, extractor, bags, corrections)
    except SegvoteError:
        raise
    except (ValueError, KeyError, IndexError) as error:  # other numbers of segments or features than in the record
        raise DamagedFileError(
            f"{run.folder.record_path} does not belong to the features beside it ({error}); annotate again"
        ) from error


def list_run_bags(run: Run, corrections: Corrections | None = None) -> list[Bag]:
    """The bags of a run as segmentation returned them, with bag labels changed by the user."""
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
        for index, record in enumerate(run.bags)
    ]


def open_folder(
    folder: RunFolder,
    settings: Settings,
    extractor: FeatureExtractor,
    bags: Sequence[Bag],
    corrections: Corrections,
    scaled: tuple[SegmentTable, Standardiser] | None = None,
    resources: Resources = Resources(),
) -> Opened:
    """Read the segments of all bags and their corrections; `scaled` is the table where it is known."""
    table, standardiser = scaled or gather_table(folder, bags, extractor, settings)
    if settings.detail == CONTRAST:
        table = weigh_contrast(folder, bags, table, resources)
    labels = label_segments(folder, bags, corrections)
    return Opened(folder, settings, extractor, bags, table, standardiser, corrections, *labels)


def vote(opened: Opened, keep: bool = False) -> Voted:
    """The vote of `annotate`, with all corrections; `keep` stores its neighbours for the next vote."""
    neighbours = fetch_neighbours(opened.folder, opened.bags, opened.table, opened.settings)
    if keep and neighbours is not None:
        keep_neighbours(opened.folder, opened.bags, opened.settings, neighbours)
    return apply_corrections(opened, hold_vote(opened.table, opened.settings, neighbours))


def apply_corrections(opened: Opened, held: Held, refitted: Vote | None = None) -> Voted:
    """Add the corrections to a vote on the same segments; faster with `refitted` of an earlier vote."""
    refitted = held.refit(opened.user_labels) if refitted is None else refitted
    found = held.correct(opened.user_labels, opened.painted_shares, refitted)
    return Voted(opened, held, refitted, found, find_extents(found))
