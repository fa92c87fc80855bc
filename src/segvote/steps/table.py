"""Segments of all bags, read from their files into the one table that a vote is held on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from segvote.features import FeatureExtractor, Standardiser, fit_standardiser
from segvote.io.arrays import read_arrays
from segvote.method.table import Geometry, SegmentTable, make_table
from segvote.run.run_folder import RunFolder
from segvote.run.segmented_image import SegmentedImage
from segvote.run.settings import Settings
from segvote.steps.resources import check_memory
from segvote.types import WITH
from segvote.voters import keeps_lengths

Arrays = Mapping[str, np.ndarray]
# What is read of a bag's segments: not the label map, which is the most of them.
GEOMETRY = ("areas", "border", "centres", "edges", "lengths", "colours", "frames")


def gather_table(
    run: RunFolder,
    bags: Sequence[SegmentedImage],
    extractor: FeatureExtractor,
    settings: Settings,
    standardiser: Standardiser | None = None,
) -> tuple[SegmentTable, Standardiser]:
    """Read segments and features of all bags, one at a time, into one table; returns the scale of its features, too.

    With the standardiser of another run, bags to be predicted: their labels are not known.
    """
    geometry = [read_arrays(run.segments_path(bag.segments_key), GEOMETRY) for bag in bags]
    features = (read_arrays(run.features_path(bag.features_key))["features"] for bag in bags)
    positive = None if standardiser else np.array([bag.bag.bag_label == WITH for bag in bags])
    return build_table(features, geometry, positive, extractor, settings, standardiser)


def build_table(
    features: Iterable[np.ndarray],
    geometry: Sequence[Arrays],
    positive: np.ndarray | None,
    extractor: FeatureExtractor,
    settings: Settings,
    standardiser: Standardiser | None = None,
) -> tuple[SegmentTable, Standardiser]:
    """One table from the features (n_segments, d) and the arrays of `GEOMETRY` of each bag, and its scale.

    Bag labels (n_bags,) bool are None where they are not known. Without a standardiser the features get a scale of
    their own, as the voter wants it; a vote that needs more memory than is free is refused.
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
    images, groups = _number_images(geometry, counts)
    labels = None if positive is None else positive[groups]
    places = _join_geometry(geometry, starts, settings.second_voting)
    return make_table(X, labels, images, places, groups), standardiser


def _number_images(geometry: Sequence[Arrays], counts: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """(n_segments,) number of each segment's image, a bag or a key frame of a video; (n_images,) their bags."""
    bags = np.repeat(np.arange(len(geometry)), counts)
    if not any("frames" in arrays for arrays in geometry):
        return bags, np.arange(len(geometry))
    frames = np.concatenate([arrays.get("frames", np.zeros(len(arrays["areas"]), np.int32)) for arrays in geometry])
    begins = (np.diff(bags, prepend=-1) != 0) | (np.diff(frames, prepend=-1) != 0)
    return np.cumsum(begins) - 1, bags[begins]


def _join_geometry(geometry: Sequence[Arrays], starts: np.ndarray, second_voting: bool) -> Geometry:
    """Where the segments lie, numbered over all bags."""
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
