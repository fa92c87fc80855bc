"""The paper's experiments: the draw of images, the passes, README's rows, and the page that is filled."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from segvote.datasets.paper_table import PAPER_METHODS
from segvote.evaluation.comparison import Combination, Comparison, Result
from segvote.voters import VOTERS
from segvote.voters.bandwidths import BANDWIDTH_RULES, GRID

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
paper = pytest.importorskip("paper")
experiments = pytest.importorskip("paper_experiments")


def test_images_are_drawn_evenly_over_the_sorted_names(tmp_path):
    (tmp_path / "all").mkdir()
    for number in range(10):
        (tmp_path / "all" / f"{number}.jpg").touch()
    for count, names in ((5, "02468"), (0, "0123456789"), (20, "0123456789")):
        experiments.spread_images(tmp_path / "all", tmp_path / "some", count)
        assert [path.stem for path in sorted((tmp_path / "some").iterdir())] == list(names)


def test_the_papers_recipe_is_run_beside_our_defaults():
    ours, words, recipe, *deep = experiments.list_passes().values()
    assert {one.voter for one in ours} == {"ekde", *VOTERS} and {one.segmenter for one in ours} == {"ward"}
    assert set(PAPER_METHODS.values()) <= {(one.voter, one.features) for one in recipe if one.segmenter == "gpb"}
    assert {one.features for one in words} == {"bow"}
    assert {(one.segmenter, one.features) for some in deep for one in some} == set(
        itertools.product(("ward", "gpb"), ("vgg16", "lite0"))
    )


def test_a_set_is_compared(tmp_path, monkeypatch):
    for kind, name in itertools.product(("with", "without", "masks"), "abc"):
        pixels = np.random.default_rng(ord(name)).integers(0, 200, (48, 48, 3)).astype(np.uint8)
        pixels[:24, :, 0] = 255 if kind == "with" else 0
        mask = np.arange(48)[:, None].repeat(48, axis=1) < 24
        path = tmp_path / "data" / "one" / kind / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.uint8(255) * mask if kind == "masks" else pixels).save(path)
    monkeypatch.setattr(experiments, "list_passes", lambda: {"words": [Combination("ward", "color", "crane")]})
    found = experiments.compare_all(experiments.Job(tmp_path / "data", tmp_path / "out", 2), ["one"], ["words"])
    assert not found["one"].results[0].reason and len(found["one"].results[0].names) == 2


def make_comparison(figures):
    """Voter to the overlap of each of its images."""
    results = [
        Result(Combination("ward", "lite0", voter), ["a", "b"], overlaps={"common": [(one, 1.0) for one in ious]})
        for voter, ious in figures.items()
    ]
    return Comparison(Path(), Path(), "ekde", 0.5, results)


def test_readme_has_a_row_for_each_of_four_systems():
    figures = {"ekde": [0.9, 0.8], "walk": [0.9, 0.1], "walk-adapted": [1.0, 1.0], "f-neg": [0.6, 0.7], "crane": [0, 0]}
    found = {"one": make_comparison({**figures, "f-neg+finish": [0.8, 0.8], "crane+finish": [1, 1]})}
    assert experiments.find_best_baseline(found) == "f-neg"
    rows = paper.list_claim_rows(paper.Pages(found, {}, 12))
    assert [row[1] for row in rows[1:]] == ["0.50", "1.00", "1.00", "1.00"]
    assert [row[2] for row in rows[1:]] == ["0.50", "0.65", "0.80", "0.85"]


def test_a_vgg_stands_beside_our_network(tmp_path):
    good, poor = [(0.9, 1.0), (0.9, 1.0)], [(0.9, 1.0), (0.1, 1.0)]
    rules = {"vgg16": {"common": good, "printed": poor}, "lite0": {"common": poor, "printed": poor}}
    results = [Result(Combination("ward", name, "crane"), ["a", "b"], overlaps=rules[name]) for name in rules]
    pages = paper.Pages({"one": Comparison(Path(), Path(), "ekde", 0.5, results)}, {}, 12, ["vgg"])
    (crane,) = [row for row in paper.list_deep_rows(pages) if row[0] == "crane"]
    assert crane[1:5] == ["ward", "0.50", "1.00", "0.90"] and crane[6:9] == ["0.50", "0.50", "0.50"]
    assert "means" not in paper.list_tables(pages)


def make_printed(pair=(0.0, 0.0), **figures):
    return experiments.Printed(pair, ap=0.7, corloc=0.4, common=0.3, selected=0.2, **figures)


def test_tables_of_what_was_measured_replace_the_old_ones(tmp_path):
    grid = [make_printed(pair) for pair in itertools.product(GRID, GRID)]
    points = [make_printed(scale=0.6, ratio=ratio, rho=1.1, plausibility=0.5) for ratio in (1.1, 1.3)]
    known = experiments.PrintedSet(grid, {rule: make_printed(GRID[:2]) for rule in BANDWIDTH_RULES}, points)
    page = tmp_path / "paper.md"
    markers = ("bandwidths", "rules", "window", "means")
    page.write_text("text\n" + "".join(f"<!-- {name} -->\nbefore\n<!-- /{name} -->\n" for name in markers))
    pages = paper.Pages({}, {"cows": known}, 12)
    paper.fill_page(page, pages)
    text = page.read_text()
    assert text.startswith("text\n") and text.count("before") == 1  # no voters were compared
    assert text.count("1 set, 12 images of each folder") == 3
    assert "| cows | 0.20 | 0.40 | 0.70 | 0.20 | 0.40 | 0.70 | 1.10 |" in text
    paper.draw_window(pages.printed, tmp_path / "window.svg")
    assert "<svg" in (tmp_path / "window.svg").read_text()
