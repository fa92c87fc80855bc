"""The compiled merging is judged by slow twins that are the definitions."""

import itertools

import numpy as np
import pytest

pytest.importorskip("numba")

from segvote.segmentation.graph_merging import (
    link_pixels,
    list_region_pairs,
    merge_pixels,
    number_regions,
    order_by_weight,
)
from segvote.segmentation.region_merging import N_BINS, fill_histograms, measure_chi_square, merge_regions


def link_pixels_slow(lab, flow):
    n_frames, height, width = lab.shape[:3]
    numbers = np.arange(n_frames * height * width).reshape(n_frames, height, width)
    found = {}
    for t, y, x in itertools.product(range(n_frames), range(height), range(width)):
        ends = [(t, y + dy, x + dx) for dy, dx in [(0, 1), (1, 0), (1, 1), (1, -1)]]
        if t:
            ends.append((t - 1, round(float(y + flow[t, y, x, 1])), round(float(x + flow[t, y, x, 0]))))
        for s, v, u in ends:
            if 0 <= v < height and 0 <= u < width:
                contrast = np.linalg.norm(lab[t, y, x].astype(float) - lab[s, v, u])
                found[tuple(sorted((numbers[t, y, x], numbers[s, v, u])))] = contrast
    return found


def merge_pixels_slow(first, second, weights, frozen, scale, min_size):
    """Sets of pixels, merged edge by edge."""
    groups = {node: {node} for node in range(len(frozen))}
    numbers = {node: frozen[node] for node in groups}
    inside = dict.fromkeys(groups, 0.0)
    where = {node: node for node in groups}

    def unite(a, b):
        for node in groups[b]:
            where[node] = a
        groups[a] |= groups.pop(b)
        numbers[a] = max(numbers[a], numbers[b])

    def is_allowed(a, b):
        return a != b and (numbers[a] < 0 or numbers[b] < 0 or numbers[a] == numbers[b])

    for number in np.unique(frozen[frozen >= 0]):
        same = np.flatnonzero(frozen == number)
        for node in same[1:]:
            unite(where[same[0]], node)
    order = np.argsort(weights, kind="stable")
    for index in order:
        a, b, weight = where[first[index]], where[second[index]], weights[index]
        if is_allowed(a, b) and all(weight <= inside[c] + np.float32(scale / len(groups[c])) for c in (a, b)):
            unite(a, b)
            inside[a] = weight
    for index in order:
        a, b = where[first[index]], where[second[index]]
        if is_allowed(a, b) and min(len(groups[a]), len(groups[b])) < min_size:
            unite(a, b)
    return np.array([where[node] for node in range(len(frozen))])


def merge_regions_slow(pairs, histograms, sizes, frames, frozen, n_wanted, cost_limit):
    """All costs anew after every merge."""
    groups = [{"of": {i}, "h": h.astype(float), "n": n, "t": int(t), "f": f} for i, (h, n, t, f) in enumerate(
        zip(histograms, sizes, frames, frozen, strict=True)
    )]  # fmt: skip

    def unite(a, b):
        a["of"] |= b["of"]
        a["h"], a["n"], a["t"], a["f"] = a["h"] + b["h"], a["n"] + b["n"], a["t"] | b["t"], max(a["f"], b["f"])
        groups.remove(b)

    def measure(a, b):
        p, q = a["h"] / a["n"], b["h"] / b["n"]
        chi = ((p - q) ** 2 / np.maximum(p + q, 1e-300)).sum() / 6
        return chi * a["n"] * b["n"] / (a["n"] + b["n"])

    def find(region):
        return next(group for group in groups if region in group["of"])

    for one, other in itertools.combinations(range(len(sizes)), 2):
        if frozen[one] >= 0 and frozen[one] == frozen[other] and find(one) is not find(other):
            unite(find(one), find(other))
    dearest = 0.0
    while True:
        ends = [(find(a), find(b)) for a, b in pairs]
        costs = [
            (measure(a, b), index)
            for index, (a, b) in enumerate(ends)
            if a is not b and (a["f"] < 0 or b["f"] < 0 or a["f"] == b["f"])
        ]
        if not costs:
            break
        cost, index = min(costs)
        if sum(bin(group["t"]).count("1") for group in groups) <= n_wanted and cost > cost_limit:
            break
        dearest = max(dearest, cost)
        unite(*ends[index])
    return {frozenset(group["of"]) for group in groups}, dearest


def as_partition(labels):
    return {frozenset(np.flatnonzero(labels == value).tolist()) for value in np.unique(labels)}


def make_clip(seed, shape=(3, 6, 7)):
    rng = np.random.default_rng(seed)
    lab = (rng.integers(0, 4, (*shape, 3)) * 10 + rng.random((*shape, 3))).astype(np.float32)
    return lab, rng.normal(0, 1.5, (*shape, 2)).astype(np.float32), rng


@pytest.mark.parametrize("seed", range(3))
def test_edges_are_those_of_the_definition(seed):
    lab, flow, _ = make_clip(seed)
    first, second, weights = link_pixels(lab, flow)
    wanted = link_pixels_slow(lab, flow)
    found = {tuple(sorted(pair)): w for *pair, w in zip(first.tolist(), second.tolist(), weights, strict=True)}
    assert found.keys() == wanted.keys()
    assert all(abs(found[pair] - 100 * wanted[pair]) <= 1.1 for pair in wanted)


def test_the_order_is_stable():
    weights = np.random.default_rng(0).integers(0, 50, 500).astype(np.int32)
    np.testing.assert_array_equal(order_by_weight(weights), np.argsort(weights, kind="stable"))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [0.0, 2000.0, 9000.0])
@pytest.mark.parametrize("min_size", [1, 5])
@pytest.mark.parametrize("is_frozen", [False, True])
def test_merging_equals_the_plain_loop(seed, scale, min_size, is_frozen):
    lab, flow, rng = make_clip(seed)
    first, second, weights = link_pixels(lab, flow)
    frozen = np.full(lab.shape[:3], -1, np.int32)
    if is_frozen:
        frozen[0] = rng.integers(0, 5, frozen[0].shape)
    frozen = frozen.ravel()
    roots = merge_pixels(first, second, weights, order_by_weight(weights), frozen.copy(), scale, min_size)
    wanted = merge_pixels_slow(first, second, weights, frozen, scale, min_size)
    assert as_partition(roots) == as_partition(wanted)


def test_numbers_follow_the_reading_order():
    labels, n_regions = number_regions(np.array([3, 1, 3, 1, 0], np.int32))
    np.testing.assert_array_equal(labels, [0, 1, 0, 1, 2])
    assert n_regions == 3


def test_pairs_join_regions_only():
    keys = list_region_pairs(
        np.array([0, 0, 1, 2], np.int32), np.array([0, 1, 3], np.int32), np.array([1, 2, 2], np.int32)
    )
    assert [(key >> 32, key & 0xFFFFFFFF) for key in keys.tolist()] == [(0, 1), (1, 2)]


def test_histograms_count_each_pixel_once_per_channel():
    rng = np.random.default_rng(0)
    lab = rng.uniform([-5, -90, -90], [110, 90, 90], (300, 3)).astype(np.float32)
    labels = rng.integers(0, 4, 300).astype(np.int32)
    histograms = fill_histograms(lab, labels, 4).reshape(4, 3, N_BINS)
    np.testing.assert_allclose(histograms.sum(axis=2), np.bincount(labels)[:, None].repeat(3, 1), rtol=1e-5)
    black = fill_histograms(np.zeros((1, 3), np.float32), np.zeros(1, np.int32), 1)[0]
    assert black[0] == 1 and black[N_BINS + 9] == black[N_BINS + 10] == 0.5


def test_chi_square_is_zero_for_equal_colours_one_for_disjoint():
    histograms = np.zeros((3, 60), np.float32)
    histograms[0, [0, 20, 40]] = 5
    histograms[1, [0, 20, 40]] = 10
    histograms[2, [7, 27, 47]] = 1
    sizes = np.array([5.0, 10.0, 1.0])
    assert measure_chi_square(histograms, sizes, 0, 1) == 0
    assert measure_chi_square(histograms, sizes, 0, 2) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("is_frozen", [False, True])
@pytest.mark.parametrize(("n_wanted", "cost_limit"), [(6, -1.0), (1000, 1.0), (0, -1.0), (12, 0.5)])
def test_region_merging_equals_the_plain_loop(seed, is_frozen, n_wanted, cost_limit):
    rng = np.random.default_rng(seed)
    n = 14
    pairs = np.array([pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.3], np.int32)
    sizes = rng.integers(1, 20, n).astype(float)
    histograms = rng.multinomial(1, np.full(60, 1 / 60), n) + rng.random((n, 60))
    histograms = (histograms / histograms.sum(axis=1, keepdims=True) * 3 * sizes[:, None]).astype(np.float32)
    frames = rng.integers(1, 8, n)
    frozen = rng.integers(-3, 4, n).astype(np.int32).clip(-1) if is_frozen else np.full(n, -1, np.int32)
    wanted, wanted_cost = merge_regions_slow(pairs, histograms, sizes, frames, frozen, n_wanted, cost_limit)
    roots, cost = merge_regions(
        pairs, histograms.copy(), sizes.copy(), frames.copy(), frozen.copy(), n_wanted, cost_limit
    )
    assert as_partition(roots) == wanted
    assert cost == pytest.approx(wanted_cost, rel=1e-4)
