"""Images in the wrong folder: `annotate` takes their say, names them, and finds the object all the same."""

import shutil

import numpy as np
import pytest

from segvote import annotate
from segvote.datasets import write_scenes
from segvote.run.settings import Settings
from segvote.steps.judging import choose_muted

FAST = {"n_segments": 60, "size": 160, "n_superpixels": 0}


@pytest.fixture(scope="module")
def misfiled(tmp_path_factory):
    """Scenes of which two with the object lie among those without."""
    folder = tmp_path_factory.mktemp("misfiled")
    write_scenes(folder, 24, 22, seed=5)
    for path in sorted((folder / "with").iterdir())[:2]:
        shutil.move(path, folder / "without" / f"wrong-{path.name}")
    return folder


def run_on(folder, out, **change):
    return annotate(folder / "with", folder / "without", out, Settings(**FAST, **change), n_jobs=1)


def test_the_misplaced_have_no_say_and_are_named(misfiled, tmp_path):
    run = run_on(misfiled, tmp_path / "out")
    muted = {bag.name for bag in run.bags if bag.excluded}
    wrong = {bag.name for bag in run.bags if "wrong-" in bag.name}
    assert wrong <= muted
    assert all(bag.bag_label == "without" for bag in run.bags if bag.excluded)
    page = run.folder.report_path.read_text()
    assert "Images that had no say" in page
    assert all(name in page for name in muted)


def test_everybody_is_heard_if_so_wished(misfiled, tmp_path):
    run = run_on(misfiled, tmp_path / "out", exclude_mislabelled=False)
    assert not any(bag.excluded for bag in run.bags)
    assert "Images that had no say" not in run.folder.report_path.read_text()


def test_a_voter_that_must_hear_all_hears_all(misfiled, tmp_path):
    assert not any(bag.excluded for bag in run_on(misfiled, tmp_path / "out", voter="negmin").bags)


def test_suspects_are_muted_but_never_more_than_a_quarter_of_the_without_images():
    bag_labels = np.repeat([True, False], 20)
    suspicions = np.concatenate([np.full(20, 0.9), np.linspace(0.05, 1, 20)])
    np.testing.assert_array_equal(np.flatnonzero(choose_muted(suspicions, bag_labels)), [35, 36, 37, 38, 39])
    np.testing.assert_array_equal(np.flatnonzero(choose_muted(suspicions - 0.4, bag_labels)), [37, 38, 39])
    assert not choose_muted(suspicions - 0.6, bag_labels).any()


def test_few_images_judge_nobody():
    assert not choose_muted(np.ones(38), np.repeat([True, False], 19)).any()
