"""Images in the wrong folder and near-duplicates: limits of exclusion, and pairs counted by a loop."""

import numpy as np
from made_tables import hold, make_scene, tabulate

from segvote.method.mislabelled import (
    FEWEST_JUDGES,
    LIKELY,
    MOST_EXCLUDED,
    NEAR_DUPLICATE,
    choose_excluded,
    classify_held_out,
    find_near_duplicates,
    measure_suspicion,
)


def test_images_like_their_own_folder_are_not_suspected():
    vote = hold(make_scene())
    assert (vote.diagnostics.suspicion < 0.5).all()
    noise = np.random.default_rng(0).random(len(vote.table))
    suspicion = measure_suspicion(vote.table, noise, classify_held_out(vote.table))
    assert ((suspicion >= 0) & (suspicion <= 1)).all()


def test_only_likely_images_are_excluded():
    positive = np.arange(50) < 25
    suspicion = np.where(np.arange(50) % 10 == 0, LIKELY, LIKELY - 1e-6)
    assert np.flatnonzero(choose_excluded(suspicion, positive)).tolist() == [0, 10, 20, 30, 40]


def test_at_most_a_part_of_a_folder_is_excluded():
    positive = np.arange(80) < 40
    suspicion = np.linspace(0.9, 1.0, 80)
    excluded = choose_excluded(suspicion, positive)
    for folder in (positive, ~positive):
        assert excluded[folder].sum() == int(MOST_EXCLUDED * 40)
        assert suspicion[folder & excluded].min() > suspicion[folder & ~excluded].max()


def test_small_folders_exclude_nothing():
    positive = np.arange(60) < FEWEST_JUDGES - 1
    assert not choose_excluded(np.ones(60), positive).any()


def test_near_duplicates_are_those_of_a_loop():
    table = tabulate(make_scene(n_images=6, n_segments=10))
    rng = np.random.default_rng(0)
    nearest = rng.integers(-1, 60, 60)
    nearest[:10] = np.arange(50, 60)  # all of the first image in the last
    nearest[20:30] = np.arange(30, 40)
    slow = set()
    for one in range(6):
        for other in range(6):
            near = [
                nearest[segment] // 10 == other for segment in range(10 * one, 10 * one + 10) if nearest[segment] >= 0
            ]
            if sum(near) > NEAR_DUPLICATE * 10 and table.positive[one] != table.positive[other]:
                slow.add((one, other) if table.positive[one] else (other, one))
    assert find_near_duplicates(table, nearest) == sorted(slow) == [(0, 5), (2, 3)]
