"""Lines by local contrast: against pixel-by-pixel formulas, and on surfaces one can draw by hand."""

import cv2
import numpy as np
import pytest

from segvote.masks import Drawing, Superpixels, draw_mask
from segvote.masks.lines import (
    FILTERS,
    N_STEPS,
    PEAK_SHARE,
    STEPS_PER_UNIT,
    LineEvidence,
    LineFilter,
    apply_filters,
    choose_filter,
    count_responses,
    draw_lines,
    measure_elongation,
    measure_peaks,
    measure_tails,
    measure_width,
    remove_grain,
)
from segvote.selection import make_selection

DARK = LineFilter(channel=0, sign=-1, radius=4)


@pytest.fixture
def cracked():
    """Grey Lab surface (60, 80) with a dark crack along row 30 and a dark spot off it."""
    lab = np.zeros((60, 80, 3), dtype=np.float32)
    lab[..., 0] = 60 + np.random.default_rng(0).normal(0, 0.5, (60, 80))
    lab[30:32, 10:70, 0] -= 40
    lab[5:7, 5:7, 0] -= 40
    return lab


def open_slowly(values, radius):
    """Grey opening with a disc by its definition, image edges left out of minima and maxima."""
    grid = np.mgrid[-radius : radius + 1, -radius : radius + 1].reshape(2, -1).T
    disc = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * radius + 1, 2 * radius + 1)).ravel() > 0

    def pick(array, best):
        out = np.empty_like(array)
        for y, x in np.ndindex(array.shape):
            near = [(y + dy, x + dx) for dy, dx in grid[disc]]
            out[y, x] = best(array[p] for p in near if 0 <= p[0] < array.shape[0] and 0 <= p[1] < array.shape[1])
        return out

    return pick(pick(values, min), max)


@pytest.mark.parametrize("sign", [-1, 1])
def test_response_is_the_top_hat_of_the_channel(sign):
    lab = np.random.default_rng(1).normal(size=(12, 15, 3)).astype(np.float32)
    values = sign * lab[..., 1]
    found = LineFilter(1, sign, 2).apply(lab)
    np.testing.assert_allclose(found, values - open_slowly(values, 2), atol=1e-6)


def test_lines_are_the_crack_in_selected_segments(cracked):
    selected = np.zeros((60, 80), dtype=bool)
    selected[20:40, :60] = True
    found = draw_lines(cracked, selected, DARK, low=5.0, high=15.0)
    assert found[30:32, 12:60].all()
    assert found[:25].sum() == found[37:].sum() == 0
    # Followed a little out of the selected segments, not to the end.
    assert found[30, 64] and not found[30, 69]


def test_lines_too_faint_for_the_higher_threshold_are_dropped(cracked):
    assert not draw_lines(cracked, np.ones((60, 80), dtype=bool), DARK, low=5.0, high=60.0).any()


def test_all_filters_at_once_equal_each_alone(cracked):
    smooth = remove_grain(cracked)
    for line_filter, response in zip(FILTERS, apply_filters(smooth), strict=True):
        assert (response == line_filter.apply(smooth)).all()


def test_counts_are_those_of_sorted_responses(cracked):
    chosen = np.random.default_rng(2).random((60, 80)) < 0.5
    counts = count_responses(cracked, chosen)
    assert counts.shape == (len(FILTERS), N_STEPS) and (counts.sum(axis=1) == chosen.sum()).all()
    values = FILTERS[3].apply(remove_grain(cracked))[chosen]
    tails = measure_tails(counts)[3]
    for step in (1, 20, 300, 2000):
        assert tails[step] == pytest.approx(np.mean(values >= step / STEPS_PER_UNIT))


def test_peaks_are_quantiles_of_the_responses_of_a_segment(cracked):
    labels = np.add.outer(np.arange(60) // 20 * 4, np.arange(80) // 20)
    peaks = measure_peaks(cracked, labels, n_segments=13)
    for column, line_filter in enumerate(FILTERS):
        response = line_filter.apply(remove_grain(cracked))
        for segment in range(12):
            descending = np.sort(response[labels == segment])[::-1]
            wanted = max(descending[int(np.ceil(PEAK_SHARE * descending.size)) - 1], 0)
            assert 0 <= wanted - peaks[segment, column] <= 1 / STEPS_PER_UNIT
    assert (peaks[12] == 0).all()


def make_selected(user_labels):
    labels = np.repeat(np.arange(4), 20)[None].repeat(60, axis=0)
    heat = np.array([0.9, 0.9, 0.9, 0.1])
    return make_selection(heat, heat > 0.5, 0.5, np.array(user_labels)), labels, heat


def draw_surface(selected, picture):
    edges = np.zeros((0, 2), int), np.zeros(0)
    one = Superpixels(selected[1], np.ones(1), np.zeros((1, 3)), *edges, np.zeros(1, int))
    return draw_mask(*selected, one, Drawing("lines", "", DARK, low=5.0, high=15.0), 80, lambda size: picture)


@pytest.fixture
def picture():
    surface = np.full((60, 80, 3), 150, dtype=np.uint8)
    surface[30:32, 4:14] = 20
    surface[30:32, 46:70] = 20
    return surface


def test_user_labels_keep_lines_out_or_fill_segments(picture):
    free = draw_surface(make_selected([-1, -1, -1, -1]), picture)
    assert free[30, 10] and free[30, 50] and not free[30, 30]
    labelled = draw_surface(make_selected([0, 1, 1, -1]), picture)
    assert not labelled[:, :20].any()
    assert labelled[:, 20:40].all()  # no line there: all of the segment
    assert np.array_equal(labelled[:, 40:60], free[:, 40:60])


# Regions or lines.

LINES = LineEvidence(width=0.6, share=0.15, elongation=14.0, thickness=0.3)


def make_strip(width, length=100):
    mask = np.zeros((60, 120), dtype=bool)
    mask[20 : 20 + width, 10 : 10 + length] = True
    return mask


@pytest.mark.parametrize("width", [4, 8, 16])
def test_width_of_a_strip_is_its_own_plus_two(width):
    strip = np.zeros((60, 120), dtype=bool)
    strip[20 : 20 + width] = True
    assert measure_width(strip) == pytest.approx(width + 2)
    assert measure_width(strip & False) == 0 and measure_width(strip | True) == 60


def test_long_strips_are_longer_than_wide():
    assert measure_elongation(make_strip(4)) > 15 > measure_elongation(make_strip(20, 20))
    assert measure_elongation(np.zeros((5, 9), bool)) == 0
    two = make_strip(4, 40)
    two[40:44, 10:50] = True
    assert measure_elongation(two) == pytest.approx(measure_elongation(make_strip(4, 40)))


def test_all_four_figures_have_to_agree():
    assert LINES.is_lines
    for name, value in (("width", 1.2), ("share", 0.01), ("elongation", 3.0), ("thickness", 0.9)):
        assert not LineEvidence(**{**vars(LINES), name: value}).is_lines, name


def test_filter_is_the_one_that_finds_most():
    negative = np.zeros((len(FILTERS), N_STEPS), dtype=np.int64)
    negative[:, :100] = 10  # tails fall from 1 by a hundredth with each step
    selected = np.zeros_like(negative)
    selected[:, 50] = 8
    selected[5, 50], selected[5, 200] = 6, 2
    line_filter, low, high, share = choose_filter(negative, [selected, selected])
    assert line_filter == FILTERS[5] and share == pytest.approx(0.25)
    # The first steps at which at most .1 and .03 of a quarter are left.
    assert (low, high) == (98 / STEPS_PER_UNIT, 100 / STEPS_PER_UNIT)


def test_surfaces_that_do_not_differ_have_no_lines():
    negative = np.zeros((len(FILTERS), N_STEPS), dtype=np.int64)
    negative[:, :100] = 10
    assert choose_filter(negative, [negative])[3] == 0
