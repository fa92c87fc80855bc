"""`predict` from store to store: a task for each image, the bytes of one on disk, nothing downloaded as a whole."""

import errno
import json
import shutil

import numpy as np
import pytest
import tifffile

import segvote
from segvote.errors import BadInputError, UnwritableFileError
from segvote.io.objects import Store
from segvote.io.stores import CACHE_VARIABLE, find_local_path
from segvote.pipeline import blocks, image_task
from segvote.pipeline.stored import StoredTask

fsspec = pytest.importorskip("fsspec")
# Dask closes the sockets of processes that were shut down later than the test ends.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

RATE = 0.3
SAME = ("annotations.coco.json", "heatmaps/", "masks/", "predictions.csv", "report.html")
BROKEN = "with/with-002b.png"


@pytest.fixture(autouse=True)
def quick(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr("segvote.io.objects.PAUSE", 0.0001)
    monkeypatch.setattr(blocks, "N_IMAGES", 5)
    image_task.fetch_predictor.cache_clear()


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A call of this goes on on another machine."""
    return lambda: monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))


@pytest.fixture(scope="module")
def expected(finished_run, scenes, tmp_path_factory):
    """The folder of a prediction on disk; ``images`` lies beside it."""
    folder = tmp_path_factory.mktemp("here")
    for name in ("with", "without"):
        shutil.copytree(scenes / name, folder / "images" / name)
    (folder / "images" / BROKEN).write_bytes(b"no picture")
    segvote.predict(finished_run.folder.path, folder / "images", folder / "out", n_jobs=1, false_positive_rate=RATE)
    return folder / "out"


@pytest.fixture
def disk(expected, finished_run, tmp_path):
    """Address of a folder of a store with the images, and the run that has the model."""
    uri = f"file://{tmp_path}/bucket"
    upload(expected.parent / "images", f"{uri}/images")
    upload(finished_run.folder.path, f"{uri}/run")
    return uri


@pytest.fixture
def memory(expected, finished_run):
    fsspec.filesystem("memory").store.clear()
    upload(expected.parent / "images", "memory://bucket/images")
    upload(finished_run.folder.path, "memory://bucket/run")
    yield "memory://bucket"
    fsspec.filesystem("memory").store.clear()


@pytest.fixture
def tasks(monkeypatch):
    """Names of the images on which tasks were done in this process."""
    done, work = [], StoredTask._work

    def note(task, given, run, images):
        done.append(f"{given.uri}/{given.images[0]}".partition("images/")[2])
        return work(task, given, run, images)

    monkeypatch.setattr(StoredTask, "_work", note)
    return done


def upload(folder, uri):
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        Store(uri).write(path.relative_to(folder).as_posix(), path.read_bytes())


def predict(store, model=None, **options):
    given = {"n_jobs": 1, "false_positive_rate": RATE, **options}
    return segvote.predict(model or f"{store}/run", f"{store}/images", f"{store}/out", **given)


def check_same(store, expected):
    out = Store(f"{store}/out")
    found = {name: out.read(name) for name in out.list()}
    files = {path.relative_to(expected).as_posix(): path for path in expected.rglob("*") if path.is_file()}
    assert {name: found[name] for name in found if name.startswith(SAME)} == {
        name: path.read_bytes() for name, path in files.items() if name.startswith(SAME)
    }
    assert not any(name.startswith(("segments/", "features/")) for name in found)
    here, there = (json.loads(one) for one in (files["predictions.json"].read_bytes(), found["predictions.json"]))
    for record in (here, there):
        del record["input"]
        for problem in record["problems"]:
            problem["reason"] = problem["reason"].rpartition("/")[2]
    assert there == here
    assert len([name for name in found if name.startswith("shards/")]) == 3


@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_a_prediction_in_a_store_has_the_bytes_of_one_on_disk(kind, request, expected, elsewhere, tasks):
    store = request.getfixturevalue(kind)
    found = predict(store)
    check_same(store, expected)
    assert len(tasks) == 13 and [one.name for one in found.problems] == [BROKEN]
    assert f"{store}/images/{BROKEN}" in found.problems[0].reason
    elsewhere()
    assert predict(store).images == found.images and len(tasks) == 13
    check_same(store, expected)


def test_two_processes_predict_the_same(disk, expected):
    predict(disk, n_jobs=2)
    check_same(disk, expected)


@pytest.mark.parametrize("size", [1, 4])
def test_workers_of_dask_predict_the_same(size, disk, address, expected, monkeypatch):
    monkeypatch.setattr("segvote.pipeline.cluster.BatchSizes.choose", lambda sizes, n_left, n_threads: size)
    monkeypatch.setattr(StoredTask, "_work", lambda *given: pytest.fail("done by the process that was started"))
    predict(disk, scheduler=address)
    check_same(disk, expected)


def test_nothing_but_the_model_and_shown_pictures_is_fetched(memory, monkeypatch):
    monkeypatch.setattr("segvote.api.write_predictions_report", lambda found: None)
    monkeypatch.setattr("segvote.api.list_pictures", lambda found: [])
    # Without sub-folders of numbered pictures: of those, a few show whether they are frames of a video.
    images = f"{memory}/images/without"
    segvote.predict(f"{memory}/run", images, f"{memory}/out", n_jobs=1, false_positive_rate=RATE)
    for name in ("images", "out/masks", "out/heatmaps"):
        copies = [path for path in find_local_path(f"{memory}/{name}").rglob("*") if path.is_file()]
        assert copies and not any(path.stat().st_size for path in copies)
    assert not (find_local_path(f"{memory}/run") / "features").exists()


def test_the_model_is_fetched_once(memory, monkeypatch):
    fetched, read_model = [], image_task.read_model
    monkeypatch.setattr(image_task, "read_model", lambda *given: (fetched.append(given), read_model(*given))[1])
    predict(memory)
    assert len(fetched) == 1


def test_a_model_on_disk_is_lent_to_the_tasks(memory, finished_run, expected):
    predict(memory, finished_run.folder.path)
    check_same(memory, expected)
    assert "model.json" in Store(f"{memory}/out/.model").list()


def test_a_model_in_memory_predicts_the_same(memory, finished_run, expected):
    found = predict(memory, segvote.pipeline.model.read_model(finished_run.folder.path))
    assert [one.name for one in found.images] == [one.name for one in predict(memory).images]


def test_a_model_that_changed_meanwhile_is_refused(memory):
    store = Store(f"{memory}/run/model")
    address = image_task.ModelAddress(store.uri, RATE, None, "of another")
    with pytest.raises(BadInputError, match="has changed since the command began; repeat"):
        image_task.fetch_predictor(address)


@pytest.mark.parametrize("n_done", [2, 7, 12])
def test_a_stopped_prediction_goes_on_elsewhere(n_done, memory, expected, elsewhere, tasks):
    def stop(step, done, total):
        if step == blocks.STEP and done == n_done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict(memory, progress=stop)
    assert not json.loads(Store(f"{memory}/out").read("predictions.json"))["complete"]
    assert len([name for name in Store(f"{memory}/out").list() if name.startswith("shards/")]) == (n_done - 1) // 5
    elsewhere()
    predict(memory)
    assert [name for name in sorted(set(tasks)) if tasks.count(name) > 1 and name != BROKEN] == []
    check_same(memory, expected)


def test_an_image_that_cannot_be_fetched_is_named(memory, expected, elsewhere, tasks, monkeypatch):
    memory_files = fsspec.get_filesystem_class("memory")
    get_file = memory_files.get_file

    def fail(files, path, *given, **options):
        if path.endswith("with-003.png"):
            raise ConnectionResetError("lost")
        return get_file(files, path, *given, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_files, "get_file", fail)
        found = predict(memory)
        assert [problem.name for problem in found.problems] == [BROKEN, "with/with-003.png"] and len(found) == 11
        assert f"cannot read {memory}/images/with" in found.problems[1].reason
    elsewhere()
    tasks.clear()
    assert len(predict(memory)) == 12
    assert set(tasks) <= {BROKEN, "with/with-003.png"}
    check_same(memory, expected)


def test_a_full_store_stops_the_prediction_which_goes_on(memory, expected, elsewhere):
    memory_files, sent = fsspec.get_filesystem_class("memory"), []
    put_file = memory_files.put_file

    def fail(files, here, there, **options):
        sent.append(there)
        if len(sent) > 12:
            raise OSError(errno.ENOSPC, "No space left on device")
        return put_file(files, here, there, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_files, "put_file", fail)
        with pytest.raises(UnwritableFileError, match=f"cannot write {memory}/out"):
            predict(memory)
    elsewhere()
    predict(memory)
    check_same(memory, expected)


def test_a_changed_image_is_predicted_again(memory, expected, elsewhere, tasks):
    predict(memory)
    tasks.clear()
    Store(f"{memory}/images").write(
        "without/without-005.png", (expected.parent / "images/with/with-000.png").read_bytes()
    )
    elsewhere()
    found = predict(memory)
    assert tasks == ["without/without-005.png"]
    assert found.images[-1].score == found.images[0].score


def test_pages_of_a_stack_are_images(memory, scenes, tmp_path, run_copy):
    path = run_copy / "model/model.json"
    words = json.loads(path.read_text())
    path.write_text(json.dumps({**words, "settings": {**words["settings"], "pages": "all"}}))
    pages = np.random.default_rng(0).integers(0, 255, (3, 60, 80), dtype=np.uint8)
    tifffile.imwrite(tmp_path / "stack.tif", pages, photometric="minisblack")
    Store(f"{memory}/images").write("stack.tif", (tmp_path / "stack.tif").read_bytes())
    found = predict(memory, run_copy)
    assert [one.name for one in found.images if "stack" in one.name] == ["stack[0].tif", "stack[1].tif", "stack[2].tif"]
    assert len(found) == 15


def test_a_run_that_is_not_finished_is_refused(memory):
    store = Store(f"{memory}/run")
    record = json.loads(store.read("run.json"))
    del record["sha256"]
    store.write("run.json", json.dumps({**record, "complete": False}).encode())
    with pytest.raises(BadInputError, match=f"the run in {memory}/run is not finished"):
        predict(memory)
