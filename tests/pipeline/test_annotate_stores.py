"""Runs whose folders lie in stores: the same bytes as on this disk, nothing done twice, errors of one line."""

import contextlib
import importlib
import json
import os
import shutil
import urllib.request
from pathlib import Path

import pytest
from typer.testing import CliRunner

import segvote
from segvote.cli.app import load_commands
from segvote.errors import BadInputError, BusyRunError, UnwritableFileError
from segvote.inputs.bags import Source
from segvote.io.leases import Lease
from segvote.io.objects import Store
from segvote.io.stores import CACHE_VARIABLE, find_local_path
from segvote.pipeline.stored import StoredTask
from segvote.pipeline.write import WriteTask
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.record import Inputs
from segvote.run.run import open_run
from segvote.settings import Settings

fsspec = pytest.importorskip("fsspec")

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})
SAME = ("annotations.coco.json", "features/", "heatmaps/", "masks/", "model/", "segments/", "votes/")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr("segvote.io.objects.PAUSE", 0.001)


@pytest.fixture
def tasks(monkeypatch):
    """The items on which tasks were done in this process."""
    done, work = [], StoredTask._work

    def note(task, given, run, images):
        done.append(given)
        return work(task, given, run, images)

    monkeypatch.setattr(StoredTask, "_work", note)
    return done


@pytest.fixture
def disk(scenes, tmp_path):
    """Address of a folder of a store in which the scenes lie."""
    upload(scenes, f"file://{tmp_path}/bucket")
    return f"file://{tmp_path}/bucket"


@pytest.fixture
def memory(scenes):
    """The same in a store that is no disk."""
    files = fsspec.filesystem("memory")
    files.store.clear()
    upload(scenes, "memory://bucket")
    yield "memory://bucket"
    files.store.clear()


def upload(folder, url):
    files, root = fsspec.core.url_to_fs(url)
    for path in sorted(Path(folder).rglob("*.png")):
        target = f"{root}/{path.relative_to(folder).as_posix()}"
        files.makedirs(target.rpartition("/")[0], exist_ok=True)
        files.put_file(str(path), target)


def read_store(url):
    files, root = fsspec.core.url_to_fs(url)
    return {path.removeprefix(f"{root}/"): files.cat_file(path) for path in files.find(root)}


def annotate(store, progress=None):
    """The run, and the steps that it took."""
    steps = set()

    def note(step, done, total):
        steps.add(step)
        if progress is not None:
            progress(step, done)

    folders = f"{store}/with", f"{store}/without", f"{store}/out"
    return segvote.annotate(*folders, QUICK, n_jobs=1, progress=note), steps


def check_same(found, finished_run):
    folder = finished_run.folder.path
    files = [path for path in folder.rglob("*") if path.is_file()]
    expected = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    found, expected = ({name: one[name] for name in one if name.startswith(SAME)} for one in (found, expected))
    assert len(found) > 24 and found == expected


def check_bytes(store, finished_run):
    """The store holds the files of a run on disk; a repeated call does nothing twice."""
    run, _ = annotate(store)
    check_same(read_store(f"{store}/out"), finished_run)
    assert run.inputs == Inputs(f"{store}/with", f"{store}/without") and run.read_image(0).shape == (120, 160, 3)
    before = read_store(f"{store}/out")
    assert not {"get", "vote"} & annotate(store)[1]
    after = read_store(f"{store}/out")
    assert {name for name in after if after[name] != before.get(name)} <= {"log.jsonl", "report.html"}


@pytest.mark.parametrize("kind", ["disk", "memory"])
def test_a_run_in_a_store_has_the_bytes_of_one_on_disk(kind, request, finished_run, monkeypatch, tmp_path, tasks):
    store = request.getfixturevalue(kind)
    check_bytes(store, finished_run)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))  # another machine
    tasks.clear()
    assert "vote" not in annotate(store)[1] and not tasks


@pytest.mark.parametrize("machine", ["cache", "elsewhere"])
@pytest.mark.parametrize("step", ["segment and extract features", "write masks"])
def test_a_stopped_run_goes_on_here_and_elsewhere(machine, step, memory, finished_run, tmp_path, monkeypatch, tasks):
    def stop(now, done):
        if now == step and done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        annotate(memory, stop)
    assert not json.loads(read_store(f"{memory}/out")["run.json"])["complete"]
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / machine))
    seen = list_images(tasks, step)
    tasks.clear()
    annotate(memory)
    assert not seen & list_images(tasks, step)
    check_same(read_store(f"{memory}/out"), finished_run)


def list_images(tasks, step):
    """Addresses of the images of the tasks of a step."""
    kind = Source if step.startswith("segment") else WriteTask
    return {f"{one.uri}/{one.images[0]}" for one in tasks if isinstance(one.item, kind) and one.record}


def test_a_failed_send_is_made_good_by_the_next_call(memory, finished_run, monkeypatch):
    put_file = type(fsspec.filesystem("memory")).put_file

    def fail(files, here, there, **options):
        if there.endswith("report.html"):
            raise OSError("no route")
        return put_file(files, here, there, **options)

    with monkeypatch.context() as patch, pytest.raises(UnwritableFileError, match="cannot write memory://bucket/out"):
        patch.setattr(type(fsspec.filesystem("memory")), "put_file", fail)
        annotate(memory)
    assert "vote" not in annotate(memory)[1]
    assert read_store(f"{memory}/out")["votes/votes.npz"] == finished_run.folder.votes_path.read_bytes()


def test_predict_evaluate_export_and_update_take_addresses(memory, finished_run, scenes, tmp_path, monkeypatch):
    annotate(memory)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
    found = segvote.predict(f"{memory}/out", f"{memory}/with", f"{memory}/new", n_jobs=1)
    assert find_local_path(f"{memory}/out/model").is_dir()
    assert not (find_local_path(f"{memory}/out") / "features").exists()  # only the model is fetched
    here = segvote.predict(finished_run.folder.path, scenes / "with", tmp_path / "new", n_jobs=1)
    assert found.images == here.images
    assert read_store(f"{memory}/new")["predictions.csv"] == (tmp_path / "new/predictions.csv").read_bytes()
    expected = segvote.evaluate(finished_run, scenes / "masks").to_dict()
    assert segvote.evaluate(f"{memory}/out", f"{memory}/masks").to_dict() == expected
    segvote.export(f"{memory}/out", "voc", images="copy")
    segvote.export(f"{memory}/out", "yolo", f"{memory}/yolo")
    assert any(name.startswith("exports/voc/JPEGImages/") for name in read_store(f"{memory}/out"))
    assert read_store(f"{memory}/yolo")
    fsspec.filesystem("memory").rm("/bucket/with/with-000.png")
    assert len(segvote.update(f"{memory}/out", n_jobs=1)) == 11
    assert "masks/with/with-000.png" not in read_store(f"{memory}/out")


def test_classes_in_a_store(memory, scenes):
    upload(scenes / "with", f"{memory}/classes/thing")
    upload(scenes / "without", f"{memory}/classes/none")
    segvote.annotate_classes(f"{memory}/classes", f"{memory}/many", QUICK, n_jobs=1)
    assert {"classes.json", "classes/thing/run.json", "annotations.coco.json"} <= set(read_store(f"{memory}/many"))
    with open_run(f"{memory}/many") as folder:
        assert segvote.Run(folder / "classes/thing").read_image(0).shape == (120, 160, 3)


def test_a_record_opens_no_other_store_and_no_other_bucket(memory, monkeypatch, tmp_path):
    run, _ = annotate(memory)
    copy = shutil.copytree(run.folder.path, tmp_path / "copy")
    record = json.loads(read_store(f"{memory}/out")["run.json"])
    fetched = []
    monkeypatch.setattr("segvote.run.run.fetch_folder", lambda uri, progress: fetched.append(uri))
    for other in ("file:///etc", "memory://bucket2/with", "memory://bucket/../x", "s3://bucket/with"):
        record["inputs"]["with"] = other
        fsspec.filesystem("memory").pipe_file("/bucket/out/run.json", json.dumps(record).encode())
        monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / other.replace("/", "-")))
        fetched.clear()
        with open_run(f"{memory}/out"):
            assert [uri for uri in fetched if ".." not in uri] == [f"{memory}/without"]  # .. is refused later
    monkeypatch.setattr("segvote.io.objects.Store.open", lambda store: pytest.fail("a store was opened"))
    with open_run(copy) as folder:
        assert not segvote.Run(folder).find_source(0).exists()


def test_the_command_line_takes_addresses_and_says_them(disk):
    options = ["--features", "color", "--n-segments", "40", "--size", "160", "--jobs", "1"]
    command = ["annotate", f"{disk}/with/", f"{disk}/without/", "-o", f"{disk}/out/", *options]
    result = CliRunner().invoke(load_commands(), command, catch_exceptions=False)
    assert f"masks    {disk}/out/masks\n" in result.output


def import_s3(name):
    """A package of the extra ``s3-test``; where it has to be there (`make test-s3`), it is not passed over."""
    return importlib.import_module(name) if os.environ.get("SEGVOTE_NEED_S3") else pytest.importorskip(name)


@pytest.fixture
def bucket(scenes, monkeypatch):
    """A bucket of a server on this machine that speaks the protocol of S3, with the scenes in it."""
    server = import_s3("moto.server")
    import_s3("s3fs")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    address = "http://{}:{}".format(*running.get_host_and_port())
    for name, value in {
        "AWS_ACCESS_KEY_ID": "made",
        "AWS_SECRET_ACCESS_KEY": "up",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": address,
    }.items():
        monkeypatch.setenv(name, value)
    # Servers of one process share their buckets.
    urllib.request.urlopen(urllib.request.Request(f"{address}/moto-api/reset", method="POST")).close()
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    fsspec.filesystem("s3").mkdir("photos")
    upload(scenes, "s3://photos")
    yield "s3://photos"
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    running.stop()


def test_a_run_in_s3_has_the_bytes_of_one_on_disk(bucket, finished_run):
    check_bytes(bucket, finished_run)
    with pytest.raises(BadInputError, match="no-such-bucket"):
        segvote.annotate("s3://no-such-bucket/with", f"{bucket}/without", f"{bucket}/other", QUICK)


def test_one_of_two_machines_takes_a_lease_in_s3(bucket):
    store = Store(f"{bucket}/out")
    assert store.create("a", b"1") and store.create("a", b"1") and not store.create("a", b"2")
    assert store.read("a") == b"1" and store.read("none") is None
    lease = Lease(store, "one")
    lease.take()
    with pytest.raises(BusyRunError, match="another machine is writing"):
        Lease(store, "other").take()
    lease.renew()
    lease.check()
    lease.give_back()
    Lease(store, "other").take()


def test_wrong_credentials_for_s3_are_one_line(bucket, monkeypatch, tasks):
    def refuse(files, *given, **options):
        raise type("NoCredentialsError", (Exception,), {"__module__": "botocore.exceptions"})("Unable to locate")

    monkeypatch.setattr(fsspec.get_filesystem_class("s3"), "find", refuse)
    with pytest.raises(BadInputError, match=f"cannot read {bucket}/with .NoCredentialsError: Unable to locate"):
        annotate(bucket)
    assert not tasks


def test_an_s3_server_that_is_not_there_is_one_line(monkeypatch):
    import_s3("s3fs")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "made")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "up")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    monkeypatch.setattr(fsspec.get_filesystem_class("s3"), "retries", 1)
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    with pytest.raises(BadInputError, match="cannot read s3://photos/with") as caught:
        segvote.evaluate("s3://photos/with", "masks")
    assert os.linesep not in str(caught.value)
    fsspec.get_filesystem_class("s3").clear_instance_cache()


def test_a_model_in_a_store_follows_corrections(disk, scenes, tmp_path):
    run = segvote.annotate(f"{disk}/with", f"{disk}/without", f"{disk}/out", QUICK, n_jobs=1)
    segvote.set_extent(f"{disk}/out", 3, n_jobs=1)
    with contextlib.closing(CorrectionLog(tmp_path / "bucket/out/review.sqlite")) as log:
        log.append(Action("move", run.bags[0].digest, run.bags[0].name, 0))
    key = json.loads((tmp_path / "bucket/out/run.json").read_text())["key"]
    segvote.predict(f"{disk}/out", scenes / "with", tmp_path / "predicted", n_jobs=1)
    assert json.loads((tmp_path / "bucket/out/run.json").read_text())["key"] != key
