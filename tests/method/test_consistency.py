"""Measures of a selection against plain loops."""

import numpy as np
import pytest
from made_tables import hold, make_scene, tabulate

from segvote.method.consistency import (
    measure_consistency,
    measure_outline_contrast,
    measure_overlap,
    measure_power,
    measure_separability,
    measure_uncertainty,
)


@pytest.fixture(scope="module")
def table():
    return tabulate(make_scene(n_images=8, n_segments=10))


@pytest.fixture
def selected(table):
    return (np.random.default_rng(0).random(len(table)) < 0.3) & table.is_candidate


def test_self_consistency_is_that_of_the_formula(table, selected):
    shares, tops = np.random.default_rng(1).random(len(table)), []
    for image in np.flatnonzero(~table.positive):
        left, total, own = 0.05, 0.0, np.flatnonzero(table.images == image)
        for segment in own[np.argsort(-shares[own])]:
            taken = min(left, table.shares[segment])
            left, total = left - taken, total + taken * shares[segment]
        tops.append(total / 0.05)
    inside, rest = (
        np.average(shares[part], weights=table.areas[part]) for part in (selected, table.is_candidate & ~selected)
    )
    expected = inside * (1 - rest) * (1 - np.mean(tops))
    assert measure_consistency(table, selected, shares) == pytest.approx(expected)


def test_outline_contrast_is_that_of_a_loop(table, selected):
    outline, known = [], []
    for (i, j), length, contrast in zip(table.edges, table.lengths, table.contrasts, strict=True):
        if table.is_candidate[i]:
            known.append((contrast, length))
            if selected[i] != selected[j]:
                outline.append((contrast, length))
    means = [np.average([c for c, _ in pairs], weights=[length for _, length in pairs]) for pairs in (outline, known)]
    assert measure_outline_contrast(table, selected) == pytest.approx(means[0] / means[1])


def test_overlap_is_by_area():
    one, other = np.array([True, True, False]), np.array([False, True, True])
    assert measure_overlap(np.array([1.0, 2.0, 3.0]), one, other) == pytest.approx(2 / 6)
    assert measure_overlap(np.ones(3), one & other & ~one, one & ~one) == 1


def test_power_counts_pairs_and_half_of_ties():
    rng = np.random.default_rng(0)
    values, positive = rng.integers(0, 6, 40).astype(float), rng.random(40) < 0.4
    pairs = [(a > b) + 0.5 * (a == b) for a in values[positive] for b in values[~positive]]
    assert measure_power(values, positive) == pytest.approx(max(0, 2 * np.mean(pairs) - 1))


def test_power_is_never_negative():
    assert measure_power(np.array([0.0, 1.0]), np.array([True, False])) == 0


def test_uncertainty_is_one_minus_separability_and_agreement():
    vote = hold(make_scene(noise=0.6))
    table, selection, walks = vote.table, vote.selection, vote.diagnostics.hypotheses.selections
    separability = measure_separability(table, selection.scores)
    alone = measure_uncertainty(table, selection.scores, selection.selected, walks[:0])
    assert np.allclose(alone[table.positive], 1 - separability) and not alone[~table.positive].any()
    agreement = []
    for image in np.flatnonzero(table.positive):
        part = table.get_slice(image)
        overlaps = [measure_overlap(table.areas[part], walk[part], selection.selected[part]) for walk in walks]
        agreement.append(np.mean(overlaps))
    assert np.allclose(selection.uncertainty[table.positive], 1 - separability * agreement)
