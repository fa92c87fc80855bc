"""A finished run brought back to the moment before the vote: its bags, its features, the user labels since."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from segvote.errors import DamagedFileError, SegvoteError
from segvote.features import FeatureExtractor, make_features
from segvote.run.bags import Bag, SegmentedImage
from segvote.run.corrections import Corrections, fix_table, measure_painted_shares, read_corrections
from segvote.run.run import Run
from segvote.steps.knn_cache import fetch_neighbours
from segvote.steps.outcome import Corrected, Outcome, correct_vote
from segvote.steps.table import Table, gather_table
from segvote.steps.vote import Held, hold_vote, join_frames

if TYPE_CHECKING:
    from segvote.method import Vote


@dataclass(frozen=True)
class Reopened:
    """All that a vote needs.

    Attributes
    ----------
    run, bags, extractor
        The run, its bags with the bag labels of now, and the extractor of their features.
    table
        Segments of all bags.
    corrections, user_labels
        The user's; the same as (n_segments,) int8, or None.
    painted_shares
        (n_segments,) share of each segment that was painted, or None, see `segvote.method.corrections.correct`.
    """

    run: Run
    bags: list[SegmentedImage]
    extractor: FeatureExtractor
    table: Table
    corrections: Corrections
    user_labels: np.ndarray | None
    painted_shares: np.ndarray | None


@dataclass(frozen=True)
class Voted:
    """A run after the vote.

    Attributes
    ----------
    opened
        What was voted on.
    held, corrected
        The vote without corrections, and with those of now.
    """

    opened: Reopened
    held: Held
    corrected: Corrected

    @property
    def outcome(self) -> Outcome:
        """All that the files of the run are written from."""
        opened = self.opened
        parts = (opened.extractor, opened.bags, opened.table, self.held, self.corrected, opened.corrections)
        return Outcome(opened.run.settings, *parts)

    @property
    def joined(self) -> Vote:
        """The vote with corrections at the default extent, with one threshold for each bag."""
        return join_frames(self.opened.table, self.corrected.vote)

    @property
    def result(self) -> Vote:
        """The vote with corrections, at the extent that was chosen for each image."""
        return self.outcome.result


def list_segmented_images(run: Run, corrections: Corrections | None = None) -> list[SegmentedImage]:
    """The bags of a run as segmentation left them, with the bag labels the user gave them since."""
    moved = corrections.moved if corrections else {}
    bags = []
    for index, record in enumerate(run.bags):
        bag = Bag(record.name, record.bag_label, run.find_source(index), record.digest)
        bag = replace(bag, bag_label=moved.get(record.digest, bag.name.split("/", 1)[0]))
        size = (record.height, record.width, record.n_segments)
        bags.append(SegmentedImage(bag, record.segments, record.features, *size, n_frames=record.n_frames))
    return bags


def reopen(run: Run) -> Reopened:
    """Read features and corrections of a run; nothing is segmented again."""
    corrections = read_corrections(run.folder)
    bags = list_segmented_images(run, corrections)
    extractor = make_features(run.settings.features, **run.settings.feature_options)
    table = _gather(run, bags, extractor)
    labels = (fix_table(run.folder, bags, corrections), measure_painted_shares(run.folder, bags, corrections))
    return Reopened(run, bags, extractor, table, corrections, *labels)


def _gather(run: Run, bags: list[SegmentedImage], extractor: FeatureExtractor) -> Table:
    try:
        return gather_table(run.folder, bags, extractor, settings=run.settings)
    except SegvoteError:
        raise
    except (ValueError, KeyError, IndexError) as error:  # other numbers of segments or features than the record says
        raise DamagedFileError(
            f"{run.folder.record_path} does not belong to the features beside it ({error}); annotate again"
        ) from error


def vote(opened: Reopened, keep: bool = False) -> Voted:
    """The vote of `annotate`, with the corrections of now.

    Parameters
    ----------
    opened
        The run.
    keep
        Whether to store the neighbours for the next time, where they are not stored yet.
    """
    settings, folder = opened.run.settings, opened.run.folder
    neighbours = fetch_neighbours(folder, opened.bags, opened.table, settings, keep)
    return apply_corrections(opened, hold_vote(opened.table, settings, neighbours))


def apply_corrections(opened: Reopened, held: Held, refitted: Vote | None = None) -> Voted:
    """The vote with the corrections of now, from one without any on the same segments.

    `refitted` is that of an earlier vote with fewer user labels, which is quicker.
    """
    return Voted(opened, held, correct_vote(held, opened.user_labels, opened.painted_shares, refitted))
