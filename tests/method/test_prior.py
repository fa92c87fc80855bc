"""Background priors: border and boundary connectivity against the plain formula."""

from dataclasses import replace

import numpy as np
from made_tables import make_scene, tabulate

from segvote.method.prior import measure_border_prior, measure_connectivity


def measure_slowly(table):
    """Geodesic distances by Floyd and Warshall over all pairs, then the formula."""
    n = len(table)
    distances = np.full((n, n), np.inf)
    np.fill_diagonal(distances, 0)
    for (i, j), contrast in zip(table.edges, table.contrasts, strict=True):
        distances[i, j] = distances[j, i] = max(contrast - 3, 0)
    for middle in range(n):
        distances = np.minimum(distances, distances[:, [middle]] + distances[[middle]])
    affinity = np.exp(-(distances**2) / 200)
    lengths = affinity @ table.border / np.sqrt(affinity @ table.areas)
    return 1 - np.exp(-(lengths**2) / 2)


def test_connectivity_is_that_of_the_formula():
    table = tabulate(make_scene(n_images=4, n_segments=9))
    assert np.allclose(measure_connectivity(table), measure_slowly(table), atol=1e-6)


def test_images_of_unknown_colours_have_no_connectivity():
    table = tabulate(make_scene(n_images=4, n_segments=9))
    contrasts = np.where(table.images[table.edges[:, 0]] == 1, np.nan, table.contrasts)
    connectivity = measure_connectivity(replace(table, contrasts=contrasts))
    assert not connectivity[table.images == 1].any()
    others = table.images != 1
    assert np.array_equal(connectivity[others], measure_connectivity(table)[others])


def test_only_segments_on_the_border_are_weighted():
    assert measure_border_prior(np.array([0.0, 3.0, 0.5]), 0.9).tolist() == [1.0, 0.9, 0.9]
