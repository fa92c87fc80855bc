"""Faults of stores and of machines: the same bytes at the end, nothing lost, nothing left out silently."""

import errno
import json
import os
from dataclasses import replace

import numpy as np
import pytest
import tifffile
from PIL import Image

import segvote
from segvote.errors import BadInputError, BusyRunError, SegvoteError, UnwritableFileError
from segvote.io import leases
from segvote.io.objects import Store
from segvote.io.stores import CACHE_VARIABLE
from segvote.pipeline.stored import StoredTask
from segvote.settings import Settings

fsspec = pytest.importorskip("fsspec")
# Dask closes the sockets of processes that were shut down later than the test ends.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})
SAME = ("annotations.coco.json", "features/", "heatmaps/", "masks/", "model/", "segments/", "votes/")
NAMES = [f"{folder}/{folder}-{number:03d}.png" for folder in ("with", "without") for number in range(6)]


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr("segvote.io.objects.PAUSE", 0.0001)


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A call of this goes on on another machine."""
    return lambda: monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))


@pytest.fixture
def disk(scenes, tmp_path):
    upload(scenes, f"file://{tmp_path}/bucket")
    return f"file://{tmp_path}/bucket"


@pytest.fixture
def memory(scenes):
    files = fsspec.filesystem("memory")
    files.store.clear()
    upload(scenes, "memory://bucket")
    yield "memory://bucket"
    files.store.clear()


def upload(folder, uri):
    for path in sorted(folder.rglob("*.*")):
        Store(uri).write(path.relative_to(folder).as_posix(), path.read_bytes())


def read_run(store):
    """The files of a run that do not differ between equal runs."""
    store = Store(f"{store}/out")
    return {name: store.read(name) for name in store.list() if name.startswith(SAME)}


def read_folder(folder):
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: files[name].read_bytes() for name in files if name.startswith(SAME)}


def annotate(store, settings=QUICK, **options):
    return segvote.annotate(f"{store}/with", f"{store}/without", f"{store}/out", settings, **{"n_jobs": 1, **options})


@pytest.fixture
def fail(monkeypatch):
    """Let requests to the store in memory fail: those for which a function of verb and path returns an error."""

    def patch(choose):
        for verb in ("cat_file", "find", "get_file", "info", "pipe_file", "put_file", "rm_file"):
            monkeypatch.setattr(fsspec.get_filesystem_class("memory"), verb, make_failing(verb, choose))

    return patch


def make_failing(verb, choose):
    request = getattr(fsspec.get_filesystem_class("memory"), verb)

    def call(files, *arguments, **options):
        error = choose(verb, next((one for one in arguments[::-1] if isinstance(one, str) and "/bucket/" in one), ""))
        if error is not None:
            raise error
        return request(files, *arguments, **options)

    return call


# Workers --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 5])
def test_workers_of_dask_write_the_same_bytes(size, disk, address, finished_run, monkeypatch, tmp_path):
    monkeypatch.setattr("segvote.pipeline.cluster.BatchSizes.choose", lambda sizes, n_left, n_threads: size)
    monkeypatch.setattr(StoredTask, "_work", lambda *given: pytest.fail("done by the process that was started"))
    annotate(disk, scheduler=address)
    assert read_run(disk) == read_folder(finished_run.folder.path)


def test_two_processes_write_the_same_bytes(disk, finished_run):
    annotate(disk, n_jobs=2)
    assert read_run(disk) == read_folder(finished_run.folder.path)


def test_the_images_are_not_kept_by_the_caller(memory, monkeypatch, tmp_path):
    monkeypatch.setattr("segvote.api.write_report", lambda run: None)  # which shows them
    annotate(memory)
    copies = [path for path in (tmp_path / "cache").rglob("*.png") if "masks" not in path.parts]
    assert len(copies) == 12 and not any(path.stat().st_size for path in copies)


def test_pages_and_windows_are_images(scenes, tmp_path):
    rng, settings = np.random.default_rng(0), Settings(**{**vars(QUICK), "pages": "all", "window": "percentile"})
    for folder, offset in (("with", 9000), ("without", 0)):
        pages = rng.integers(0, 9000, (3, 60, 80), dtype=np.uint16)
        pages[:, 20:40, 20:50] += offset
        (tmp_path / "bucket" / folder).mkdir(parents=True)
        tifffile.imwrite(tmp_path / "bucket" / folder / "stack.tif", pages, photometric="minisblack")
    annotate(f"file://{tmp_path}/bucket", settings)
    inputs = tmp_path / "bucket/with", tmp_path / "bucket/without"
    segvote.annotate(*inputs, tmp_path / "here", settings, n_jobs=1)
    assert read_run(f"file://{tmp_path}/bucket") == read_folder(tmp_path / "here")
    assert (tmp_path / "bucket/out/stacks/with/stack.tif").is_file()


def test_a_codebook_is_learned_from_images_in_a_store(memory, scenes, tmp_path):
    words = Settings(**{**vars(QUICK), "features": "bow"})
    annotate(memory, words)
    segvote.annotate(scenes / "with", scenes / "without", tmp_path / "here", words, n_jobs=1)
    assert read_run(memory) == read_folder(tmp_path / "here")


def test_a_prior_by_contrast_is_that_of_a_disk(memory, scenes, tmp_path):
    given = {"features": "lite0", "feature_options": {"size": 160}, "detail": "contrast", "draw": "lines"}
    looks = Settings(**{**vars(QUICK), **given})
    annotate(memory, looks)
    segvote.annotate(scenes / "with", scenes / "without", tmp_path / "here", looks, n_jobs=1)
    assert read_run(memory) == read_folder(tmp_path / "here")


def test_a_repeated_call_follows_the_folders(memory, scenes, tmp_path, elsewhere):
    annotate(memory)
    Store(memory).delete(NAMES[2])
    Store(memory).write("with/new.png", (scenes / NAMES[2]).read_bytes())
    Store(memory).delete(NAMES[4])
    elsewhere()
    assert len(annotate(memory)) == 11
    for name in ("with", "without"):
        Store(f"{memory}/{name}").get([*Store(f"{memory}/{name}").list()], tmp_path / "now" / name)
    segvote.annotate(tmp_path / "now/with", tmp_path / "now/without", tmp_path / "here", QUICK, n_jobs=1)
    found, expected = read_run(memory), read_folder(tmp_path / "here")
    assert {name for name in found if not name.startswith(("segments", "features"))} == {
        name for name in expected if not name.startswith(("segments", "features"))
    }
    assert all(found[name] == expected[name] for name in expected)


def test_an_update_is_a_repeated_call_and_fetches_no_image(memory, scenes, tmp_path, elsewhere, monkeypatch):
    annotate(memory)
    Store(memory).delete(NAMES[2])
    Store(memory).write("with/new.png", (scenes / NAMES[4]).read_bytes())
    Store(memory).delete(NAMES[4])
    elsewhere()
    monkeypatch.setattr("segvote.api.write_report", lambda run: None)  # which shows them
    assert len(segvote.update(f"{memory}/out", n_jobs=1)) == 11
    copies = [path for path in (tmp_path / "elsewhere").rglob("*.png") if "masks" not in path.parts]
    assert len(copies) == 11 and not any(path.stat().st_size for path in copies)
    names = Store(f"{memory}/out").list()
    assert "masks/with/new.png" in names and not {f"masks/{NAMES[2]}", f"masks/{NAMES[4]}"} & set(names)
    found = read_run(memory)
    annotate(memory)
    assert read_run(memory) == found


def test_an_update_follows_moved_folders_of_a_store(memory, scenes, finished_run, elsewhere):
    annotate(memory)
    for folder in ("with", "without"):
        for name, data in [*Store(f"{memory}/{folder}").read_many([*Store(f"{memory}/{folder}").list()])]:
            Store(f"{memory}/moved/{folder}").write(name, data)
            Store(f"{memory}/{folder}").delete(name)
    elsewhere()
    folders = {f"{name}_folder": f"{memory}/moved/{name}" for name in ("with", "without")}
    run = segvote.update(f"{memory}/out", **folders, n_jobs=1)
    assert run.record.inputs.with_folder == f"{memory}/moved/with"
    assert read_run(memory) == read_folder(finished_run.folder.path)


def test_an_update_lists_no_other_bucket(memory, elsewhere, monkeypatch):
    annotate(memory)
    store = Store(f"{memory}/out")
    record = json.loads(store.read("run.json"))
    del record["sha256"]
    record["inputs"]["with"] = "memory://bucket2/with"
    store.write("run.json", json.dumps(record).encode())
    elsewhere()
    opened, list_all = [], Store.list
    monkeypatch.setattr(Store, "list", lambda store: (opened.append(store.uri), list_all(store))[1])
    with pytest.raises(BadInputError, match="found no folder"):
        segvote.update(f"{memory}/out", n_jobs=1)
    assert opened and not any("bucket2" in uri for uri in opened)


def test_label_maps_of_the_user_replace_the_segmenter(disk, scenes, tmp_path):
    for path in [*(scenes / "with").iterdir(), *(scenes / "without").iterdir()]:
        labels = np.repeat(np.arange(6, dtype=np.uint8).reshape(2, 3), 60, axis=0).repeat([50, 50, 60], axis=1)
        (tmp_path / "maps" / path.parent.name).mkdir(parents=True, exist_ok=True)
        Image.fromarray(labels).save(tmp_path / "maps" / path.parent.name / path.name)
    segvote.annotate(
        scenes / "with", scenes / "without", tmp_path / "here", QUICK, segments=tmp_path / "maps", n_jobs=1
    )
    annotate(disk, segments=tmp_path / "maps")
    assert read_run(disk) == read_folder(tmp_path / "here")


def test_a_repeated_batch_takes_the_records_of_its_items(memory, monkeypatch):
    submitted, call = [], StoredTask.__call__
    monkeypatch.setattr(
        StoredTask, "__call__", lambda task, given: (submitted.append((task, given)), call(task, given))[1]
    )
    annotate(memory)
    monkeypatch.setattr(StoredTask, "_work", lambda *given: pytest.fail("done again"))
    task, items = submitted[0][0], [given for _, given in submitted[:12]]
    found = task.find_finished(items)
    assert len(found) == 12 and all(one.result and one.written for one in found)
    Store(f"{memory}/out/.done").delete(items[3].record)
    assert task.find_finished(items) == found[:3]
    assert task.find_finished([replace(items[0], key="another")]) == []


# Faults ---------------------------------------------------------------------------------------------------------------


def test_transient_errors_do_not_change_the_result(memory, finished_run, fail):
    rng, failures = np.random.default_rng(0), []

    def choose(verb, path):
        if rng.random() < 0.05:
            failures.append((verb, path))
            return OSError(errno.EBUSY, "SlowDown")
        return None

    fail(choose)
    annotate(memory)
    fail(lambda verb, path: None)
    assert len(failures) > 5
    assert read_run(memory) == read_folder(finished_run.folder.path)


@pytest.mark.parametrize("error", [OSError(errno.EBUSY, "SlowDown"), PermissionError("403"), ConnectionResetError()])
def test_an_image_that_cannot_be_fetched_is_named(error, memory, finished_run, fail, monkeypatch, elsewhere):
    with monkeypatch.context(), pytest.MonkeyPatch.context() as patch:
        get = make_failing("get_file", lambda verb, path: error if path.endswith(NAMES[3]) else None)
        patch.setattr(fsspec.get_filesystem_class("memory"), "get_file", get)
        run = annotate(memory)
        assert [problem.name for problem in run.record.problems] == [NAMES[3]] and len(run) == 11
        assert "cannot read memory://bucket/with" in run.record.problems[0].reason
    elsewhere()
    assert len(annotate(memory)) == 12
    assert read_run(memory) == read_folder(finished_run.folder.path)


def test_a_mask_that_cannot_be_sent_is_named(memory, finished_run, elsewhere):
    drawn = []

    def choose(verb, path):
        drawn.extend([path] if "/masks/" in path else [])
        return TimeoutError("no answer") if "masks/with/with-003.png" in path else None

    with pytest.MonkeyPatch.context() as patch:
        put = make_failing("put_file", choose)
        patch.setattr(fsspec.get_filesystem_class("memory"), "put_file", put)
        with pytest.raises(
            SegvoteError, match=r"1 images failed, the others are done: with/with-003\.png: cannot write"
        ):
            annotate(memory)
        assert len(set(drawn)) == 12
    elsewhere()
    with pytest.MonkeyPatch.context() as patch:
        drawn.clear()
        put = make_failing("put_file", lambda verb, path: drawn.extend([path] if "/masks/" in path else []))
        patch.setattr(fsspec.get_filesystem_class("memory"), "put_file", put)
        annotate(memory)
    assert len(drawn) == 1
    assert read_run(memory) == read_folder(finished_run.folder.path)


def test_a_full_store_stops_the_run_which_goes_on(memory, finished_run, elsewhere):
    sent = []

    def choose(verb, path):
        sent.append(path)
        return OSError(errno.ENOSPC, "No space left on device") if len(sent) > 25 else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fsspec.get_filesystem_class("memory"), "put_file", make_failing("put_file", choose))
        with pytest.raises(UnwritableFileError, match="cannot write memory://bucket/out"):
            annotate(memory)
    elsewhere()
    annotate(memory)
    assert read_run(memory) == read_folder(finished_run.folder.path)


def test_a_file_deleted_in_the_store_is_made_again(memory, finished_run, elsewhere):
    annotate(memory)
    files, expected = fsspec.filesystem("memory"), read_folder(finished_run.folder.path)
    for folder in ("masks/with", "segments", "features"):
        files.rm_file(files.find(f"/bucket/out/{folder}")[0])
    elsewhere()
    annotate(memory)
    assert read_run(memory) == expected


@pytest.mark.parametrize("damage", [b"", b"[]", b'{"key": 1}', "values"])
def test_a_damaged_record_is_written_again(damage, memory, finished_run, elsewhere):
    annotate(memory)
    records = Store(f"{memory}/out/.done")
    for name in records.list():
        data = records.read(name)
        if isinstance(damage, str):
            data = data.replace(b'"path":"', b'"path":"../').replace(b'"result":[0', b'"result":["0')
        records.write(name, damage if isinstance(damage, bytes) else data)
    elsewhere()
    annotate(memory)
    assert read_run(memory) == read_folder(finished_run.folder.path)


def test_a_store_that_refuses_writing_is_one_line(memory, monkeypatch):
    monkeypatch.setattr(StoredTask, "_work", lambda *given: pytest.fail("work was begun"))
    refuse = make_failing("pipe_file", lambda verb, path: PermissionError("Access Denied"))
    monkeypatch.setattr(fsspec.get_filesystem_class("memory"), "pipe_file", refuse)
    with pytest.raises(
        UnwritableFileError, match=r"cannot write memory://bucket/out/\.lease \(PermissionError"
    ) as caught:
        annotate(memory)
    assert os.linesep not in str(caught.value)


# Two machines ---------------------------------------------------------------------------------------------------------


def test_another_machine_is_refused_meanwhile(memory, monkeypatch, tmp_path):
    refused = []

    def begin_elsewhere(step, done, total):
        if step == "vote" and not refused:
            refused.append(step)
            monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
            with pytest.raises(BusyRunError, match="another machine is writing to memory://bucket/out"):
                annotate(memory)
            monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))

    annotate(memory, progress=begin_elsewhere)
    assert refused and not Store("memory://bucket/out/.lease").list()


def test_a_lease_that_is_not_renewed_expires(memory, monkeypatch):
    store = Store("memory://bucket/out")
    first, second = leases.Lease(store, "first"), leases.Lease(store, "second")
    first.take()
    with pytest.raises(BusyRunError, match="until it was silent for 180 s"):
        second.take()
    monkeypatch.setattr(leases, "EXPIRED", -1.0)
    second.take()
    first.renew()
    with pytest.raises(BusyRunError, match="while this one was silent"):
        first.check()
    second.renew()
    second.check()
    first.give_back()
    assert list(second.store.list()) == ["00000002"]


def test_a_killed_process_is_followed_at_once_here(memory):
    store = Store("memory://bucket/out")
    leases.Lease(store, "this machine").take()
    leases.Lease(store, "this machine").take()
    assert list(Store("memory://bucket/out/.lease").list()) == ["00000002"]


@pytest.mark.parametrize("uri", ["memory://bucket/one", "file://{}/one"])
def test_only_one_of_two_creates_an_object(uri, memory, tmp_path):
    store = Store(uri.format(tmp_path))
    assert store.create("a", b"1") and store.create("a", b"1") and not store.create("a", b"2")
    assert store.read("a") == b"1" and store.read("b") is None
