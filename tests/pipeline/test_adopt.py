"""Corrections belong to the picture: they stay when its file is saved again, renamed, or gone for a while."""

import contextlib
import shutil

import numpy as np
import pytest
from PIL import Image

import segvote
from segvote.io.encodings.rle import encode_rle
from segvote.run.correction_log import Action, CorrectionLog
from segvote.settings import Settings

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})


@pytest.fixture
def cleared(own_run):
    """A run on images that a test may change; the first image was painted as background."""
    run = own_run
    assert run.read_mask(0).any()
    bag = run.bags[0]
    everything = str(encode_rle(np.ones((bag.height, bag.width), bool))["counts"])
    with contextlib.closing(CorrectionLog(run.folder.corrections_path)) as log:
        log.append(
            Action("paint", bag.digest, bag.name, 0, bag.height, bag.width, everything),
            Action("accept", bag.digest, bag.name, 1),
        )
    return run


def save_again(path, target=None):
    """Other bytes, the same pixels."""
    with Image.open(path) as image:
        image.load()
    image.save(target or path, compress_level=1)


def test_a_file_saved_again_keeps_its_corrections(cleared):
    save_again(cleared.find_image(0))
    run = segvote.update(cleared.folder.path, n_jobs=1)
    assert run.bags[0].digest != cleared.bags[0].digest
    assert not run.read_mask(0).any() and not run.record.problems


def test_a_renamed_file_saved_again_keeps_its_corrections(cleared):
    path = cleared.find_image(0)
    save_again(path, path.with_name("with-999.png"))
    path.unlink()
    run = segvote.update(cleared.folder.path, n_jobs=1)
    assert not run.read_mask(run.find("with/with-999.png")).any() and not run.record.problems


def test_corrections_of_a_picture_that_is_gone_are_listed(cleared, tmp_path):
    path = cleared.find_image(0)
    shutil.move(path, tmp_path / "kept.png")
    run = segvote.update(cleared.folder.path, n_jobs=1)
    (problem,) = run.record.problems
    assert problem.name == "with/with-000.png" and "2 corrections are kept" in problem.reason
    shutil.move(tmp_path / "kept.png", path)
    again = segvote.update(cleared.folder.path, n_jobs=1)
    assert not again.read_mask(0).any() and not again.record.problems


def test_corrections_of_a_turned_picture_are_not_applied(cleared):
    path = cleared.find_image(0)
    with Image.open(path) as image:
        turned = image.rotate(90, expand=True)
    turned.save(path)
    run = segvote.update(cleared.folder.path, n_jobs=1)
    assert [problem.name for problem in run.record.problems] == ["with/with-000.png"]


def test_undo_after_a_file_was_saved_again_takes_back_one(cleared):
    save_again(cleared.find_image(0))
    segvote.update(cleared.folder.path, n_jobs=1)
    with contextlib.closing(CorrectionLog(cleared.folder.corrections_path)) as log:
        log.append(Action("undo"))
    assert segvote.load_run(cleared.folder.path).read_mask(0).any()


def test_a_file_put_back_keeps_its_corrections(cleared):
    path = cleared.find_image(0)
    content = path.read_bytes()
    save_again(path)
    segvote.update(cleared.folder.path, n_jobs=1)
    path.write_bytes(content)
    assert not segvote.update(cleared.folder.path, n_jobs=1).read_mask(0).any()


def test_a_class_keeps_corrections_of_a_file_saved_again(scenes, tmp_path):
    root = tmp_path / "root"
    shutil.copytree(scenes / "with", root / "cup")
    shutil.copytree(scenes / "without", root / "none")
    runs = segvote.annotate_classes(root, tmp_path / "classes", QUICK, n_jobs=1)
    bag = runs.runs["cup"].bags[0]
    everything = str(encode_rle(np.ones((bag.height, bag.width), bool))["counts"])
    with contextlib.closing(CorrectionLog(runs.runs["cup"].folder.corrections_path)) as log:
        log.append(Action("paint", bag.digest, bag.name, 0, bag.height, bag.width, everything))
    save_again(root / runs.images[0].name)
    assert not segvote.annotate_classes(root, tmp_path / "classes", QUICK, n_jobs=1).read_mask(0).any()
