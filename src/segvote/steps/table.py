"""Segments of all bags as flat arrays: what a vote is held on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from segvote.features import FeatureExtractor, Standardiser, fit_standardiser
from segvote.io.arrays import read_arrays
from segvote.kernels import Neighbours
from segvote.method.prior import measure_border_prior, measure_motion_prior
from segvote.method.table import Geometry, SegmentTable, make_table
from segvote.run.run_folder import RunFolder
from segvote.run.segmented_image import SegmentedImage
from segvote.run.settings import Settings
from segvote.steps.resources import check_memory
from segvote.types import WITH
from segvote.voters import VOTERS

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
    positive
        (n_bags,) bool: the bag is *with*.
    areas, border
        (n_segments,) pixels at working size; boundary on the image border.
    edges, lengths, contrasts
        For each bag, (m, 2) pairs of adjacent segments, numbered within the bag; (m,) pixels of shared boundary; (m,)
        distance of their mean Lab colours, NaN in videos.
    standardiser
        What put X on one scale.
    motion
        One (n_segments of the bag,) array of how much each segment moves by itself for every bag that is a video, None
        for one that is an image.
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
    motion: Sequence[np.ndarray | None] = ()

    def make_geometry(self, motion_prior: float) -> Geometry:
        """Where the segments lie, numbered over all bags; `motion_prior` as in `Settings`."""
        prior = [
            np.ones(end - start) if moved is None else measure_motion_prior(moved, motion_prior)
            for start, end, moved in zip(self.offsets, self.offsets[1:], self.motion or repeat(None), strict=False)
        ]
        return Geometry(
            areas=self.areas,
            border=self.border,
            edges=np.concatenate([edges + start for edges, start in zip(self.edges, self.offsets, strict=False)]),
            lengths=np.concatenate(self.lengths),
            contrasts=np.concatenate(self.contrasts),
            prior=np.concatenate(prior),
        )

    def make_prior(self, settings: Settings) -> np.ndarray:
        """(n_segments,) background prior by border and motion."""
        prior = self.make_geometry(settings.motion_prior).prior
        return prior * measure_border_prior(self.border, settings.border_prior)

    def make_segments(self, motion_prior: float) -> SegmentTable:
        """The same as the method sees it."""
        return make_table(self.X, self.positive, self.bags, self.make_geometry(motion_prior))

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
) -> Table:
    """Read the shards of all bags, one at a time, into one array.

    On the scale of another run, if its standardiser is given; else on one of their own, that the voter of the settings
    wants. A vote that needs more memory than is free is refused.
    """
    geometry = [read_arrays(run.segments_path(bag.segments_key), GEOMETRY) for bag in bags]
    positive = np.array([bag.bag.bag_label == WITH for bag in bags])
    return build_table(_read_shards(run, bags), geometry, positive, extractor, standardiser, settings=settings)


def build_table(
    features: Iterable[np.ndarray],
    geometry: Sequence[dict[str, np.ndarray]],
    positive: np.ndarray,
    extractor: FeatureExtractor,
    standardiser: Standardiser | None = None,
    *,
    settings: Settings | None = None,
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
        has_lengths = settings is not None and VOTERS[settings.voter].wants_lengths
        standardiser = fit_standardiser(shards, extractor.blocks, extractor.standardise, has_lengths)
    for place in shards:
        place[:] = standardiser.apply(place)
    return Table(
        X=X,
        bags=np.repeat(np.arange(len(geometry)), counts),
        offsets=offsets,
        positive=positive,
        areas=np.concatenate([arrays["areas"] for arrays in geometry]),
        border=np.concatenate([arrays["border"] for arrays in geometry]),
        edges=[arrays["edges"] for arrays in geometry],
        lengths=[arrays.get("lengths", np.ones(len(arrays["edges"]))) for arrays in geometry],
        contrasts=[measure_contrasts(arrays.get("colours"), arrays["edges"]) for arrays in geometry],
        standardiser=standardiser,
        motion=[arrays.get("distinct") for arrays in geometry],
    )


def measure_contrasts(colours: np.ndarray | None, edges: np.ndarray) -> np.ndarray:
    """(m,) distance of the mean colours (n_segments, 3) of adjacent segments; NaN where colours are not known."""
    if colours is None:
        return np.full(len(edges), np.nan)
    gap = colours[edges[:, 0]].astype(np.float64) - colours[edges[:, 1]]
    return np.sqrt((gap**2).sum(axis=1))


def _read_shards(run: RunFolder, bags: Sequence[SegmentedImage]) -> Iterator[np.ndarray]:
    for bag in bags:
        yield read_arrays(run.features_path(bag.features_key))["features"]
