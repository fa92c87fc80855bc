"""Segments of all bags as flat arrays: what a vote is held on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from segvote.features import FeatureExtractor, Standardiser, fit_standardiser
from segvote.io.arrays import read_arrays
from segvote.kernels import Neighbours
from segvote.method.prior import measure_border_prior
from segvote.method.table import Geometry, SegmentTable, make_table
from segvote.run.bags import SegmentedImage
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings
from segvote.steps.resources import check_memory
from segvote.types import WITH
from segvote.voters import keeps_lengths

# What is read of a bag's segments: not the label map, which is the most of them.
GEOMETRY = ("areas", "border", "centres", "edges", "lengths", "colours", "frames")


@dataclass(frozen=True)
class Table:
    """Segments of all bags as flat arrays, in the order of the bags.

    Attributes
    ----------
    X
        (n_segments, d) float32, standardised; blocks have length one, unless the voter wants lengths.
    bags, offsets
        (n_segments,) number of the bag; (n_bags + 1,) where each bag begins.
    positive
        (n_bags,) bool: the bag is *with*.
    areas, border
        (n_segments,) pixels at working size; boundary on the image border.
    edges, lengths, contrasts
        For each bag, (m, 2) pairs of adjacent segments, numbered within the bag; (m,) pixels of shared boundary; (m,)
        distance of their mean Lab colours.
    standardiser
        What put X on one scale.
    centres
        (n_segments, 2) centre of each segment, row and column, as a share of height and width; None: not known.
    frames
        (n_segments,) number of the key frame within its video, 0 in an image; empty where no bag is a video.
    """

    X: np.ndarray
    bags: np.ndarray
    offsets: np.ndarray
    positive: np.ndarray
    areas: np.ndarray
    border: np.ndarray
    edges: list[np.ndarray]
    lengths: list[np.ndarray]
    contrasts: list[np.ndarray]
    standardiser: Standardiser
    centres: np.ndarray | None = None
    frames: np.ndarray = field(default_factory=lambda: np.empty(0, np.int32))

    @cached_property
    def images(self) -> np.ndarray:
        """(n_segments,) number of the image, ascending from 0: a bag, or one key frame of a video."""
        if not len(self.frames):
            return self.bags
        begins = (np.diff(self.bags, prepend=-1) != 0) | (np.diff(self.frames, prepend=-1) != 0)
        return np.cumsum(begins) - 1

    @cached_property
    def groups(self) -> np.ndarray:
        """(n_images,) the bag of each image; segments of one bag do not vote for each other."""
        return self.bags[np.flatnonzero(np.diff(self.images, prepend=-1))]

    def average_by_bag(self, values: np.ndarray) -> np.ndarray:
        """(n_bags,) means over the images of each bag, of values (n_images,); those of images as they are."""
        if len(self.groups) == len(self.positive):
            return values
        return np.bincount(self.groups, weights=values) / np.bincount(self.groups)

    def make_geometry(self) -> Geometry:
        """Where the segments lie, numbered over all bags."""
        return Geometry(
            areas=self.areas,
            border=self.border,
            edges=np.concatenate([edges + start for edges, start in zip(self.edges, self.offsets, strict=False)]),
            lengths=np.concatenate(self.lengths),
            contrasts=np.concatenate(self.contrasts),
            centres=self.centres,
        )

    def make_prior(self, settings: Settings) -> np.ndarray:
        """(n_segments,) background prior by border."""
        return measure_border_prior(self.border, settings.border_prior)

    def make_segments(self) -> SegmentTable:
        """The same as the method sees it."""
        return make_table(self.X, self.positive[self.groups], self.images, self.make_geometry(), self.groups)

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """(n_segments,) values to one array per bag."""
        return np.split(values, self.offsets[1:-1])

    def find_neighbours(self, n_neighbors: int) -> Neighbours:
        """The nearest segments of other bags of every segment."""
        return Neighbours.search(self.X, n_neighbors, self.bags)


def gather_table(
    run: RunFolder,
    bags: Sequence[SegmentedImage],
    extractor: FeatureExtractor,
    standardiser: Standardiser | None = None,
    *,
    settings: Settings | None = None,
    second_voting: bool = False,
) -> Table:
    """Read the shards of all bags, one at a time, into one array.

    On the scale of another run, if its standardiser is given; else on one of their own, that the voter of the settings
    wants. `second_voting` as in `Settings`, for tables without any. A vote that needs more memory than is free is
    refused.
    """
    geometry = [read_arrays(run.segments_path(bag.segments_key), GEOMETRY) for bag in bags]
    positive = np.array([bag.bag.bag_label == WITH for bag in bags])
    printed = second_voting if settings is None else settings.second_voting
    shards = _read_shards(run, bags)
    return build_table(shards, geometry, positive, extractor, standardiser, settings=settings, second_voting=printed)


def build_table(
    features: Iterable[np.ndarray],
    geometry: Sequence[dict[str, np.ndarray]],
    positive: np.ndarray,
    extractor: FeatureExtractor,
    standardiser: Standardiser | None = None,
    *,
    settings: Settings | None = None,
    second_voting: bool = False,
) -> Table:
    """As `gather_table`, from features (n_segments, n_dims) and arrays of `GEOMETRY` of each bag."""
    counts = [len(arrays["areas"]) for arrays in geometry]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    shape = int(offsets[-1]), extractor.n_dims
    if settings is not None:
        check_memory(*shape)
    X = np.empty(shape, np.float32)
    shards = np.split(X, offsets[1:-1])
    for place, shard in zip(shards, features, strict=True):
        place[:] = shard
    if standardiser is None:
        has_lengths = settings is not None and keeps_lengths(settings.voter)
        standardiser = fit_standardiser(shards, extractor.blocks, extractor.standardise, has_lengths)
    for place in shards:
        place[:] = standardiser.apply(place)
    adjacency = [measure_adjacency(arrays, second_voting) for arrays in geometry]
    return Table(
        X=X,
        bags=np.repeat(np.arange(len(geometry)), counts),
        offsets=offsets,
        positive=positive,
        areas=np.concatenate([arrays["areas"] for arrays in geometry]),
        border=np.concatenate([arrays["border"] for arrays in geometry]),
        edges=[arrays["edges"] for arrays in geometry],
        lengths=[one[0] for one in adjacency],
        contrasts=[one[1] for one in adjacency],
        standardiser=standardiser,
        centres=np.concatenate([arrays["centres"] for arrays in geometry]),
        frames=_join_frames(geometry),
    )


def _join_frames(geometry: Sequence[dict[str, np.ndarray]]) -> np.ndarray:
    if not any("frames" in arrays for arrays in geometry):
        return np.empty(0, np.int32)
    return np.concatenate([arrays.get("frames", np.zeros(len(arrays["areas"]), np.int32)) for arrays in geometry])


def measure_adjacency(arrays: Mapping[str, np.ndarray], is_printed: bool) -> tuple[np.ndarray, np.ndarray]:
    """(m,) lengths and contrasts of the edges of one bag; equal for all edges where the mean is the printed one."""
    edges = arrays["edges"]
    if is_printed:
        return np.ones(len(edges)), np.full(len(edges), np.nan)
    return arrays["lengths"], measure_contrasts(arrays["colours"], edges)


def measure_contrasts(colours: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """(m,) distance of the mean colours (n_segments, 3) of adjacent segments."""
    gap = colours[edges[:, 0]].astype(np.float64) - colours[edges[:, 1]]
    return np.sqrt((gap**2).sum(axis=1))


def _read_shards(run: RunFolder, bags: Sequence[SegmentedImage]) -> Iterator[np.ndarray]:
    for bag in bags:
        yield read_arrays(run.features_path(bag.features_key))["features"]
