"""What the ablation shares between rows changes no figure, and every row changes what it says."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from segvote.datasets import make_bags
from segvote.run.settings import Settings
from segvote.voters.ekde import EKDE

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
rows = pytest.importorskip("ablation_rows")


class Truth:
    """Segments of equal area, of which some are object."""

    def __init__(self, is_object):
        self.is_object = is_object

    def measure(self, selected):
        return float((selected & self.is_object).sum()), float((selected | self.is_object).sum())


def test_shared_neighbours_vote_like_the_voter_itself(tmp_path):
    X, y, bags, _ = make_bags(n_with=6, n_without=6, n_segments=12, seed=0)
    shared = rows.get_neighbours(SimpleNamespace(X=X, bags=bags), tmp_path / "neighbours.npz")
    own = EKDE(n_neighbors=10, n_steps=5).fit(X, y, bags=bags)
    other = rows.SharedEKDE(shared, n_neighbors=10, n_steps=5).fit(X, y, bags=bags)
    np.testing.assert_array_equal(other.scores_, own.scores_)


@pytest.mark.parametrize("row", rows.ROWS[1:], ids=lambda row: row.name)
def test_every_row_changes_something(row):
    assert row.maps or row.apply(Settings()) != Settings()


def test_the_first_row_is_the_default():
    assert rows.ROWS[0].apply(Settings()) == Settings()


def test_rows_have_different_names():
    assert len({row.name for row in rows.ROWS}) == len(rows.ROWS)


def test_maps_are_columns():
    table = _make_table(np.arange(12.0).reshape(2, 6))
    assert rows.select_maps(table, (0, 2)).X.tolist() == [[0, 3, 4, 5], [6, 9, 10, 11]]
    assert rows.select_maps(table, ()) is table


def test_the_best_single_threshold_is_found_with_the_masks():
    scores = [np.array([0.1, 0.2, 0.6, 0.9]), np.array([0.1, 0.3, 0.35, 0.8])]
    truth = [Truth(scores[0] > 0.5), Truth(scores[1] > 0.5)]
    assert rows.find_best_single(scores, truth) == 1.0


def _make_table(X):
    from segvote.features import Standardiser
    from segvote.steps.table import Table

    scale = Standardiser(np.zeros(6), np.ones(6), (1, 2, 3), (True, True, True))
    empty = np.zeros(0)
    return Table(X=X, bags=empty, offsets=empty, tags=empty, areas=empty, border=empty, edges=[], standardiser=scale)
