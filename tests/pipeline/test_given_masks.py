"""Masks that a user has for some *with* images."""

import numpy as np
import pytest
from PIL import Image

from segvote import Settings, annotate, update
from segvote.errors import BadInputError
from segvote.io.exports.base import ExportOptions
from segvote.io.exports.coco import write_coco
from segvote.run.correction_log import Action, CorrectionLog, read_actions
from segvote.run.corrections import read_corrections
from segvote.types import Annotation, Part

QUICK = Settings(features="color", n_segments=30, size=120)


@pytest.fixture
def folders(scenes, tmp_path):
    """The two folders, and an empty one for masks."""
    (tmp_path / "few").mkdir()
    return scenes / "with", scenes / "without", tmp_path / "few"


def list_images(folder):
    return sorted(path for path in folder.iterdir() if path.is_file())


def write_mask(few, image, box=(20, 60, 30, 90), size=None):
    """A mask named like an image, with one box of object."""
    with Image.open(image) as picture:
        width, height = size or picture.size
    mask = np.zeros((height, width), np.uint8)
    mask[box[0] : box[1], box[2] : box[3]] = 255
    Image.fromarray(mask).save(few / f"{image.stem}.png")
    return mask == 255


def test_masks_finish_their_images_and_repeating_adds_nothing(folders, tmp_path):
    shown, absent, few = folders
    mask = write_mask(few, list_images(shown)[0])
    run = annotate(shown, absent, tmp_path / "out", QUICK, masks=few, n_jobs=1)
    np.testing.assert_array_equal(run.read_mask(0), mask)
    assert run.record.estimate.n_finished == 1 and not run.record.problems
    actions = read_actions(run.folder.corrections_path)
    assert [action.kind for action in actions] == ["accept"]
    annotate(shown, absent, tmp_path / "out", QUICK, masks=few, n_jobs=1)
    assert read_actions(run.folder.corrections_path) == actions


def test_a_mask_that_was_taken_back_stays_so_when_repeated(folders, tmp_path):
    shown, absent, few = folders
    write_mask(few, list_images(shown)[0])
    run = annotate(shown, absent, tmp_path / "out", QUICK, masks=few, n_jobs=1)
    log = CorrectionLog(run.folder.corrections_path)
    log.append(Action("undo"))
    log.close()
    run = annotate(shown, absent, tmp_path / "out", QUICK, masks=few, n_jobs=1)
    assert not read_corrections(run.folder).finished and run.record.estimate is None


def test_each_mask_that_does_not_fit_has_one_line(folders, tmp_path):
    shown, absent, few = folders
    images = list_images(shown)
    write_mask(few, images[0], box=(0, 0, 0, 0))
    write_mask(few, images[1], size=(60, 200))
    write_mask(few, images[2])
    Image.fromarray(np.full((20, 20), 255, np.uint8)).save(few / "stranger.png")
    (few / f"{images[3].stem}.png").write_bytes(b"no picture")
    run = annotate(shown, absent, tmp_path / "out", QUICK, masks=few, n_jobs=1)
    reasons = {problem.name.removeprefix("masks/"): problem.reason for problem in run.record.problems}
    assert set(reasons) == {images[0].stem, images[1].stem, "stranger", images[3].stem}
    assert "empty" in reasons[images[0].stem] and "sides differ" in reasons[images[1].stem]
    assert "fits no image" in reasons["stranger"]
    assert all("\n" not in reason for reason in reasons.values())
    assert run.record.estimate.n_finished == 1


def test_a_coco_file_gives_masks_too(folders, tmp_path):
    shown, absent, _ = folders
    image = list_images(shown)[0]
    with Image.open(image) as picture:
        mask = np.zeros(picture.size[::-1], bool)
    mask[20:60, 30:90] = True
    annotation = Annotation(image.name, *mask.shape, (Part("object", mask),))
    path = write_coco(iter([annotation]), tmp_path / "coco", ExportOptions(("object",), images="none", val_share=0))
    run = annotate(shown, absent, tmp_path / "out", QUICK, masks=path, n_jobs=1)
    np.testing.assert_array_equal(run.read_mask(0), mask)


def test_absent_masks_are_an_error(folders, tmp_path):
    with pytest.raises(BadInputError, match="check --masks"):
        annotate(*folders[:2], tmp_path / "out", QUICK, masks=tmp_path / "nowhere", n_jobs=1)


def test_an_update_keeps_what_masks_taught(folders, tmp_path):
    shown, absent, few = folders
    for image in list_images(shown)[:2]:
        write_mask(few, image)
    run = annotate(shown, absent, tmp_path / "out", QUICK, masks=few, n_jobs=1)
    before = [run.read_mask(index) for index in range(len(run))]
    again = update(tmp_path / "out", n_jobs=1)
    assert again.record.estimate == run.record.estimate
    np.testing.assert_array_equal(before, [again.read_mask(index) for index in range(len(again))])
