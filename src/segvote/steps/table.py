"""Segments of all bags as flat arrays: what a vote is held on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from segvote.features import FeatureExtractor, Standardiser, fit_standardiser
from segvote.io.arrays import read_arrays
from segvote.kernels import Neighbours, Workspace, use_workspace
from segvote.method import Likeness, Outlines, measure_outlines
from segvote.run.run_folder import RunFolder
from segvote.run.segmented_image import SegmentedImage
from segvote.steps.memory import choose_workspace
from segvote.steps.redrawing import Picture
from segvote.types import WITH
from segvote.voters import VOTERS

__all__ = ["Table", "gather_table"]

# What is read of a bag's segments: not the label map, which is the most of them.
GEOMETRY = ("areas", "border", "edges", "distinct", "lengths", "colours")


@dataclass(frozen=True)
class Table:
    """Segments of all bags as flat arrays, in the order of the bags.

    Attributes
    ----------
    X
        (n_segments, d) float32, standardised; blocks have length one, unless the voter wants lengths.
    bags, offsets
        (n_segments,) number of the bag; (n_bags + 1,) where each bag begins.
    tags
        (n_bags,) bool: the bag is *with*.
    areas, border
        (n_segments,) pixels at working size; boundary on the image border.
    edges
        One (m, 2) array of neighbouring segments per bag, numbered within the bag.
    standardiser
        What put X on one scale.
    motion
        One (n_segments of the bag,) array of how much each segment moves by itself for every bag that is a video, None
        for one that is an image.
    outlines
        Boundaries between the segments of each bag, None where their colours are not known (videos).
    pictures
        Where the label map and the image of each bag lie, None for videos.
    likeness
        Which segments hear a correction; None: found out whenever there is one.
    workspace
        Where X lies, and what is large of the vote on it.
    """

    X: np.ndarray
    bags: np.ndarray
    offsets: np.ndarray
    tags: np.ndarray
    areas: np.ndarray
    border: np.ndarray
    edges: list[np.ndarray]
    standardiser: Standardiser
    motion: Sequence[np.ndarray | None] = ()
    outlines: Sequence[Outlines | None] = ()
    pictures: Sequence[Picture | None] = ()
    likeness: Likeness | None = None
    workspace: Workspace = field(default_factory=Workspace)

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """(n_segments,) values to one array per bag."""
        return np.split(values, self.offsets[1:-1])

    def find_neighbours(self, n_neighbors: int) -> Neighbours:
        """The nearest segments of other bags of every segment."""
        with use_workspace(self.workspace):
            return Neighbours.search(self.X, n_neighbors, self.bags)


def gather_table(
    run: RunFolder,
    bags: Sequence[SegmentedImage],
    extractor: FeatureExtractor,
    standardiser: Standardiser | None = None,
    *,
    voter: str | None = None,
) -> Table:
    """Read the shards of all bags, one at a time, into one array.

    On the scale of another run, if its standardiser is given; else on one of their own, that the named voter wants.
    """
    counts = [bag.n_segments for bag in bags]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    workspace = (
        Workspace()
        if voter is None
        else choose_workspace(run.path, VOTERS[voter](), int(offsets[-1]), extractor.n_dims)
    )
    X = workspace.make_array((int(offsets[-1]), extractor.n_dims), np.float32)
    shards = np.split(X, offsets[1:-1])
    for place, shard in zip(shards, _read_shards(run, bags), strict=True):
        place[:] = shard
    if standardiser is None:
        has_lengths = voter is not None and VOTERS[voter].wants_lengths
        standardiser = fit_standardiser(shards, extractor.blocks, extractor.standardise, has_lengths)
    for place in shards:
        place[:] = standardiser.apply(place)
    geometry = [read_arrays(run.segments_path(bag.segments_key), GEOMETRY) for bag in bags]
    numbers = np.repeat(np.arange(len(bags)), counts)
    return Table(
        X=X,
        bags=numbers,
        offsets=offsets,
        tags=np.array([bag.bag.bag_label == WITH for bag in bags]),
        areas=np.concatenate([arrays["areas"] for arrays in geometry]),
        border=np.concatenate([arrays["border"] for arrays in geometry]),
        edges=[arrays["edges"] for arrays in geometry],
        standardiser=standardiser,
        motion=[arrays.get("distinct") for arrays in geometry],
        outlines=[_measure_outlines(arrays) for arrays in geometry],
        pictures=[None if bag.n_frames else Picture(run, bag.segments_key, bag.bag.path) for bag in bags],
        likeness=Likeness(X, numbers),
        workspace=workspace,
    )


def _measure_outlines(arrays: dict[str, np.ndarray]) -> Outlines | None:
    if "colours" not in arrays:
        return None
    return measure_outlines(arrays["edges"], arrays["lengths"], arrays["colours"])


def _read_shards(run: RunFolder, bags: Sequence[SegmentedImage]) -> Iterator[np.ndarray]:
    for bag in bags:
        yield read_arrays(run.features_path(bag.features_key))["features"]
