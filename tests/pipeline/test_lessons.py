"""The estimate of the other images from finished ones."""

from contextlib import closing

import numpy as np
import pytest
from scipy.stats import t

from segvote.io.encodings.rle import encode_rle
from segvote.method.left_out import MOST_LEFT_OUT, choose_left_out, find_interval, predict_left_out
from segvote.method.teach import teach
from segvote.pipeline.corrected_vote import vote
from segvote.pipeline.lessons import LeftOutImages, estimate_others
from segvote.pipeline.opening import reopen
from segvote.pipeline.update import update_run
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.corrections import replay
from segvote.run.estimate import ExpectedIoU, format_estimate, format_lesson
from segvote.run.run import Run


def finish(run, bags, audited=()):
    """Accept the masks of a run as they are."""
    with closing(CorrectionLog(run.folder.corrections_path)) as log:
        for bag in audited:
            log.append(Action("audit", run.bags[bag].digest, run.bags[bag].name, 1))
        for bag in bags:
            mask = run.read_mask(bag)
            counts = str(encode_rle(mask)["counts"])
            log.append(Action("accept", run.bags[bag].digest, run.bags[bag].name, 1, *mask.shape, counts))


def test_a_left_out_image_is_predicted_by_the_plain_formula(run_copy):
    run = Run(run_copy)
    finish(run, [0, 1, 2])
    lesson = vote(reopen(run)).taught.lesson
    own = lesson.before.table.images == 1
    areas, shares = lesson.before.table.areas[own], lesson.finished[own]
    taught = teach(lesson.before, np.where(own, np.nan, lesson.finished)).selection.selected[own]
    common, either = (areas * shares * taught).sum(), (areas * (shares + (1 - shares) * taught)).sum()
    assert predict_left_out(lesson.before, lesson.finished, 1)[1] == pytest.approx(common / either)


@pytest.mark.parametrize("n_images", [3, 6])
def test_the_interval_is_that_of_student(n_images):
    values = np.random.default_rng(0).uniform(0.6, 0.9, n_images)
    expected = t.interval(0.9, n_images - 1, values.mean(), values.std(ddof=1) / np.sqrt(n_images))
    assert find_interval(values) == pytest.approx(expected)


def test_the_interval_stays_between_zero_and_one():
    assert find_interval(np.array([0.0, 1.0, 0.5])) == (0.0, 1.0)


def test_at_most_eight_images_are_left_out(run_copy):
    table = reopen(Run(run_copy)).table
    finished = np.where(table.is_candidate, 0.5, np.nan)
    n_with = int(table.positive.sum())
    assert len(choose_left_out(table, finished)) == min(n_with, MOST_LEFT_OUT)
    assert len(choose_left_out(table, np.where(table.images == 0, 0.5, np.nan))) == 0


def test_without_finished_images_nothing_is_estimated(run_copy):
    assert estimate_others(vote(reopen(Run(run_copy)))) is None


def test_an_update_stores_the_estimate(run_copy):
    finish(Run(run_copy), [0, 1, 2, 3])
    run = update_run(run_copy)
    found = run.record.estimate
    assert (found.n_finished, found.n_left_out, found.random) == (4, 4, False)
    assert found.low <= found.after <= found.high
    assert "4 finished images that you picked" in run.format_estimate()


def test_audited_images_make_the_estimate_random(run_copy):
    run = Run(run_copy)
    finish(run, [0, 1, 2, 3], audited=[1, 2, 3])
    found = estimate_others(vote(reopen(run)))
    assert (found.n_finished, found.n_left_out, found.random) == (4, 3, True)


def test_each_image_is_predicted_once_until_one_changes(run_copy):
    run = Run(run_copy)
    finish(run, [0, 1])
    run_vote, left_out = vote(reopen(run)), LeftOutImages()
    for image in left_out.list_unknown(run_vote):
        left_out.predict(run_vote, image)
    assert list(left_out.list_unknown(run_vote)) == []
    finish(run, [2])
    assert list(left_out.list_unknown(vote(reopen(run)))) == [0, 1, 2]


def test_undo_takes_an_audit_back():
    drawn = [Action("audit", "a" * 64, "with/a.png", 1, number=1), Action("audit", "b" * 64, "b", 1, number=2)]
    assert replay(drawn).audited == ("a" * 64, "b" * 64)
    assert replay([*drawn, Action("undo", number=3)]).audited == ("a" * 64,)


def test_the_lines_say_what_is_known():
    assert format_lesson(ExpectedIoU(1)).startswith("1 finished image: applied to all")
    assert format_lesson(ExpectedIoU(2)) == "2 finished images: applied to all."  # not predicted yet
    two = ExpectedIoU(2, 2, 0.38, 0.58)
    assert format_lesson(two) == (
        "2 finished images: left out, they are predicted with IoU .58, before .38. Applied to all."
    )
    six = ExpectedIoU(6, 6, 0.6, 0.74, 0.66, 0.81, random=True)
    assert format_estimate(six) == (
        "expected IoU of the other images .74 (.66 to .81, 6 finished images drawn at random)"
    )
