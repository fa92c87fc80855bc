"""Images that come and go: the same bytes as a fresh run on what is there."""

import shutil

import numpy as np
import pytest
from PIL import Image

from segvote import annotate, update
from segvote.datasets import write_scenes
from segvote.errors import BadInputError, UnreadableImageError
from segvote.evaluation.evaluate import evaluate
from segvote.features.histograms import ColorFeatures
from segvote.io.tables import read_json
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings
from segvote.steps.predict import predict

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """``old`` with five images of each kind, ``new`` with two more, ``all`` with both, ``masks`` beside them."""
    folder = tmp_path_factory.mktemp("parts")
    write_scenes(folder / "all", n_with=7, n_without=7, size=(160, 120), object_area=(0.08, 0.16))
    for bag_label in ("with", "without"):
        for number, path in enumerate(sorted((folder / "all" / bag_label).iterdir())):
            # Neither first nor last: order must not depend on which folder an image came from.
            target = folder / ("new" if number in (2, 5) else "old") / bag_label
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    return folder


@pytest.fixture(scope="module")
def fresh(parts, tmp_path_factory):
    out = tmp_path_factory.mktemp("fresh") / "run"
    return annotate(parts / "all/with", parts / "all/without", out, QUICK, n_jobs=1)


@pytest.fixture(scope="module")
def old_folder(parts, tmp_path_factory):
    out = tmp_path_factory.mktemp("old") / "run"
    return annotate(parts / "old/with", parts / "old/without", out, QUICK, n_jobs=1).folder.path


@pytest.fixture
def old(old_folder, tmp_path):
    return shutil.copytree(old_folder, tmp_path / "old")


def read_outputs(folder):
    """Bytes of all results; the record names the folders, the caches keep what is gone."""
    kept = ("masks", "heatmaps", "votes", "model")
    files = [path for name in kept for path in (folder / name).rglob("*") if path.is_file()]
    files.append(folder / "annotations.coco.json")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def assert_same(one, other):
    assert read_outputs(one.folder.path) == read_outputs(other.folder.path)
    assert one.to_table() == other.to_table()
    assert one.record["key"] == other.record["key"]


def test_removing_images_gives_the_bytes_of_a_fresh_run(fresh, parts, old_folder, tmp_path):
    copy = shutil.copytree(fresh.folder.path, tmp_path / "run")
    gone = [
        f"{bag_label}/{path.name}"
        for bag_label in ("with", "without")
        for path in (parts / "new" / bag_label).iterdir()
    ]
    updated = update(copy, remove=gone, n_jobs=1)
    assert_same(updated, Run(old_folder))
    assert not updated.folder.mask_path("with/with-002").exists()
    assert not updated.folder.heatmap_path("with/with-002").exists()
    back = update(copy, restore=gone, n_jobs=1)
    assert_same(back, fresh)
    assert back.record["inputs"] == fresh.record["inputs"]


def test_nothing_that_is_known_is_computed_again(old, parts, monkeypatch):
    extracted = []
    extract = ColorFeatures.extract
    monkeypatch.setattr(
        ColorFeatures, "extract", lambda self, image, labels: extracted.append(1) or extract(self, image, labels)
    )
    update(old, add_with=[parts / "new/with"], n_jobs=1)
    assert len(extracted) == 2
    update(old, remove=["with-001"], n_jobs=1)
    assert len(extracted) == 2


def test_adding_images_gives_a_fresh_run(old, parts, fresh, tmp_path):
    run = update(old, add_with=[parts / "new/with"], add_without=[parts / "new/without"], n_jobs=1)
    assert_same(run, fresh)
    assert all(run.find_source(index).is_file() for index in range(len(run)))
    assert run.find_source(run.find("with/with-002.png")).parent == parts / "new/with"
    truth = parts / "all/masks"
    assert evaluate(run, truth).to_dict() == evaluate(fresh, truth).to_dict()
    found = [predict(one.folder.path, parts / "new", tmp_path / name, n_jobs=1).to_table() for one, name in
             ((run, "a"), (fresh, "b"))]  # fmt: skip
    assert found[0] == found[1]


def test_an_update_without_options_looks_again_at_the_folders(parts, old_folder, fresh, tmp_path):
    own = tmp_path / "own"
    shutil.copytree(parts / "old", own)
    run = annotate(own / "with", own / "without", tmp_path / "run", QUICK, n_jobs=1)
    for bag_label in ("with", "without"):
        for path in (parts / "new" / bag_label).iterdir():
            shutil.copy(path, own / bag_label)
    assert_same(update(run, n_jobs=1), fresh)
    before = {path: path.stat().st_mtime_ns for path in run.folder.path.rglob("*") if path.is_file()}
    update(run.folder.path, n_jobs=1)
    after = {path: path.stat().st_mtime_ns for path in run.folder.path.rglob("*") if path.is_file()}
    assert {path.name for path in after if after[path] != before.get(path)} <= {"log.jsonl", ".lock"}


def test_an_update_that_failed_is_not_tried_again(old, parts, tmp_path):
    before = read_json(old / "run.json")
    (tmp_path / "more").mkdir()
    (tmp_path / "more/broken.png").write_bytes(b"no picture")
    with pytest.raises(UnreadableImageError):
        update(old, add_with=[tmp_path / "more"], n_jobs=1, strict=True)
    assert read_json(old / "run.json") == before


def test_images_called_like_others_get_the_name_of_their_folder(old, parts, tmp_path):
    more = tmp_path / "more"
    more.mkdir()
    with Image.open(parts / "new/with/with-002.png") as picture:
        Image.fromarray(np.asarray(picture.convert("RGB"))[:, ::-1].copy()).save(more / "with-001.png")
    run = update(old, add_with=[more], n_jobs=1)
    index = run.find("with/more/with-001.png")
    assert run.find_source(index) == more / "with-001.png"
    assert run.find_source(run.find("with/with-001.png")) == parts / "old/with/with-001.png"
    assert len(run) == 11


def test_a_folder_that_is_no_run_is_left_as_it_is(tmp_path):
    (tmp_path / "photo.jpg").touch()
    with pytest.raises(BadInputError, match="not a run folder"):
        update(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["photo.jpg"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"remove": ["nothing"]}, "fits 0 of them"),
        ({"restore": ["nothing"]}, "fits 0 of them"),
        ({"remove": [f"with-00{number}" for number in (0, 1, 3, 4, 6)]}, "no .with. image is left"),
        ({"add_with": ["nowhere"]}, "expected a folder of images"),
    ],
)
def test_what_cannot_be_done_is_refused_and_leaves_the_run_alone(old, options, message):
    before = read_json(old / "run.json")
    with pytest.raises(BadInputError, match=message):
        update(old, n_jobs=1, **options)
    assert read_json(old / "run.json") == before


def test_images_that_the_run_has_are_refused(old, parts, tmp_path):
    shutil.copytree(parts / "old/with", tmp_path / "more")
    for folder, message in (
        (parts / "old/with", "share images"),
        (parts / "old", "share images"),
        (tmp_path / "more", "are the same image"),
    ):
        with pytest.raises(BadInputError, match=message):
            update(old, add_without=[folder])


def unfinish(folder, pending=False):
    """Leave a run as an update does that is killed before its inputs are in the record, or after that."""
    record = RunFolder(folder).read_record()
    if pending:
        inputs = record["inputs"]
        record.update(pending=inputs, inputs={name: inputs[name] for name in ("with", "without")})
    else:
        record["complete"] = False
    RunFolder(folder).write_record(record)


@pytest.mark.parametrize("pending", [True, False])
def test_a_killed_update_is_repeated_with_its_options(old, parts, pending):
    options = {"add_with": [parts / "new/with"], "remove": ["with-001"], "n_jobs": 1}
    whole = read_outputs(update(old, **options).folder.path)
    unfinish(old, pending)
    assert read_outputs(update(old, **options).folder.path) == whole
    assert read_outputs(update(old, restore=["with-002"], n_jobs=1).folder.path) == whole  # it was never removed


def test_an_unfinished_updated_run_names_update(old, parts):
    update(old, add_with=[parts / "new/with"], n_jobs=1)
    unfinish(old)
    with pytest.raises(BadInputError, match=f"`segvote update {old}`"):
        Run(old)
    assert len(update(old, n_jobs=1)) == 12


def test_annotate_says_how_to_go_on_with_an_updated_run(old, parts):
    update(old, add_with=[parts / "new/with"], n_jobs=1)
    with pytest.raises(BadInputError, match="segvote update"):
        annotate(parts / "old/with", parts / "old/without", old, QUICK, n_jobs=1)


def test_label_maps_of_one_s_own_are_asked_for_again(parts, tmp_path):
    maps = tmp_path / "maps"
    for bag_label in ("with", "without"):
        for path in (parts / "all" / bag_label).iterdir():
            (maps / bag_label).mkdir(parents=True, exist_ok=True)
            labels = np.arange(120 * 160).reshape(120, 160) // 640
            if bag_label == "with":
                Image.fromarray(labels.astype(np.uint8)).save(maps / bag_label / path.name)
            else:
                np.save(maps / bag_label / f"{path.stem}.npy", labels)
    run = annotate(parts / "old/with", parts / "old/without", tmp_path / "run", QUICK, segments=maps, n_jobs=1)
    with pytest.raises(BadInputError, match="--segments"):
        update(run, add_with=[parts / "new/with"], n_jobs=1)
    updated = update(run, add_with=[parts / "new/with"], segments=maps, n_jobs=1)
    assert {bag.n_segments for bag in updated.bags} == {30}


def test_the_run_of_a_class_is_updated_with_its_root(parts, old):
    record = RunFolder(old).read_record()
    record["inputs"]["without"] = str(parts / "old")
    RunFolder(old).write_record(record)
    with pytest.raises(BadInputError, match="--classes"):
        update(old)
