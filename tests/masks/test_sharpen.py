"""Outlines by minimum cut: against trying every answer, and on a picture one can draw by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segvote.masks.sharpen import (
    COLOUR_WIDTH,
    Superpixels,
    cut_graph,
    sharpen,
    sum_alike,
    weigh_colours,
)


def measure_cost(answer, evidence, edges, costs):
    against = np.where(answer, np.maximum(-evidence, 0), np.maximum(evidence, 0)).sum()
    return against + costs[answer[edges[:, 0]] != answer[edges[:, 1]]].sum()


@given(st.integers(0, 2**32 - 1), st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_no_other_answer_costs_less(seed, n):
    rng = np.random.default_rng(seed)
    pairs = np.array(list(itertools.combinations(range(n), 2)), dtype=int).reshape(-1, 2)
    edges = pairs[rng.random(len(pairs)) < 0.5]
    evidence, costs = rng.normal(size=n).round(3), rng.random(len(edges)).round(3)
    best = min(
        measure_cost(np.array(answer), evidence, edges, costs) for answer in itertools.product([False, True], repeat=n)
    )
    assert abs(measure_cost(cut_graph(evidence, edges, costs), evidence, edges, costs) - best) < 1e-9


def make_row(colours, segments):
    n = len(colours)
    lab = np.column_stack([colours, np.zeros(n), np.zeros(n)]).astype(float)
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    return Superpixels(np.arange(n)[None], np.full(n, 100.0), lab, edges, np.full(n - 1, 10.0), np.array(segments))


def test_the_mask_moves_to_the_edge_of_the_picture():
    # The warm segment reaches one superpixel too far to the left; the picture's edge lies between superpixels 2 and 3.
    superpixels = make_row([20, 20, 20, 80, 80, 80], [0, 0, 1, 1, 1, 1])
    heat = np.array([0.05, 0.05, 0.55, 0.9, 0.9, 0.9])
    assert sharpen(superpixels, heat).tolist() == [False, False, False, True, True, True]


def test_colours_that_disagree_with_the_vote_do_not_count():
    superpixels = make_row([50, 20, 50, 20, 50, 20], [0, 1, 2, 3, 4, 5])
    heat = np.array([0.9, 0.9, 0.9, 0.1, 0.1, 0.1])
    assert np.array_equal(weigh_colours(superpixels, heat), np.zeros(6))


@pytest.mark.parametrize(("n", "n_segments"), [(1, 1), (7, 3), (300, 20), (300, 1), (200, 200)])
def test_blocks_of_pairs_give_the_sums_of_the_plain_formula(n, n_segments):
    rng = np.random.default_rng(0)
    colours, segments, masses = rng.uniform(0, 100, (n, 3)), rng.integers(0, n_segments, n), rng.random((n, 2))
    gaps = ((colours[:, None] - colours) ** 2).sum(axis=2)
    alike = np.exp(-gaps / (2 * COLOUR_WIDTH**2)) * (segments[:, None] != segments)
    assert np.allclose(sum_alike(colours, segments, masses), alike @ masses, rtol=1e-4, atol=1e-7)


def test_something_always_stays():
    superpixels = make_row([50, 50, 50], [0, 1, 2])
    assert sharpen(superpixels, np.array([0.1, 0.52, 0.1])).tolist() == [False, True, False]
