"""Images that come and go: the same bytes as a fresh run on what is there."""

import shutil
import sys

import numpy as np
import pytest
from msgspec import structs
from PIL import Image

from segvote import annotate, update
from segvote.errors import BadInputError, BusyRunError, UnreadableImageError
from segvote.features.histograms import ColorFeatures
from segvote.io.tables import read_json
from segvote.run.record import Inputs
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.settings import Settings

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})
SOME = ("with/with-002.png", "with/with-005.png", "without/without-002.png", "without/without-005.png")


@pytest.fixture
def own(scenes, run_copy):
    """A run on a copy of the scenes, beside it in ``images``."""
    images = shutil.copytree(scenes, run_copy.parent / "images")
    folder = RunFolder(run_copy)
    inputs = Inputs(str(images / "with"), str(images / "without"))
    folder.write_record(structs.replace(folder.read_record(), inputs=inputs))
    return run_copy


def read_outputs(folder):
    """Bytes of all results; the record names the folders, the caches keep what is gone."""
    kept = ("masks", "heatmaps", "votes", "model")
    files = [path for name in kept for path in (folder / name).rglob("*") if path.is_file()]
    files.append(folder / "annotations.coco.json")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def assert_same(one, other):
    assert read_outputs(one.folder.path) == read_outputs(other.folder.path)
    assert one.to_table() == other.to_table()
    assert one.record.key == other.record.key


def test_images_that_went_and_came_give_a_fresh_run(own, scenes, finished_run, tmp_path, monkeypatch):
    images = own.parent / "images"
    for name in SOME:
        (images / name).unlink()
    fresh = annotate(images / "with", images / "without", tmp_path / "fresh", QUICK, n_jobs=1)
    monkeypatch.setattr(ColorFeatures, "extract", None)
    assert_same(update(own, n_jobs=1), fresh)
    assert not (own / "masks/with/with-002.png").exists() and not (own / "heatmaps/with/with-002.jpg").exists()
    monkeypatch.undo()
    for name in SOME:
        shutil.copy(scenes / name, images / name)
    assert_same(update(fresh, n_jobs=1), finished_run)


def test_an_update_that_fails_leaves_the_record(own):
    before = read_json(own / "run.json")
    (own.parent / "images/with/broken.png").write_bytes(b"no picture")
    with pytest.raises(UnreadableImageError):
        update(own, n_jobs=1, strict=True)
    assert read_json(own / "run.json") == before


def test_an_update_meanwhile_is_refused(own, monkeypatch):
    """The folders are listed under the lock: otherwise one update would drop the images of another."""
    module = sys.modules["segvote.pipeline.update"]
    original = module.list_bags

    def meanwhile(*asked):
        with pytest.raises(BusyRunError, match="is writing to"):
            update(own, n_jobs=1)
        return original(*asked)

    monkeypatch.setattr(module, "list_bags", meanwhile)
    update(own, n_jobs=1)


def test_a_folder_that_is_no_run_is_left_as_it_is(tmp_path):
    (tmp_path / "photo.jpg").touch()
    with pytest.raises(BadInputError, match="not a run folder"):
        update(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["photo.jpg"]


def test_folders_without_images_or_with_the_same_are_refused(own, scenes):
    before = read_json(own / "run.json")
    shutil.copy(scenes / "with/with-000.png", own.parent / "images/without/copy.png")
    with pytest.raises(BadInputError, match="are the same image"):
        update(own)
    shutil.rmtree(own.parent / "images/with")
    with pytest.raises(BadInputError, match="found no folder"):
        update(own)
    assert read_json(own / "run.json") == before


def test_label_maps_of_one_s_own_are_asked_for_again(scenes, tmp_path):
    labels = np.arange(120 * 160).reshape(120, 160) // 640
    for path in [*(scenes / "with").iterdir(), *(scenes / "without").iterdir()]:
        folder = tmp_path / "maps" / path.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        if folder.name == "with":
            Image.fromarray(labels.astype(np.uint8)).save(folder / path.name)
        else:
            np.save(folder / f"{path.stem}.npy", labels)
    maps = tmp_path / "maps"
    run = annotate(scenes / "with", scenes / "without", tmp_path / "run", QUICK, segments=maps, n_jobs=1)
    with pytest.raises(BadInputError, match="--segments"):
        update(run, n_jobs=1)
    updated = update(run, segments=maps, n_jobs=1)
    assert {bag.n_segments for bag in updated.bags} == {30}


def test_the_run_of_a_class_is_updated_with_its_root(own):
    record = RunFolder(own).read_record()
    root = str(own.parent / "images")
    RunFolder(own).write_record(structs.replace(record, inputs=structs.replace(record.inputs, without_folder=root)))
    with pytest.raises(BadInputError, match="--classes"):
        update(own)


def test_an_unfinished_run_is_finished_by_update(own):
    RunFolder(own).write_record(structs.replace(RunFolder(own).read_record(), complete=False))
    with pytest.raises(BadInputError, match="not finished"):
        Run(own)
    assert len(update(own, n_jobs=1)) == 12
