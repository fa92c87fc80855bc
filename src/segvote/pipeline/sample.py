"""The bags that vote, where not all of them do: a representative sample of both folders.

The other bags are scored by the model of the vote, see `segvote.pipeline.others`. The sample depends on the content of
the images and on nothing else: not on their names, their order, corrections, or the number of workers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from segvote.errors import BadInputError
from segvote.features import FeatureExtractor, fit_standardiser
from segvote.inputs.bags import Bag
from segvote.io.arrays import read_arrays
from segvote.numerics.representatives import choose_representatives
from segvote.pipeline.table import count_fitting
from segvote.run.features import read_features
from segvote.run.run_folder import RunFolder
from segvote.settings import ALL, AUTO, Settings
from segvote.types import WITH, WITHOUT
from segvote.voters import keeps_lengths

# Fewer bags cannot be left out of the vote in turn, by which the scores of the others are calibrated.
LEAST_VOTERS = 4


def parse_vote_on(text: str) -> int | None:
    """How many bags vote, 0 for all; None where memory decides."""
    if text in (AUTO, ALL):
        return None if text == AUTO else 0
    if text.isascii() and text.isdigit() and len(text) < 10 and int(text) >= LEAST_VOTERS:
        return int(text)
    raise BadInputError(
        f"expected {AUTO}, {ALL} or a number of images from {LEAST_VOTERS} on with --vote-on, got {text!r:.40}"
    )


def limit_voters(bags: Sequence[Bag], n_dims: int) -> int:
    """How many bags may vote by the memory that is free, 0 where all of them fit."""
    n_segments = sum(bag.n_segments for bag in bags)
    fitting = count_fitting(n_segments, n_dims)
    return 0 if fitting >= n_segments else max(LEAST_VOTERS, fitting * len(bags) // n_segments)


def split_bags(
    run: RunFolder,
    bags: Sequence[Bag],
    extractor: FeatureExtractor,
    settings: Settings,
    n_voters: int,
    corrected: Collection[str],
) -> tuple[list[Bag], list[Bag]]:
    """Bags that vote, and those that are predicted, each in their order; at most `n_voters` vote, 0: all.

    Bags with corrections, by their digests, vote in addition.
    """
    if not n_voters or n_voters >= len(bags):
        return list(bags), []
    names = choose_sample(run, bags, extractor, settings, n_voters)
    votes = [bag.name in names or bag.digest in corrected for bag in bags]
    both = list(zip(bags, votes, strict=True))
    return [bag for bag, is_in in both if is_in], [bag for bag, is_in in both if not is_in]


def list_left_out(run: RunFolder, bags: Sequence[Bag], extractor: FeatureExtractor, settings: Settings) -> set[str]:
    """Names of the bags that do not vote by the settings, or by the memory that is free."""
    n_voters = parse_vote_on(settings.vote_on)
    n_voters = limit_voters(bags, extractor.n_dims) if n_voters is None else n_voters
    return {bag.name for bag in split_bags(run, bags, extractor, settings, n_voters, ())[1]}


def choose_sample(
    run: RunFolder, bags: Sequence[Bag], extractor: FeatureExtractor, settings: Settings, n_voters: int
) -> set[str]:
    """Names of the bags in the sample: representatives of each folder by the mean features of the bags."""
    # By the folder that a bag lies in: a user who moves it does not change the sample of the others.
    folders = [[bag for bag in bags if bag.name.split("/", 1)[0] == label] for label in (WITH, WITHOUT)]
    chosen = set()
    for own, n_chosen in zip(folders, count_voters(len(folders[0]), len(folders[1]), n_voters), strict=True):
        ordered = sorted(own, key=lambda bag: (bag.digest, bag.name))
        means = measure_means(run, ordered, extractor, settings) if n_chosen < len(own) else np.empty((len(own), 0))
        chosen |= {ordered[index].name for index in choose_representatives(means, n_chosen)}
    return chosen


def count_voters(n_with: int, n_without: int, n_voters: int) -> tuple[int, int]:
    """How many bags of each folder vote: up to one half each; what the smaller folder lacks goes to the other."""
    smaller = min(n_with, n_without, n_voters // 2)
    larger = n_voters - smaller
    return (smaller, min(larger, n_without)) if n_with <= n_without else (min(larger, n_with), smaller)


def measure_means(run: RunFolder, bags: Sequence[Bag], extractor: FeatureExtractor, settings: Settings) -> np.ndarray:
    """(n_bags, d) float32 mean features of bags, weighted by area, on the scale on which segments are compared."""
    means = np.empty((len(bags), extractor.n_dims), np.float32)
    for mean, bag in zip(means, bags, strict=True):
        areas = read_arrays(run.segments_path(bag.segments_key), ("areas",))["areas"]
        mean[:] = np.average(read_features(run.features_path(bag.features_key)), axis=0, weights=areas)
    scale = fit_standardiser([means], extractor.blocks, extractor.standardise, keeps_lengths(settings.voter))
    return scale.apply(means)
