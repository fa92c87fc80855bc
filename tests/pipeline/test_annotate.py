"""The main job, end to end on small scenes."""

import json
import shutil
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from segvote import annotate, evaluate
from segvote.datasets import make_scenes, write_scenes
from segvote.errors import BadInputError, UnknownNameError, UnreadableImageError
from segvote.features.histograms import ColorFeatures
from segvote.inputs.bags import list_bags
from segvote.io.exports.base import ExportOptions
from segvote.io.exports.coco import write_coco_file
from segvote.pipeline.objects import divide_instances
from segvote.pipeline.write import MaskWriter
from segvote.settings import Settings
from segvote.voters import SYSTEMS

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})


def read_outputs(folder):
    """Bytes of every file that must not differ between equal runs."""
    passing = ("log.jsonl", ".lock", "report.html")  # hold times
    kept = [path for path in folder.rglob("*") if path.is_file() and path.name not in passing]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in kept}


def run_quick(scenes, out, settings=QUICK, **options):
    return annotate(scenes / "with", scenes / "without", out, settings, **{"n_jobs": 1, **options})


@pytest.fixture
def own_scenes(scenes, tmp_path):
    """A copy of the scenes that a test may change."""
    return shutil.copytree(scenes, tmp_path / "scenes")


def test_the_run_folder_holds_what_it_promises(finished_run):
    folder = finished_run.folder.path
    for name in ("log.jsonl", "votes/votes.npz", "model/model.safetensors", "report.html"):
        assert (folder / name).is_file()
    assert len(list((folder / "masks").rglob("*.png"))) == len(list((folder / "heatmaps").rglob("*.jpg"))) == 12
    assert not list(folder.rglob(".tmp-*"))
    for index, bag in enumerate(finished_run.bags):
        mask = finished_run.read_mask(index)
        assert mask.shape == (bag.height, bag.width) == finished_run.read_image(index).shape[:2]
        assert mask.any() == (bag.bag_label == "with") == (bag.n_selected > 0)


def test_the_coco_file_is_that_of_the_masks_on_disk(finished_run, tmp_path):
    options = ExportOptions(labels=(finished_run.settings.label,), instances=True)
    write_coco_file(divide_instances(finished_run, finished_run.list_annotations()), tmp_path / "a.json", options)
    assert (tmp_path / "a.json").read_bytes() == finished_run.folder.coco_path.read_bytes()


def test_jobs_and_processes_do_not_change_a_byte(finished_run, scenes, tmp_path, monkeypatch):
    monkeypatch.setattr(MaskWriter, "is_long", lambda writer, task: True)  # masks are written by processes
    other = run_quick(scenes, tmp_path / "other", n_jobs=2)
    assert read_outputs(other.folder.path) == read_outputs(finished_run.folder.path)


def test_a_repeated_run_does_nothing_twice(scenes, run_copy, monkeypatch):
    before = {path: path.stat().st_mtime_ns for path in run_copy.rglob("*") if path.is_file()}
    monkeypatch.setattr(ColorFeatures, "extract", None)
    monkeypatch.setattr(sys.modules["segvote.pipeline.annotate"], "hold_vote", None)
    run_quick(scenes, run_copy)
    after = {path: path.stat().st_mtime_ns for path in run_copy.rglob("*") if path.is_file()}
    assert {path.name for path in after if after[path] != before.get(path)} <= {"log.jsonl", ".lock"}


def test_another_voter_reuses_segments_and_features(scenes, run_copy, monkeypatch):
    monkeypatch.setattr(ColorFeatures, "extract", None)
    run = run_quick(scenes, run_copy, replace(QUICK, voter="negmin", voter_options={}))
    assert run.settings.voter == "negmin"


def test_masks_lie_on_the_planted_object(scenes, tmp_path):
    settings = Settings(n_segments=80, size=200, detail="coarse", voter_options={"n_neighbors": 20})
    run = run_quick(scenes, tmp_path / "run", settings)
    assert evaluate(run, scenes / "masks").to_dict()["corloc"] >= 0.8


def test_an_unreadable_image_is_named_and_does_not_stop_the_rest(own_scenes, tmp_path):
    (own_scenes / "with" / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\nrubbish")
    run = run_quick(own_scenes, tmp_path / "run")
    assert [problem.name for problem in run.record.problems] == ["with/broken.png"]
    assert len(run) == 12
    with pytest.raises(UnreadableImageError, match=r"broken\.png"):
        run_quick(own_scenes, tmp_path / "strict", strict=True)


def test_masks_have_the_displayed_size_of_rotated_images(own_scenes, tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    source = next((own_scenes / "with").iterdir())
    picture = Image.open(source).rotate(90, expand=True)
    picture.save(own_scenes / "with" / "turned.jpg", exif=exif, quality=95)
    run = run_quick(own_scenes, tmp_path / "run")
    assert run.read_mask(run.find("turned.jpg")).shape == (120, 160)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: shutil.rmtree(s / "with") or (s / "with").mkdir(), "no images"),
        (lambda s: shutil.rmtree(s / "with"), "expected a folder"),
        (lambda s: shutil.rmtree(s / "with") or (s / "with").symlink_to(s / "without"), "same folder"),
        (lambda s: shutil.copy(next((s / "with").iterdir()), s / "without" / "again.png"), "same image"),
    ],
)
def test_bad_folders_are_refused_before_writing(own_scenes, tmp_path, change, message):
    change(own_scenes)
    with pytest.raises(BadInputError, match=message):
        run_quick(own_scenes, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_of_something_else_is_refused(own_scenes, run_copy, tmp_path):
    before = read_outputs(run_copy)
    with pytest.raises(BadInputError, match="belongs to a run"):
        run_quick(own_scenes, run_copy)
    assert read_outputs(run_copy) == before
    (tmp_path / "letters.txt").write_text("mine")
    with pytest.raises(BadInputError, match="not empty and not a run folder"):
        run_quick(own_scenes, tmp_path)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        *(({name: "unknown"}, "the known ones are") for name in ("voter", "features", "segmenter", "decision")),
        ({"voter": "crane", "unsure": True}, "expected --voter ekde with --unsure, got crane"),
        ({"finish": True}, "expected a voter with --finish"),
    ],
)
def test_wrong_names_are_refused_before_any_work(scenes, tmp_path, choice, message):
    with pytest.raises((BadInputError, UnknownNameError), match=message):
        run_quick(scenes, tmp_path / "out", replace(QUICK, voter_options={}, **choice))
    assert not (tmp_path / "out").exists()


def test_a_folder_taken_meanwhile_is_refused(own_scenes, run_copy, tmp_path, monkeypatch):
    """Two commands, one new folder: the second looked before the first was there."""

    def list_meanwhile(*arguments):
        run_copy.rename(tmp_path / "out")
        return list_bags(*arguments)

    monkeypatch.setattr("segvote.pipeline.annotate.list_bags", list_meanwhile)
    with pytest.raises(BadInputError, match="belongs to a run on"):
        run_quick(own_scenes, tmp_path / "out")


@pytest.fixture(scope="module")
def voters_out(tmp_path_factory):
    """One run folder for all: segments and features are made once."""
    return tmp_path_factory.mktemp("voters") / "run"


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_voter_leaves_a_mask_in_every_with_image(name, scenes, voters_out):
    settings = Settings(features="color", n_segments=30, size=120, voter=name)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the printed iteration selected")
        run = annotate(scenes / "with", scenes / "without", voters_out, settings, n_jobs=1)
    assert run.settings.voter == name
    assert np.isfinite(run.votes["scores"]).all()
    for index, bag in enumerate(run.bags):
        assert run.read_mask(index).any() == (bag.bag_label == "with")


def test_clean_images_have_no_mask_and_most_others_have_one(tmp_path):
    """Twelve scenes with the object and some without in one folder, others without in the second."""
    n_clean = 6
    settings = Settings(n_segments=60, size=160, draw="segments", unsure=True, feature_options={"size": 224})
    write_scenes(tmp_path, make_scenes(12, 20 + n_clean, size=(160, 120), object_area=(0.08, 0.16)))
    for path in sorted((tmp_path / "without").iterdir())[:n_clean]:
        shutil.move(path, tmp_path / "with" / f"clean-{path.name}")
    run = annotate(tmp_path / "with", tmp_path / "without", tmp_path / "out", settings, n_jobs=1)
    drawn = {bag.name for index, bag in enumerate(run.bags) if run.read_mask(index).any()}
    clean = {name for name in drawn if "clean" in name}
    assert len(clean) <= 1 and len(drawn - clean) >= 10
    assert drawn == {bag.name for bag in run.bags if bag.n_selected} == {bag.name for bag in run.bags if bag.area}
    annotations = json.loads(run.folder.coco_path.read_text())
    names = {image["id"]: image["file_name"] for image in annotations["images"]}
    assert drawn == {names[one["image_id"]] for one in annotations["annotations"]}
