"""Nested selections against a plain-numpy twin, and what must hold at every level."""

from dataclasses import replace

import numpy as np
import pytest
from made_tables import hold, label, make_scene

from segvote.method.correct import correct_vote
from segvote.method.extents import (
    GROWTH_BOUND,
    GROWTH_ROUNDS,
    N_EXTENTS,
    NEVER,
    Extents,
    apply_extents,
    find_extents,
    find_open_extents,
    find_reach,
    select_unseen,
)
from segvote.method.table import Geometry, make_table
from segvote.numerics.otsu import split_in_three
from segvote.selection import DEFAULT_EXTENT

LEVELS = range(1, N_EXTENTS + 1)


def find(vote):
    """The levels of a vote."""
    return find_extents(vote.table, vote.selection, vote.electorate.graph)


def change(vote, **changes):
    """The vote with another selection."""
    return replace(vote, selection=replace(vote.selection, **changes))


def find_slowly(vote):
    """(N_EXTENTS, n_segments) selections, segment by segment."""
    table, graph, found = vote.table, vote.electorate.graph.toarray(), vote.selection
    beside = [set() for _ in range(len(table))]
    for i, j in table.edges:
        beside[i].add(j)
        beside[j].add(i)
    cuts = np.zeros((3, len(table)), dtype=bool)
    for image in np.flatnonzero(table.positive):
        own = np.flatnonzero(table.images == image)
        scores, middle = found.scores[own], found.thresholds[image]
        low, high = split_in_three(scores, table.areas[own]) if not found.empty[image] else (middle, middle)
        for row, cut in enumerate((max(high, middle), middle, min(low, middle))):
            cuts[row, own] = scores > cut
            if not found.empty[image]:
                cuts[row, own[np.argmax(scores)]] = True
    hold_labels = lambda chosen: np.where(found.user_labels >= 0, found.user_labels == 1, chosen)  # noqa: E731
    selections = [hold_labels(row) for row in cuts]
    current = selections[-1]
    for number in range(1, GROWTH_ROUNDS[-1] + 1):
        ring = [
            not current[one]
            and any(current[other] for other in beside[one])
            and bool(table.positive[table.images[one]])
            for one in range(len(table))
        ]
        ring = np.array(ring) & (found.user_labels != 0)
        current = current | (ring & (graph @ (current | ring) > GROWTH_BOUND))
        if number in GROWTH_ROUNDS:
            selections.append(current)
    return np.array(selections)


def make_whole(noise=0.3, seed=0, n_images=16):
    """A scene whose objects have a ring of parts that only appear beside them: what growth should reach."""
    X, y, images, geometry, truth = make_scene(n_images=n_images, noise=noise, seed=seed)
    rng, place = np.random.default_rng(seed), np.tile(np.arange(20), n_images)
    for offset, step in ((4, 1), (8, 1), (3, 2), (9, 2)):
        part = y & (place == offset)
        X[part] = np.eye(6)[step] * 3 + noise * rng.normal(size=(part.sum(), 6))
    return X, y, images, geometry, truth


def correct_labels(vote, objects, background):
    """The vote with corrections."""
    refitted, correction = correct_vote(vote, label(len(vote.table), objects, background))
    return replace(refitted, selection=correction.selection)


@pytest.fixture(scope="module", params=[(0.15, 0), (0.6, 1), (1.0, 2)])
def vote(request):
    noise, seed = request.param
    return hold(make_whole(noise, seed))


def test_levels_are_those_of_the_slow_twin(vote):
    extents, slow = find(vote), find_slowly(vote)
    for level in LEVELS:
        assert np.array_equal(extents.select(level), slow[level - 1])


def test_the_default_level_is_the_selection_of_the_vote(vote):
    assert np.array_equal(find(vote).select(DEFAULT_EXTENT), vote.selection.selected)


def test_without_votes_of_neighbours_nothing_grows(vote):
    extents = find_extents(vote.table, vote.selection, None)
    assert all(np.array_equal(extents.select(level), extents.select(3)) for level in LEVELS[3:])
    assert all(np.array_equal(extents.select(level), find(vote).select(level)) for level in LEVELS[:3])
    assert not extents.shares.any()


def test_growth_reaches_parts_that_lie_beside_the_object():
    scene = make_whole(noise=0.1)
    # As if the vote had found the middle of the object alone.
    vote = change(hold(scene), scores=np.where(scene[4], 1.0, -1.0), thresholds=np.zeros(16), selected=scene[4])
    place, extents = np.tile(np.arange(20), 16), find(vote)
    reached = {3: (5, 7), 4: (4, 8), 5: (3, 9), 6: (3, 9)}
    for level, (first, last) in reached.items():
        whole = vote.table.is_candidate & (place >= first) & (place <= last)
        assert np.array_equal(extents.select(level), whole)


@pytest.mark.parametrize("level", LEVELS)
def test_user_labels_hold_at_every_level(vote, level):
    objects, background = [0, 25], [5, 46, 7]
    corrected = correct_labels(vote, objects, background)
    extents = find(corrected)
    assert extents.select(level)[objects].all() and not extents.select(level)[background].any()
    applied = apply_extents(corrected.selection, extents, level)
    assert applied.selected[objects].all() and not applied.selected[background].any()


@pytest.mark.parametrize("level", LEVELS)
def test_scores_exceed_thresholds_where_selected(vote, level):
    for base in (vote, correct_labels(vote, [0, 25], [5, 46, 7])):
        applied = apply_extents(base.selection, find(base), level)
        table, above = base.table, applied.scores > applied.thresholds[base.table.images]
        inside = table.is_candidate
        assert np.array_equal(applied.selected[inside], above[inside])
        assert not (applied.selected & ~above).any()


def test_images_can_have_levels_of_their_own(vote):
    extents = find(vote)
    levels = np.arange(vote.table.n_images) % N_EXTENTS + 1
    mixed = apply_extents(vote.selection, extents, levels)
    assert np.array_equal(mixed.extent, levels)
    for image, level in enumerate(levels):
        alone, part = apply_extents(vote.selection, extents, int(level)), vote.table.get_slice(image)
        assert np.array_equal(mixed.scores[part], alone.scores[part])
        assert np.array_equal(mixed.selected[part], alone.selected[part])
        assert mixed.thresholds[image] == alone.thresholds[image]


def test_empty_images_stay_empty_at_the_three_cuts():
    vote = hold(make_scene())
    empty = np.arange(24) == 2
    best = vote.table.max_by_image(vote.selection.scores)
    emptied = change(vote, empty=empty, thresholds=np.where(empty, best, vote.selection.thresholds))
    levels = find(emptied).first_extents
    assert levels[vote.table.get_slice(2)].min() > 3 and levels[vote.table.get_slice(3)].min() == 1


# Images never seen


@pytest.mark.parametrize("level", LEVELS)
def test_an_unseen_image_is_selected_as_the_formula_says(level):
    rng = np.random.default_rng(level)
    scores, areas, shares = rng.normal(size=15), rng.uniform(1, 9, 15), rng.uniform(0.5, 1, 15)
    edges, threshold = np.array([(one, one + 1) for one in range(14)]), 0.3
    low, high = split_in_three(scores, areas)
    cut = {1: max(high, threshold), 2: threshold}.get(level, min(low, threshold))
    slow = set(np.flatnonzero(scores > cut)) | {int(np.argmax(scores))}
    for _ in range(GROWTH_ROUNDS[level - 4] if level > 3 else 0):
        slow |= {one for one in range(15) if {one - 1, one + 1} & slow and shares[one] > GROWTH_BOUND}
    selected, raised, found_cut = select_unseen(scores, areas, edges, shares, threshold, level)
    assert set(np.flatnonzero(selected)) == slow and found_cut == cut
    assert np.array_equal(raised > cut, selected)


def test_the_reach_is_the_selection_and_what_touches_it():
    levels = np.array([1, 4, NEVER, NEVER, 2], dtype=np.uint8)
    edges = np.array([[0, 1], [1, 2], [3, 4]])
    assert find_reach(levels, edges, 2).tolist() == [True, True, False, True, True]
    assert find_reach(levels, edges, 4).tolist() == [True, True, True, True, True]


@pytest.mark.parametrize(("n_wide", "contrast", "expected"), [(8, 20.0, [3, 4]), (5, 20.0, []), (8, 1.0, [])])
def test_an_extent_is_open_if_it_is_outlined_and_larger_by_half(n_wide, contrast, expected):
    n = 12  # segments in a row, in one *with* and one *without* image; the default extent has the first four
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
    contrasts = np.full(n - 1, 5.0)
    contrasts[3], contrasts[n_wide - 1] = 20.0, contrast
    table = make_table(
        np.zeros((n + 1, 1)), np.array([True, False]), np.repeat([0, 1], [n, 1]),
        Geometry(edges=edges, contrasts=contrasts),
    )  # fmt: skip
    levels = np.full(n + 1, NEVER, dtype=np.uint8)
    levels[:n_wide], levels[:4] = 3, 1
    open_extents = find_open_extents(table, Extents(levels, np.zeros((3, 2)), np.zeros(n + 1)), 1.5)
    assert open_extents == expected
