import json
import shutil
from contextlib import closing

import numpy as np
import pytest

from segvote import export, import_corrections, update
from segvote.errors import BadInputError
from segvote.io import EXPORTS
from segvote.io.encodings.rle import encode_rle
from segvote.io.exports.base import ExportOptions
from segvote.io.imports import read_any
from segvote.pipeline.strokes import Canvas
from segvote.run.correction_log import Action, CorrectionLog, read_actions
from segvote.run.corrections import read_corrections
from segvote.run.run import Run
from segvote.types import Annotation, Part


def write_file(folder, masks, format_="coco", label="object"):
    annotations = [Annotation(name, *mask.shape, (Part(label, mask),)) for name, mask in masks.items()]
    return EXPORTS[format_](iter(annotations), folder, ExportOptions((label,), images="none", val_share=0))


def draw(run, index, segments):
    """A mask at the displayed size that covers the given segments of a bag; made scenes are not resized."""
    return np.isin(run.read_segments(index)["labels"], segments)


@pytest.mark.parametrize("polygons", [False, True])
@pytest.mark.parametrize("format_", ["coco", "cvat", "labelme", "label-studio"])
def test_an_unchanged_export_corrects_nothing(run_copy, tmp_path, format_, polygons):
    imported = import_corrections(run_copy, export(run_copy, format_, tmp_path / "out", polygons=polygons))
    assert (imported.corrected, imported.problems) == ((), ())
    assert read_actions(run_copy / "review.sqlite") == []


def read_labels(run, bag):
    """User labels of the segments of an image."""
    labels = run.read_segments(bag)["labels"]
    return Canvas(labels.shape, read_corrections(run.folder).strokes[run.bags[bag].digest]).label_segments(labels)


@pytest.mark.parametrize("scale", [1, 2])
def test_a_corrected_mask_labels_every_segment_of_its_image(run_copy, tmp_path, scale):
    """Also a mask of another size than the image."""
    run = Run(run_copy)
    drawn = {run.bags[0].name: np.kron(draw(run, 0, [3, 7]), np.ones((scale, scale), bool))}
    path = write_file(tmp_path, drawn)
    assert import_corrections(run, path).corrected == (run.bags[0].name,)
    labels = read_labels(run, 0)
    assert np.flatnonzero(labels == 1).tolist() == [3, 7] and (labels >= 0).all()
    assert read_corrections(run.folder).accepted == {run.bags[0].digest}
    actions = read_actions(run.folder.corrections_path)
    assert import_corrections(run, path).same == (run.bags[0].name,)  # the second time nothing is written
    assert read_actions(run.folder.corrections_path) == actions


def test_an_image_named_twice_is_taken_once_and_told(run_copy, tmp_path):
    run = Run(run_copy)
    name = run.bags[0].name
    for folder, segments in (("one", [3]), ("other", [7])):
        written = write_file(tmp_path / folder, {name: draw(run, 0, segments)}, "labelme")
    shutil.copytree(tmp_path / "one", tmp_path / "both")
    next(written.rglob("*.json")).rename(tmp_path / "both" / "z.json")
    imported = import_corrections(run, tmp_path / "both")
    assert imported.corrected == (name,)
    assert [problem[0] for problem in imported.problems] == [name] and "join them" in imported.problems[0][1]


def test_an_empty_label_studio_annotation_is_an_empty_mask(run_copy, tmp_path):
    run = Run(run_copy)
    (number, *_) = (number for number, bag in enumerate(run.bags) if run.read_mask(number).any())
    name = run.bags[number].name
    task = {"id": 1, "data": {"image": name}, "annotations": [{"result": []}]}
    (tmp_path / "tasks.json").write_text(json.dumps([task]))
    assert import_corrections(run, tmp_path / "tasks.json").corrected == (name,)
    fixed = read_labels(run, number)
    assert (fixed == 0).all()


def test_unchanged_masks_count_when_confirmed(run_copy, tmp_path):
    run = Run(run_copy)
    imported = import_corrections(run, export(run, "coco", tmp_path / "out"), confirm=True)
    assert len(imported.corrected) == len(run)


def test_images_that_do_not_fit_are_left_out_with_a_reason(run_copy, tmp_path):
    run = Run(run_copy)
    turned = draw(run, 0, [3]).T
    path = write_file(tmp_path, {run.bags[0].name: turned, "elsewhere/stranger.png": turned})
    imported = import_corrections(run, path)
    reasons = dict(imported.problems)
    assert "sides differ" in reasons[run.bags[0].name] and not imported.corrected
    assert all("\n" not in reason for reason in reasons.values())
    assert "no image of the run" in reasons["elsewhere/stranger.png"]


def test_the_class_that_counts_must_be_known(run_copy, tmp_path):
    run = Run(run_copy)
    mask = draw(run, 0, [3])
    single = write_file(tmp_path / "one", {run.bags[0].name: mask}, label="cow")
    assert import_corrections(run, single).corrected
    with pytest.raises(BadInputError, match="no shape is called 'horse'"):
        import_corrections(run, single, label="horse")
    data = json.loads(single.read_text())
    data["categories"].append({"id": 2, "name": "dog"})
    data["annotations"].append({**data["annotations"][0], "id": 2, "category_id": 2})
    single.write_text(json.dumps(data))
    with pytest.raises(BadInputError, match="--label"):
        import_corrections(run, single)


def test_a_file_that_breaks_off_leaves_no_correction(run_copy, tmp_path):
    run = Run(run_copy)
    path = write_file(tmp_path, {bag.name: draw(run, i, [3]) for i, bag in enumerate(run.bags[:2])})
    data = json.loads(path.read_text())
    data["annotations"][1]["segmentation"] = []
    path.write_text(json.dumps(data))
    with pytest.raises(BadInputError):
        import_corrections(run, path)
    assert read_actions(run.folder.corrections_path) == []


@pytest.mark.parametrize("format_", ["coco", "cvat", "labelme", "label-studio"])
def test_a_corrected_mask_is_exact_to_the_pixel(run_copy, tmp_path, format_):
    """Holes, a single pixel and a ragged edge, which no segments have."""
    run = Run(run_copy)
    mask = run.read_mask(0).copy()
    mask[20:60, 30:90] = True
    mask[30:40, 40:60] = mask[50, 70] = False
    mask[5, 5] = True
    mask[60:63, 30:90:2] = True
    path = write_file(tmp_path / "edited", {run.bags[0].name: mask}, format_)
    assert import_corrections(run, path).corrected == (run.bags[0].name,)
    updated = update(run_copy, n_jobs=1)
    np.testing.assert_array_equal(updated.read_mask(0), mask)
    exported = export(updated, format_, tmp_path / "again")
    (found,) = [one for one in read_any(exported) if one.name == run.bags[0].name]
    np.testing.assert_array_equal(np.any([part.mask for part in found.parts], axis=0), mask)
    assert import_corrections(updated, path).corrected == ()
    with closing(CorrectionLog(run.folder.corrections_path)) as log:
        log.append(Action("undo"))
    assert read_corrections(run.folder).strokes == {}  # one undo takes the whole import back


def test_an_import_over_strokes_is_told(run_copy, tmp_path):
    run = Run(run_copy)
    bag, pixels = run.bags[0], draw(run, 0, [3])
    with closing(CorrectionLog(run.folder.corrections_path)) as log:
        counts = str(encode_rle(pixels)["counts"])
        log.append(Action("paint", bag.digest, bag.name, 1, *pixels.shape, counts))
    path = write_file(tmp_path, {one.name: draw(run, i, [7]) for i, one in enumerate(run.bags[:2])})
    imported = import_corrections(run, path)
    assert imported.corrected == (bag.name, run.bags[1].name) and imported.covered == (bag.name,)


def test_imported_masks_finish_with_images_alone(run_copy, tmp_path):
    run = Run(run_copy)
    imported = import_corrections(run, export(run, "coco", tmp_path / "out"), confirm=True)
    finished = read_corrections(run.folder).finished
    assert finished == {bag.digest for bag in run.bags if bag.bag_label == "with"} and len(imported.corrected) == len(
        run
    )
