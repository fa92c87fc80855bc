"""Pictures that changed or vanished since they were segmented are named; the other masks are written."""

import contextlib

import numpy as np
import pytest
from PIL import Image

from segvote.io.encodings.rle import encode_rle
from segvote.io.imports import read_any
from segvote.pipeline.corrected_vote import vote
from segvote.pipeline.opening import reopen
from segvote.review.finishing import export_run
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.run import Run


def click(run, bag):
    labels = run.read_segments(bag)["labels"]
    record, pixels = run.bags[bag], labels == 0
    with contextlib.closing(CorrectionLog(run.folder.corrections_path)) as log:
        log.append(Action("set", record.digest, record.name, 1, *labels.shape, str(encode_rle(pixels)["counts"])))


def resize(path):
    with Image.open(path) as image:
        smaller = image.resize((40, 30))
    smaller.save(path)


def spoil(path):
    path.write_bytes(b"no picture")


@pytest.mark.parametrize("change", [resize, spoil, lambda path: path.unlink()])
def test_a_changed_picture_is_named_and_others_are_written(own_run, change):
    click(own_run, 0)
    click(own_run, 1)
    old = own_run.read_mask(1)
    change(own_run.find_image(1))
    written = export_run(vote(reopen(Run(own_run.folder.path))))
    assert written.record.complete
    assert [problem.name for problem in written.record.problems] == [own_run.bags[1].name]
    assert "previous mask is kept" in written.record.problems[0].reason
    assert written.read_mask(0)[own_run.read_segments(0)["labels"] == 0].all()
    np.testing.assert_array_equal(written.read_mask(1), old)
    assert written.bags[1].area == round(float(old.mean()), 6)
    (listed,) = [one for one in read_any(written.folder.coco_path) if one.name == own_run.bags[1].name]
    np.testing.assert_array_equal(listed.parts[0].mask, old)


def test_a_picture_that_came_back_is_no_problem_any_more(own_run):
    path = own_run.find_image(1)
    content = path.read_bytes()
    path.unlink()
    click(own_run, 1)
    assert export_run(vote(reopen(own_run))).record.problems
    path.write_bytes(content)
    written = export_run(vote(reopen(Run(own_run.folder.path))))
    assert not written.record.problems and written.read_mask(1)[own_run.read_segments(1)["labels"] == 0].all()
