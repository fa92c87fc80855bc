"""Segments of all bags, read from their files into the table that a vote is held on, where memory allows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import psutil

from segvote.errors import TooLargeError
from segvote.features import FeatureExtractor, Standardiser, fit_standardiser
from segvote.inputs.bags import Bag
from segvote.io.arrays import read_arrays
from segvote.method.table import Geometry, SegmentTable, make_table
from segvote.run.features import read_features
from segvote.run.run_folder import RunFolder
from segvote.settings import Settings
from segvote.types import WITH
from segvote.voters import keeps_lengths

Arrays = Mapping[str, np.ndarray]
# Arrays of a bag's segments that a vote needs; the label map, the largest of them, is left out.
GEOMETRY = ("areas", "border", "centres", "edges", "lengths", "colours", "frames")
# Memory model in bytes: fixed cost of Python and packages; cost per segment (bag, prior, weights, scores, search index,
# 28 for each of 40 neighbours); cost per feature value, in the table and in the model.
BASE, PER_SEGMENT, PER_NUMBER = 250 * 10**6, 1000 + 28 * 40, 7
# Part of the free memory that a sample takes, where not all segments can vote: its model is read again to predict the
# other images.
SHARE = 0.5
# Smaller needs are not checked.
ALWAYS_THERE = 10**9


def gather_table(
    run: RunFolder,
    bags: Sequence[Bag],
    extractor: FeatureExtractor,
    settings: Settings,
    standardiser: Standardiser | None = None,
) -> tuple[SegmentTable, Standardiser]:
    """Read segments and features of all bags, one at a time, into a table; see `build_table`.

    With the standardiser of another run the bags are to be predicted: their labels are not known.
    """
    geometry = [read_arrays(run.segments_path(bag.segments_key), GEOMETRY) for bag in bags]
    features = (read_features(run.features_path(bag.features_key)) for bag in bags)
    positive = None if standardiser else np.array([bag.bag_label == WITH for bag in bags])
    return build_table(features, geometry, positive, extractor, settings, standardiser)


def build_table(
    features: Iterable[np.ndarray],
    geometry: Sequence[Arrays],
    positive: np.ndarray | None,
    extractor: FeatureExtractor,
    settings: Settings,
    standardiser: Standardiser | None = None,
) -> tuple[SegmentTable, Standardiser]:
    """One table from the features (n_segments, d) and the arrays of `GEOMETRY` of each bag, and the scale of features.

    Bag labels `positive` (n_bags,) bool are None where they are not known. A standardiser is fitted where none is
    given; then a vote that needs more memory than is free is refused.
    """
    counts = [len(arrays["areas"]) for arrays in geometry]
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
    if standardiser is None:
        check_memory(sum(counts), extractor.n_dims)
    X = np.empty((sum(counts), extractor.n_dims), np.float32)
    shards = np.split(X, starts[1:])
    for place, shard in zip(shards, features, strict=True):
        place[:] = shard
    if standardiser is None:
        has_lengths = keeps_lengths(settings.voter)
        standardiser = fit_standardiser(shards, extractor.blocks, extractor.standardise, has_lengths)
    for place in shards:
        place[:] = standardiser.apply(place)
    images, image_bags = _number_images(geometry, counts)
    labels = None if positive is None else positive[image_bags]
    places = _join_geometry(geometry, starts, settings.second_voting)
    return make_table(X, labels, images, places, image_bags), standardiser


def _number_images(geometry: Sequence[Arrays], counts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """(n_segments,) number of each segment's image, a bag or a key frame of a video; (n_images,) their bags."""
    bags = np.repeat(np.arange(len(geometry)), counts)
    if not any("frames" in arrays for arrays in geometry):
        return bags, np.arange(len(geometry))
    frames = np.concatenate([arrays.get("frames", np.zeros(len(arrays["areas"]), np.int32)) for arrays in geometry])
    begins = (np.diff(bags, prepend=-1) != 0) | (np.diff(frames, prepend=-1) != 0)
    return np.cumsum(begins) - 1, bags[begins]


def _join_geometry(geometry: Sequence[Arrays], starts: np.ndarray, second_voting: bool) -> Geometry:
    """The geometry of all segments, numbered over all bags."""
    adjacency = [measure_adjacency(arrays, second_voting) for arrays in geometry]
    return Geometry(
        areas=np.concatenate([arrays["areas"] for arrays in geometry]),
        border=np.concatenate([arrays["border"] for arrays in geometry]),
        edges=np.concatenate([arrays["edges"] + start for arrays, start in zip(geometry, starts, strict=True)]),
        lengths=np.concatenate([lengths for lengths, _ in adjacency]),
        contrasts=np.concatenate([contrasts for _, contrasts in adjacency]),
        centres=np.concatenate([arrays["centres"] for arrays in geometry]),
    )


def measure_adjacency(arrays: Arrays, second_voting: bool) -> tuple[np.ndarray, np.ndarray]:
    """(m,) lengths and contrasts of the edges of one bag; equal for all edges in the paper's second voting."""
    edges = arrays["edges"]
    if second_voting:
        return np.ones(len(edges)), np.full(len(edges), np.nan)
    gap = arrays["colours"][edges[:, 0]].astype(np.float64) - arrays["colours"][edges[:, 1]]
    return arrays["lengths"], np.sqrt((gap**2).sum(axis=1))


def estimate_memory(n_segments: int, n_dims: int) -> int:
    """Bytes that a vote of segments (n_segments, n_dims) takes, its model included; 5.7 GB for a million of 472."""
    return BASE + n_segments * (PER_SEGMENT + PER_NUMBER * n_dims)


def count_fitting(n_segments: int, n_dims: int) -> int:
    """How many of some segments can vote by the memory that is free: all, or as many as take `SHARE` of it."""
    free = max(_measure_free_memory(), ALWAYS_THERE)
    if estimate_memory(n_segments, n_dims) <= free:
        return n_segments
    return max(int(SHARE * free - BASE), 0) // (PER_SEGMENT + PER_NUMBER * n_dims)


def check_memory(n_segments: int, n_dims: int) -> None:
    """Refuse a vote that needs more memory than this machine has free."""
    needed, free = estimate_memory(n_segments, n_dims), _measure_free_memory()
    if needed > max(free, ALWAYS_THERE):
        raise TooLargeError(
            f"the vote of {n_segments} segments needs {needed / 1e9:.1f} GB of memory, {free / 1e9:.1f} GB are free: "
            f"{(needed - free) / 1e9:.1f} GB are missing. Take fewer segments (--n-segments), or let fewer images vote "
            "(--vote-on) and the others be predicted"
        )


def _measure_free_memory() -> int:
    """Bytes that processes can use without swapping."""
    return int(psutil.virtual_memory().available)
