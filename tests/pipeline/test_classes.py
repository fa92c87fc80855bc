"""Several classes in one call: shared work, index masks, images that show two things."""

import json
import os
import shutil
import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from segvote import annotate, annotate_classes, evaluate, export, predict
from segvote.datasets import make_scenes, write_scenes
from segvote.errors import BadInputError, UnreadableImageError
from segvote.features.histograms import ColorFeatures
from segvote.inputs.classes import list_class_images
from segvote.integrations import open_predictors
from segvote.io.encodings.rle import encode_rle
from segvote.io.exports.index_pictures import make_voc_palette
from segvote.pipeline.classes import join_masks
from segvote.run.classes import ClassRuns
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.run import Run
from segvote.settings import Settings

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})


def tint(path):
    """The same scene with red and blue exchanged: another thing, another ground."""
    with Image.open(path) as picture:
        pixels = np.asarray(picture.convert("RGB"))[:, :, ::-1]
    Image.fromarray(np.ascontiguousarray(pixels)).save(path)


@pytest.fixture(scope="session")
def class_root(tmp_path_factory):
    """``blue`` and ``red`` things, and ``none``; ``masks`` beside it."""
    folder = tmp_path_factory.mktemp("classes")
    write_scenes(folder / "a", make_scenes(n_with=4, n_without=2, size=(160, 120), object_area=(0.08, 0.16), seed=1))
    write_scenes(folder / "b", make_scenes(n_with=4, n_without=2, size=(160, 120), object_area=(0.08, 0.16), seed=2))
    for path in [*(folder / "b/with").iterdir(), *(folder / "b/without").iterdir()]:
        tint(path)
    root = folder / "root"
    shutil.copytree(folder / "a/with", root / "red")
    shutil.copytree(folder / "b/with", root / "blue/deep")
    (root / "none").mkdir()
    for source in "ab":
        for path in (folder / source / "without").iterdir():
            shutil.copy(path, root / "none" / f"{source}-{path.name}")
    return root


@pytest.fixture(scope="session")
def class_runs(class_root, tmp_path_factory):
    """A finished quick run on the classes; only for reading."""
    return annotate_classes(class_root, tmp_path_factory.mktemp("classed") / "run", QUICK, n_jobs=1)


@pytest.fixture
def own_root(class_root, tmp_path):
    return shutil.copytree(class_root, tmp_path / "root")


@pytest.fixture
def runs_copy(class_runs, tmp_path):
    return shutil.copytree(class_runs.folder.path, tmp_path / "run")


def test_each_image_is_found_in_its_class_and_in_no_other(class_runs, class_root):
    assert class_runs.names == ("blue", "red")
    assert len(class_runs) == 12
    for index, image in enumerate(class_runs.images):
        numbers = set(np.unique(class_runs.read_mask(index))) - {0}
        assert numbers == {class_runs.names.index(name) + 1 for name in image.classes}
        assert list(image.areas) == image.classes == list(image.scores)
    with Image.open(class_runs.folder.mask_path(class_runs.images[0].stem)) as picture:
        assert picture.mode == "P"
        assert picture.getpalette()[:9] == make_voc_palette()[:3].ravel().tolist()
    for letter, name in (("a", "red"), ("b", "blue")):
        found = evaluate(class_runs.runs[name], class_root.parent / letter / "masks").to_dict()
        assert found["n_images"] == 4 and found["miou"] > 0.4


def test_a_class_gets_the_masks_that_annotate_gives_it(class_runs, class_root, tmp_path):
    """The same images in two folders; only sums are taken in another order."""
    shutil.copytree(class_root / "blue", tmp_path / "without/blue")
    shutil.copytree(class_root / "none", tmp_path / "without/none")
    alone = annotate(class_root / "red", tmp_path / "without", tmp_path / "out", QUICK, n_jobs=1)
    together = class_runs.runs["red"]
    for index, bag in enumerate(alone.bags):
        other = together.find(bag.name)
        weights = [run.votes["weights"][run.get_slice(i)] for run, i in ((alone, index), (together, other))]
        np.testing.assert_allclose(*weights, atol=1e-5)
        np.testing.assert_array_equal(alone.read_mask(index), together.read_mask(other))


def test_segments_and_features_are_computed_and_stored_once(class_runs):
    folder = class_runs.folder.path
    for kind, n_files in (("segments", 12 + 8), ("features", 12)):  # and the pieces of those that get a mask
        shared = {path.name: path for path in (folder / kind).iterdir()}
        assert len(shared) == n_files
        for name in class_runs.names:
            own = {path.name: path for path in (folder / "classes" / name / kind).iterdir()}
            assert own.keys() == shared.keys()
            assert all(os.path.samefile(own[key], shared[key]) for key in own)


def test_a_repeated_call_does_nothing_twice(class_root, runs_copy, monkeypatch):
    before = {path: path.stat().st_mtime_ns for path in runs_copy.rglob("*") if path.is_file()}
    monkeypatch.setattr(ColorFeatures, "extract", None)
    monkeypatch.setattr(sys.modules["segvote.pipeline.classes"], "hold_vote", None)
    annotate_classes(class_root, runs_copy, QUICK, n_jobs=1)
    after = {path: path.stat().st_mtime_ns for path in runs_copy.rglob("*") if path.is_file()}
    assert {path.name for path in after if after[path] != before.get(path)} <= {"log.jsonl", ".lock"}


def test_jobs_and_copies_in_place_of_links_change_no_byte(class_root, class_runs, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", lambda *paths: (_ for _ in ()).throw(OSError("no links here")))
    other = annotate_classes(class_root, tmp_path / "run", QUICK, n_jobs=2)
    for path in class_runs.folder.path.rglob("*"):
        if path.is_file() and path.name not in ("log.jsonl", ".lock", "report.html"):
            assert (other.folder.path / path.relative_to(class_runs.folder.path)).read_bytes() == path.read_bytes()


def test_an_image_of_two_classes_is_one_image_and_no_negative(own_root, tmp_path):
    shutil.copy(sorted((own_root / "red").iterdir())[0], own_root / "blue/shared.png")
    runs = annotate_classes(own_root, tmp_path / "run", QUICK, n_jobs=1)
    (index,) = [number for number, image in enumerate(runs.images) if len(image.classes) == 2]
    assert len(runs) == 12
    assert runs.images[index].name == "blue/shared.png"
    assert [runs.runs[name].bags[index].bag_label for name in runs.names] == ["with", "with"]
    assert runs.runs["red"].find_source(index).parent == own_root / "red"
    (annotation,) = [one for one in runs.list_annotations() if one.name == "blue/shared.png"]
    assert [part.label for part in annotation.parts] == ["blue", "red"]
    union = annotation.parts[0].mask | annotation.parts[1].mask
    np.testing.assert_array_equal(runs.read_mask(index) > 0, union)
    # An image that went leaves no mask behind, in its own class or another.
    sorted((own_root / "blue/deep").iterdir())[0].unlink()
    again = annotate_classes(own_root, tmp_path / "run", QUICK, n_jobs=1)
    for one, bags in ((again, again.images), (again.runs["red"], again.runs["red"].bags)):
        masks = one.folder.path / "masks"
        assert {path.relative_to(masks).as_posix() for path in masks.rglob("*.png")} == {f"{b.stem}.png" for b in bags}
    assert len(again) == 11


def test_where_masks_overlap_the_surer_class_wins():
    masks = np.array([[[1, 1, 0, 1]], [[0, 1, 1, 1]]], dtype=bool)
    sureness = np.array([[[0.9, 0.9, 0.9, 0.5]], [[0.5, 0.5, 0.5, 0.5]]])
    np.testing.assert_array_equal(join_masks(masks, sureness, [1, 3]), [[1, 1, 3, 1]])
    np.testing.assert_array_equal(join_masks(masks & False, sureness, [1, 3]), [[0, 0, 0, 0]])


def test_the_run_of_a_class_predicts(class_runs, class_root, tmp_path):
    found = predict(
        class_runs.folder.path / "classes/red", class_root, tmp_path / "new", false_positive_rate=0.3, n_jobs=1
    )
    called = {one.name.split("/")[0] for one in found.images if one.contains}
    assert "red" in called
    assert list(open_predictors(class_runs.folder.path, 0.3)) == ["blue", "red"]
    with pytest.raises(BadInputError, match="classes/NAME"):
        predict(class_runs.folder.path, class_root, tmp_path / "other")


def test_pixels_painted_in_one_class_are_exact_in_the_index_mask(class_root, runs_copy):
    """Painted red on an image of blue, half of it over the blue object: red wins what was painted."""
    found = ClassRuns(runs_copy)
    index = next(number for number, image in enumerate(found.images) if image.classes == ["blue"])
    red, numbers = Run(runs_copy / "classes/red"), {name: n for n, name in enumerate(found.names, 1)}
    blue = Run(runs_copy / "classes/blue").read_mask(index)
    row, column = np.argwhere(blue).mean(axis=0).astype(int)
    painted = np.zeros(blue.shape, dtype=bool)
    painted[row - 3 : row + 4, max(0, column - 40) : column] = True
    record = red.bags[index]
    with closing(CorrectionLog(red.folder.corrections_path)) as log:
        log.append(Action("paint", record.digest, record.name, 1, *painted.shape, str(encode_rle(painted)["counts"])))
    again = annotate_classes(class_root, runs_copy, QUICK, n_jobs=1)
    mask = again.read_mask(index)
    assert (mask[painted] == numbers["red"]).all()
    assert (mask[blue & ~painted] == numbers["blue"]).any()


def test_unreadable_images_and_copies_are_left_out_and_reported(own_root, tmp_path):
    shutil.copy(sorted((own_root / "red").iterdir())[0], own_root / "red/zcopy.png")
    (own_root / "red/broken.png").write_bytes(b"no picture")
    runs = annotate_classes(own_root, tmp_path / "run", replace(QUICK, voter="negmin", voter_options={}), n_jobs=1)
    assert len(runs) == 12
    assert [one.name for one in runs.record.problems] == ["red/broken.png", "red/zcopy.png"]
    with pytest.raises(UnreadableImageError, match="--strict"):
        annotate_classes(own_root, tmp_path / "strict", QUICK, n_jobs=1, strict=True)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda root: shutil.copy(next((root / "red").iterdir()), root / "none/x.png"), "are the same image"),
        (lambda root: shutil.copy(next((root / "red").iterdir()), root / "x.png"), "lies in"),
        (lambda root: [shutil.rmtree(root / name) for name in ("red", "none")], "two class folders"),
        (lambda root: [shutil.rmtree(root / name) for name in ("red", "blue")], "two class folders"),
        (lambda root: (root / "green").mkdir(), "no images in"),
    ],
)
def test_folders_that_make_no_sense_are_refused(own_root, change, message):
    change(own_root)
    with pytest.raises(BadInputError, match=message):
        list_class_images(own_root)


def test_a_folder_that_is_missing_or_someone_elses_is_refused(
    class_root, class_runs, runs_copy, finished_run, tmp_path
):
    with pytest.raises(BadInputError, match="one folder for each class"):
        annotate_classes(tmp_path / "nothing", tmp_path / "out", QUICK)
    with pytest.raises(BadInputError, match="holds no run on classes"):
        annotate_classes(class_root, finished_run.folder.path, QUICK)
    with pytest.raises(BadInputError, match="other classes"):
        annotate_classes(shutil.copytree(class_root, tmp_path / "other"), runs_copy, QUICK)
    with pytest.raises(BadInputError, match=r"no classes\.json"):
        ClassRuns(finished_run.folder.path)
    path = runs_copy / "classes.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "complete": False}))
    with pytest.raises(BadInputError, match="not finished"):
        ClassRuns(runs_copy)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_all_classes_are_exported_together(class_runs, tmp_path):
    from pycocotools.coco import COCO

    written = export(class_runs.folder.path, "coco", tmp_path / "coco", val_share=0)
    judge = COCO(written)
    assert [one["name"] for one in judge.loadCats(judge.getCatIds())] == ["blue", "red"]
    for number, image in enumerate(class_runs.images, start=1):
        mask = np.zeros((image.height, image.width), np.uint8)
        for one in judge.loadAnns(judge.getAnnIds([number])):
            mask[judge.annToMask(one) == 1] = one["category_id"]
        np.testing.assert_array_equal(mask, class_runs.read_mask(number - 1))
    with pytest.raises(BadInputError, match="without label"):
        export(class_runs, "coco", tmp_path / "named", label="cow")
    voc = export(class_runs, "voc", tmp_path / "voc")
    flat = class_runs.images[0].stem.rsplit("/", 1)[-1]
    with Image.open(voc / "SegmentationClass" / f"{flat}.png") as picture:
        np.testing.assert_array_equal(np.asarray(picture), class_runs.read_mask(0))


def test_videos_have_an_index_mask_for_every_frame(class_root, tmp_path):
    root = shutil.copytree(class_root, tmp_path / "root")
    with Image.open(sorted((root / "red").iterdir())[0]) as opened:
        picture = opened.convert("RGB")
    for name in ("red", "blue"):
        film = root / name / "film"
        film.mkdir()
        for number in range(8):  # the object is of both classes, in a film of their own each
            shifted = np.roll(np.asarray(picture), number * 2, axis=1).copy()
            shifted[0, 0] = 1 if name == "red" else 2
            Image.fromarray(shifted).save(film / f"{number:04d}.png")
    runs = annotate_classes(root, tmp_path / "run", replace(QUICK, frames="auto"), n_jobs=1)
    (index,) = [number for number, one in enumerate(runs.images) if one.name == "red/film"]
    assert runs.images[index].n_frames == 8
    assert runs.runs["red"].read_image(index).shape == (120, 160, 3)  # its poster
    masks = sorted((runs.folder.path / "masks/red/film").iterdir())
    assert [path.name for path in masks] == [f"{number:04d}.png" for number in range(8)]
    assert runs.read_mask(index).any()
    frames = [one for one in runs.list_annotations() if one.name.startswith("red/film/")]
    assert [one.name for one in frames] == [f"red/film/{number:04d}.png" for number in range(8)]
    assert {one.properties["video"] for one in frames} == {"red/film"}
    for path, frame in zip(masks, frames, strict=True):
        with Image.open(path) as picture:
            np.testing.assert_array_equal(np.asarray(picture) > 0, sum(part.mask for part in frame.parts) > 0)
