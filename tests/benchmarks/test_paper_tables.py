"""The paper's experiments: the draw of images, and all pairs of bandwidths against the class they stand for."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from segvote.datasets.paper_table import PAPER_METHODS
from segvote.evaluation.compare_results import Combination, Comparison, Result
from segvote.evaluation.compare_stage import RULES
from segvote.voters import VOTERS
from segvote.voters.paper import PaperEKDE

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
paper = pytest.importorskip("paper")
bandwidths = pytest.importorskip("paper_bandwidths")
sets = pytest.importorskip("paper_sets")
pages = pytest.importorskip("paper_page")


def test_images_are_drawn_evenly_over_the_sorted_names(tmp_path):
    (tmp_path / "all").mkdir()
    for number in range(10):
        (tmp_path / "all" / f"{number}.jpg").touch()
    for count, names in ((5, "02468"), (0, "0123456789"), (20, "0123456789")):
        sets.link_images(tmp_path / "all", tmp_path / "some", count)
        assert [path.stem for path in sorted((tmp_path / "some").iterdir())] == list(names)


def test_the_papers_recipe_is_run_beside_our_defaults():
    ours, recipe, words = paper.list_passes(tuple(VOTERS))
    assert set(ours.voters) == set(VOTERS) and ours.segmenters == ("ward",)
    assert recipe.segmenters == ("gpb",) and set(PAPER_METHODS.values()) <= set(recipe.pairs)
    assert words.features == ("bow",) and "printed" in RULES  # the second voting as printed


def make_comparison(figures):
    """Voter to the overlap of each of its images."""
    results = [
        Result(
            Combination("ward", "lite0", voter), voter, ["a", "b"], overlaps={"common": [(one, 1.0) for one in ious]}
        )
        for voter, ious in figures.items()
    ]
    return Comparison(Path(), Path(), "ekde", 0.5, results)


def test_readme_has_a_row_for_each_of_four_systems():
    figures = {"ekde": [0.9, 0.8], "walk": [0.9, 0.1], "walk-adapted": [1.0, 1.0], "f-neg": [0.6, 0.7], "crane": [0, 0]}
    found = {"one": make_comparison({**figures, "f-neg+finish": [0.8, 0.8], "crane+finish": [1, 1]})}
    assert paper.find_best_baseline(found) == "f-neg"
    rows = pages.list_claim_rows(found, "f-neg")
    assert [row[1] for row in rows[1:]] == ["0.50", "1.00", "1.00", "1.00"]
    assert [row[2] for row in rows[1:]] == ["0.50", "0.65", "0.80", "0.85"]


@pytest.mark.filterwarnings("ignore:the printed iteration selected:UserWarning")
def test_all_pairs_of_bandwidths_score_as_the_printed_voter_does():
    rng = np.random.default_rng(0)
    bags = np.repeat(np.arange(8), 6)
    X = rng.normal(size=(48, 3)) + 2 * ((bags < 4) & (np.arange(48) % 6 == 0))[:, None]
    table = SimpleNamespace(positive=np.arange(8) < 4, bags=bags)
    for pair, scores in bandwidths.score_pairs(X, table, grid=(0.5, 1.0, 2.0)):
        voter = PaperEKDE(*pair).fit(X, bags < 4, bags=bags)
        np.testing.assert_allclose(scores[bags < 4], voter.scores_[bags < 4], rtol=1e-3, atol=1e-4)
