"""The election that the pictures take part in: segments are chosen as their redrawn masks have them."""

import numpy as np
import pytest

from segvote import annotate
from segvote.masks import scale_heat
from segvote.run.settings import Settings
from segvote.steps.redrawing import Sketch, redraw_segments
from segvote.steps.reopening import reopen, vote
from segvote.steps.superpixels import draw_mask
from segvote.steps.voting_step import decide_bags, fit_voter

SMALL = Settings(n_segments=40, size=160, features="color", n_superpixels=300)


@pytest.fixture(scope="module")
def opened(scenes, tmp_path_factory):
    out = tmp_path_factory.mktemp("redrawing") / "out"
    return reopen(annotate(scenes / "with", scenes / "without", out, SMALL, n_jobs=1))


def test_a_segment_is_chosen_if_the_redrawn_mask_has_most_of_it(opened):
    run, table = opened.run, opened.table
    record, labels = run.bags[0], run.read_segments(0)["labels"]
    scores = run.votes["scores"][run.get_slice(0)]
    heat = scale_heat(scores, record.threshold, float(run.votes["scores"].min()), float(scores.max()))
    decisions, free = scores > record.threshold, np.full(len(scores), -1, dtype=np.int8)
    chosen = redraw_segments([Sketch(table.pictures[0], heat.astype(np.float32), decisions, SMALL.n_superpixels)])[0]
    image = run.read_image(0)
    mask = draw_mask(image, labels, heat.astype(np.float32), decisions, free, SMALL.n_superpixels)
    # At the working size, which is the label map's.
    rows = np.arange(labels.shape[0]) * image.shape[0] // labels.shape[0]
    columns = np.arange(labels.shape[1]) * image.shape[1] // labels.shape[1]
    small = mask[np.ix_(rows, columns)]
    slow = [small[labels == segment].mean() for segment in range(len(scores))]
    clear = np.abs(np.array(slow) - 0.5) > 0.1
    np.testing.assert_array_equal(chosen[clear], np.array(slow)[clear] > 0.5)


def test_the_last_vote_is_of_segments_that_redrawn_masks_have(opened):
    voter = fit_voter(opened.table, SMALL)
    by_decision = fit_voter(opened.table, Settings(**{**SMALL.to_dict(), "n_superpixels": 0}))
    assert voter._elected is not None
    assert not np.array_equal(voter._elected, by_decision._elected)
    assert not voter._elected[~opened.table.tags[opened.table.bags]].any()
    np.testing.assert_array_equal(decide_bags(opened.table, voter, SMALL).scores, opened.run.votes["scores"])


def test_nobody_is_elected_if_so_wished(opened):
    assert fit_voter(opened.table, Settings(**{**SMALL.to_dict(), "revote": False}))._elected is None


def test_a_finished_run_knows_who_was_elected(opened, monkeypatch):
    monkeypatch.setattr("segvote.steps.voting_step.refine_vote", None)  # nothing is found out again
    again = vote(opened)
    np.testing.assert_array_equal(again.verdict.scores, opened.run.votes["scores"])
    np.testing.assert_array_equal(again.voter.elected_, opened.run.votes["elected"])
