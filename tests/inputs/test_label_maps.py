"""Segments of a user's own: label maps and published contour maps, through the main job."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.io import savemat

from segvote import annotate
from segvote.inputs.label_maps import segment_by_map
from segvote.pipeline.corrected_vote import vote
from segvote.pipeline.opening import reopen
from segvote.settings import Settings

QUICK = Settings(features="color", n_segments=12, size=80, voter_options={"n_neighbors": 15})
STEP = 20


@pytest.fixture
def contours(scenes, tmp_path):
    """A contour map for each scene: a grid of squares of 20 pixels, columns stronger than rows."""
    rows, columns = np.zeros((241, 321)), np.zeros((241, 321))
    rows[:: 2 * STEP] = np.arange(7)[:, None]
    columns[:, :: 2 * STEP] = 10 + np.arange(9)
    folder = tmp_path / "contours"
    folder.mkdir()
    for path in [*(scenes / "with").iterdir(), *(scenes / "without").iterdir()]:
        savemat(folder / f"{path.stem}.mat", {"ucm2": np.maximum(rows, columns)})
    return folder


def annotate_quick(scenes, out, folder, **changes):
    return annotate(scenes / "with", scenes / "without", out, replace(QUICK, **changes), segments=folder, n_jobs=1)


def test_contour_maps_are_cut_and_keep_their_tree(scenes, contours, tmp_path):
    run = annotate_quick(scenes, tmp_path / "run", contours)
    assert {bag.n_segments for bag in run.bags} == {12}
    segments = run.read_segments(0)
    assert segments["labels"].shape == (60, 80)
    # All eight columns and the strongest rows are left; the last merge is over the strongest column inside.
    assert segments["altitudes"].max() == 17
    assert segment_by_map(contours / "with-000.mat", np.zeros((60, 80, 3), np.uint8), 100).labels.max() + 1 == 6 * 8


def test_other_maps_are_other_segments_and_images_without_are_left_out(scenes, contours, tmp_path):
    first = annotate_quick(scenes, tmp_path / "run", contours).bags[0].segments
    for path in contours.iterdir():
        savemat(path, {"ucm2": np.zeros((241, 321))})
    (contours / "with-001.mat").unlink()
    savemat(contours / "with-002.mat", {"ucm2": np.zeros((321, 241))})
    run = annotate_quick(scenes, tmp_path / "run", contours)
    assert run.bags[0].segments != first
    assert {bag.n_segments for bag in run.bags} == {1}
    reasons = {problem.name: problem.reason for problem in run.record.problems}
    assert "expected with-001 with" in reasons["with/with-001.png"]
    assert "cannot be of an image" in reasons["with/with-002.png"]
    assert len(run.bags) == 10


@pytest.mark.parametrize(("voter", "has_lengths"), [("cam", True), ("sskde", False)])
def test_voters_see_lengths_only_if_they_want_them(scenes, tmp_path, voter, has_lengths):
    settings = replace(QUICK, voter=voter, voter_options={})
    run = annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=1)
    opened = reopen(run)
    assert opened.standardiser.has_lengths == has_lengths
    np.testing.assert_allclose(run.votes["votes"], vote(opened).selection.unsmoothed, rtol=1e-5, atol=1e-6)
