"""Runs on TIFF stacks, and files that are skipped, on files made here."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
import tifffile

from segvote import annotate, export, predict
from segvote.errors import BadInputError, UnknownNameError
from segvote.inputs.bags import list_bags
from segvote.io.images import read_image
from segvote.pipeline.opening import reopen
from segvote.run.run import Run
from segvote.settings import Settings

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})
ALL = replace(QUICK, pages="all")


@pytest.fixture(scope="module")
def stacks(scenes, tmp_path_factory):
    """The scenes as one colour stack for each folder."""
    folder = tmp_path_factory.mktemp("stacks")
    for name in ("with", "without"):
        (folder / name).mkdir()
        pages = np.stack([read_image(path) for path in sorted((scenes / name).iterdir())])
        tifffile.imwrite(folder / name / "stack.tif", pages, photometric="rgb")
    return folder


@pytest.fixture(scope="module")
def stack_run(stacks, tmp_path_factory):
    return annotate(stacks / "with", stacks / "without", tmp_path_factory.mktemp("out") / "run", ALL, n_jobs=1)


def test_every_page_is_an_image_and_equals_a_run_on_single_files(stack_run, finished_run):
    assert [bag.name for bag in stack_run.bags[:2]] == ["with/stack[0].tif", "with/stack[1].tif"]
    for index in range(len(finished_run)):
        np.testing.assert_array_equal(stack_run.read_image(index), finished_run.read_image(index))
        np.testing.assert_array_equal(stack_run.read_mask(index), finished_run.read_mask(index))


def test_masks_come_back_in_the_shape_of_the_stack(stack_run):
    masks = tifffile.imread(stack_run.folder.path / "stacks/with/stack.tif")
    assert masks.shape == (6, 120, 160)
    assert masks.dtype == np.uint8
    for index in range(6):
        np.testing.assert_array_equal(masks[index] == 255, stack_run.read_mask(index))
    assert not tifffile.imread(stack_run.folder.path / "stacks/without/stack.tif").any()


def test_pages_are_exported_reopened_and_predicted(stacks, stack_run, tmp_path):
    export(stack_run, "yolo", tmp_path / "yolo", images="copy")
    copies = sorted(path for path in (tmp_path / "yolo").rglob("*.tif"))
    assert len(copies) == len(reopen(Run(stack_run.folder.path)).bags) == 12
    pictures = {read_image(path).tobytes() for path in copies}
    assert pictures == {stack_run.read_image(index).tobytes() for index in range(len(stack_run))}
    found = predict(stack_run.folder.path, stacks / "with", tmp_path / "predicted", n_jobs=1)
    assert [one.name for one in found.images] == [f"stack[{number}].tif" for number in range(6)]
    assert tifffile.imread(tmp_path / "predicted/stacks/stack.tif").shape == (6, 120, 160)


def test_what_is_not_read_is_said_once(stacks, scenes, tmp_path):
    """Of a stack all pages but the first, by default; and formats that are skipped, with their count."""
    folders = [shutil.copytree(scenes / name, tmp_path / name) for name in ("with", "without")]
    shutil.copy(stacks / "with/stack.tif", folders[0] / "stack.tif")
    (folders[0] / "with-000.png").unlink()
    for name in ("a.cr2", "b.CR2"):
        (folders[0] / name).write_bytes(b"raw")
    run = annotate(*folders, tmp_path / "out", QUICK, n_jobs=1)
    stack, raw = run.record.problems
    assert stack.name == "with/stack.tif"
    assert "only the first of 6 pages was read; --pages all" in stack.reason
    assert raw.reason.endswith("2 camera RAW files skipped; convert them to TIFF or JPEG")
    assert len(run) == 12 and not (tmp_path / "out/stacks").exists()
    assert annotate(*folders, tmp_path / "out", QUICK, n_jobs=1).record.problems == run.record.problems


def test_pages_and_window_decide_the_result_and_its_key(stacks):
    views = [{}, {"window": "percentile"}, {"pages": "all"}]
    listed = (list_bags(stacks / "with", stacks / "without", replace(QUICK, **view)) for view in views)
    assert len({bag.digest for bags in listed for bag in bags}) == 2 + 2 + 12


@pytest.mark.parametrize("wrong", [{"pages": "last"}, {"window": "wide"}])
def test_a_wrong_choice_is_refused_before_anything_is_read(stacks, wrong):
    with pytest.raises(UnknownNameError, match=next(iter(wrong))):
        list_bags(stacks / "with", stacks / "without", replace(QUICK, **wrong))


def test_no_images_says_what_was_found_instead(scenes, tmp_path):
    (tmp_path / "with").mkdir()
    for name in ("a.txt", "b.txt", "c.dng"):
        (tmp_path / "with" / name).write_text("x")
    with pytest.raises(BadInputError, match=r"no images in .*: found 2 \.txt, 1 \.dng; 1 camera RAW file skipped"):
        list_bags(tmp_path / "with", scenes / "without")
