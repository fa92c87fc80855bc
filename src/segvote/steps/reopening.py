"""A finished run brought back to the moment before the vote: its bags, its features, the user labels since."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from segvote.errors import DamagedFileError, SegvoteError
from segvote.features import FeatureExtractor, make_features
from segvote.run.bags import Bag
from segvote.run.corrections import Corrections, fix_table, measure_painted_shares, read_corrections
from segvote.run.run import Run
from segvote.run.segmented_image import SegmentedImage
from segvote.steps.table import Table, gather_table
from segvote.steps.vote import fit_annotator, join_frames
from segvote.steps.voting.corrected import apply_corrections
from segvote.steps.voting.knn_cache import fetch_neighbours

if TYPE_CHECKING:
    from segvote.method import Result, SegmentAnnotator


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
        (n_segments,) share of each segment that was painted, or None, see `SegmentAnnotator.correct`.
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
    untaught
        The method without any correction.
    annotator, result
        The method after a vote in which corrections take part, and what it says with the corrections of now.
    """

    opened: Reopened
    untaught: SegmentAnnotator
    annotator: SegmentAnnotator
    result: Result


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
    # A second opinion costs a search of its own: it is asked for again only where it was adopted, or may be now.
    second_opinion = bool(opened.corrections.moved) or opened.run.confidence.get("contradicted", True)
    annotator = fit_annotator(opened.table, settings, neighbours, second_opinion=second_opinion)
    return teach(opened, annotator)


def teach(opened: Reopened, annotator: SegmentAnnotator) -> Voted:
    """The vote in which the corrections of now take part, from one without any on the same segments."""
    taught = annotator.teach(opened.user_labels)
    labels = (opened.user_labels, opened.painted_shares)
    result = apply_corrections(annotator, taught, opened.table.images, *labels)
    return Voted(opened, annotator, taught, join_frames(opened.table, result))
