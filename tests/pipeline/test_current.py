"""Whatever reads the result of a run reads it with all corrections."""

import contextlib
import shutil

import numpy as np
import pytest

import segvote
from segvote.io.encodings.rle import encode_rle
from segvote.io.imports import read_any
from segvote.io.masks import read_mask
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.run import Run
from segvote.settings import Settings


def clear_image(folder, index=0):
    """Paint the whole of an image as background, as a saved action that was not voted on."""
    bag = Run(folder).bags[index]
    everything = str(encode_rle(np.ones((bag.height, bag.width), bool))["counts"])
    with contextlib.closing(CorrectionLog(folder / "review.sqlite")) as log:
        log.append(Action("paint", bag.digest, bag.name, 0, bag.height, bag.width, everything))
    assert Run(folder).read_mask(index).any()
    return bag


def test_an_export_has_clicks_that_were_only_saved(run_copy, tmp_path):
    bag = clear_image(run_copy)
    segvote.export(run_copy, "png", tmp_path / "out")
    assert not read_mask(tmp_path / "out" / f"{bag.stem}.png").any()
    assert not Run(run_copy).read_mask(0).any()


def test_instances_are_those_of_corrected_masks(run_copy, tmp_path):
    bag = clear_image(run_copy)
    found = read_any(segvote.export(run_copy, "coco", tmp_path / "out", instances=True, val_share=0))
    assert not next(one.parts for one in found if one.name == bag.name)


def test_an_unsure_band_is_that_of_corrected_scores(run_copy, tmp_path):
    clear_image(run_copy)
    segvote.export(run_copy, "png", tmp_path / "one", unsure=0.2)
    segvote.update(run_copy, n_jobs=1)
    segvote.export(run_copy, "png", tmp_path / "two", unsure=0.2)
    for path in (tmp_path / "one").rglob("*.png"):
        assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes()


def test_python_reads_corrected_masks(run_copy):
    clear_image(run_copy)
    assert not segvote.load_run(run_copy).images[0].mask.any()


def test_measurements_are_those_of_corrected_masks(run_copy):
    bag = clear_image(run_copy)
    columns = segvote.measure(run_copy)
    assert columns["image"] and bag.name not in columns["image"]
    assert columns == segvote.load_run(run_copy).measure()


def test_an_evaluation_is_that_of_corrected_masks(run_copy, scenes):
    before = segvote.evaluate(run_copy, scenes / "masks")
    clear_image(run_copy)
    after = segvote.evaluate(run_copy, scenes / "masks")
    assert after.images[0].iou == 0 < before.images[0].iou


def test_a_prediction_is_made_by_the_corrected_model(run_copy, scenes, tmp_path):
    for index in range(4):
        clear_image(run_copy, index)
    segvote.predict(run_copy, scenes / "with", tmp_path / "one", n_jobs=1)
    segvote.update(run_copy, n_jobs=1)
    segvote.predict(run_copy, scenes / "with", tmp_path / "two", n_jobs=1)
    assert (tmp_path / "one/predictions.csv").read_bytes() == (tmp_path / "two/predictions.csv").read_bytes()


def test_a_confirmed_import_does_not_paint_over_clicks(run_copy, tmp_path):
    clear_image(run_copy)
    file = segvote.export(run_copy, "coco", tmp_path / "out", val_share=0)
    segvote.import_corrections(run_copy, file, confirm=True)
    assert not segvote.update(run_copy, n_jobs=1).read_mask(0).any()


def test_masks_exported_before_a_click_do_not_come_back(run_copy, tmp_path):
    file = segvote.export(run_copy, "coco", tmp_path / "out", val_share=0)
    bag = clear_image(run_copy)
    for bring_up in (lambda: None, lambda: segvote.load_run(run_copy)):
        bring_up()
        imported = segvote.import_corrections(run_copy, file, confirm=True)
        assert bag.name in [name for name, _ in imported.problems]
    assert not segvote.update(run_copy, n_jobs=1).read_mask(0).any()


def test_an_import_of_a_run_that_went_on_takes_changes_only(run_copy, tmp_path):
    file = segvote.export(run_copy, "coco", tmp_path / "out", val_share=0)
    for index in range(3):
        clear_image(run_copy, index)
    before = segvote.load_run(run_copy)
    assert not segvote.import_corrections(run_copy, file).corrected
    assert segvote.update(run_copy, n_jobs=1).record.key == before.record.key


def test_a_run_that_is_current_is_not_written_again(run_copy):
    clear_image(run_copy)
    segvote.load_run(run_copy)
    times = {path: path.stat().st_mtime_ns for path in run_copy.rglob("*") if path.is_file()}
    segvote.load_run(run_copy)
    assert times == {path: path.stat().st_mtime_ns for path in times}


@pytest.fixture
def class_runs(scenes, tmp_path):
    root = tmp_path / "root"
    shutil.copytree(scenes / "with", root / "cup")
    shutil.copytree(scenes / "without", root / "none")
    quick = Settings(features="color", n_segments=30, size=120)
    return segvote.annotate_classes(root, tmp_path / "classes", quick, n_jobs=1)


def test_an_export_of_classes_has_saved_clicks(class_runs, tmp_path):
    clear_image(class_runs.folder.path / "classes" / "cup")
    found = read_any(segvote.export(class_runs, "coco", tmp_path / "out", val_share=0))
    assert not next(iter(found)).parts
    assert not segvote.run.classes.ClassRuns(class_runs.folder.path).read_mask(0).any()
