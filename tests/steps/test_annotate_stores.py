"""Runs whose folders lie in stores: the same bytes as on this disk, nothing done twice, errors of one line."""

import importlib
import json
import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

import segvote
from segvote.cli.app import load_commands
from segvote.errors import BadInputError, UnwritableFileError
from segvote.io.stores import CACHE_VARIABLE, find_local_path
from segvote.run.record import Inputs
from segvote.run.run import open_run
from segvote.run.settings import Settings

fsspec = pytest.importorskip("fsspec")

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})
SAME = ("annotations.coco.json", "heatmaps/", "masks/", "model/", "votes/")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))


@pytest.fixture
def store(scenes, tmp_path):
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


@pytest.fixture(params=["store", "memory"])
def any_store(request):
    return request.getfixturevalue(request.param)


def upload(folder, url):
    files, root = fsspec.core.url_to_fs(url)
    for path in sorted(Path(folder).rglob("*.png")):
        target = f"{root}/{path.relative_to(folder).as_posix()}"
        files.makedirs(target.rpartition("/")[0], exist_ok=True)
        files.put_file(str(path), target)


def read_store(url):
    files, root = fsspec.core.url_to_fs(url)
    return {path.removeprefix(f"{root}/"): files.cat_file(path) for path in files.find(root)}


def annotate(store, out="out", **options):
    steps = {}

    def note(step, done, total):
        steps.setdefault(step, []).append((done, total))

    run = segvote.annotate(
        f"{store}/with", f"{store}/without", f"{store}/{out}", QUICK, n_jobs=1, progress=note, **options
    )
    return run, steps


def test_a_run_in_a_store_has_the_bytes_of_a_run_on_disk(any_store, finished_run):
    annotate(any_store)
    there = {name: data for name, data in read_store(f"{any_store}/out").items() if name.startswith(SAME)}
    here = {
        path.relative_to(finished_run.folder.path).as_posix(): path.read_bytes()
        for path in finished_run.folder.path.rglob("*")
        if path.is_file()
    }
    assert len(there) > 24
    assert there == {name: data for name, data in here.items() if name.startswith(SAME)}


def test_a_run_in_a_store_is_not_done_twice_on_any_machine(store, monkeypatch, tmp_path):
    run, _ = annotate(store)
    assert run.inputs == Inputs(f"{store}/with", f"{store}/without")
    assert run.read_image(0).shape == (120, 160, 3)
    before = read_store(f"{store}/out")
    assert not {"get", "vote"} & annotate(store)[1].keys()
    after = read_store(f"{store}/out")
    assert {name for name in after if after[name] != before.get(name)} <= {"log.jsonl", "report.html"}
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
    assert not {"segment and extract features", "vote"} & annotate(store)[1].keys()


def test_stopped_in_the_middle_it_goes_on_here(any_store, finished_run):
    def stop(step, done, total):
        if step == "write masks" and done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        segvote.annotate(
            f"{any_store}/with", f"{any_store}/without", f"{any_store}/out", QUICK, n_jobs=1, progress=stop
        )
    assert not read_store(f"{any_store}/out")
    _, steps = annotate(any_store)
    assert "segment and extract features" not in steps and "vote" in steps
    assert read_store(f"{any_store}/out")["votes/votes.npz"] == finished_run.folder.votes_path.read_bytes()


def test_a_failed_send_is_made_good_by_the_next_call(memory, finished_run, monkeypatch):
    def fail(*given, **options):
        raise OSError("no route")

    with monkeypatch.context() as patch, pytest.raises(UnwritableFileError, match="cannot write memory://bucket/out"):
        patch.setattr(type(fsspec.filesystem("memory")), "put", fail)
        annotate(memory)
    _, steps = annotate(memory)
    assert "vote" not in steps
    assert read_store(f"{memory}/out")["votes/votes.npz"] == finished_run.folder.votes_path.read_bytes()


def test_evaluate_predict_and_export_take_addresses(any_store, finished_run, scenes, tmp_path):
    annotate(any_store)
    expected = segvote.evaluate(finished_run, scenes / "masks").to_dict()
    assert segvote.evaluate(f"{any_store}/out", f"{any_store}/masks").to_dict() == expected
    found = segvote.predict(f"{any_store}/out", f"{any_store}/with", f"{any_store}/new", n_jobs=1)
    here = segvote.predict(finished_run.folder.path, scenes / "with", tmp_path / "new", n_jobs=1)
    assert found.images == here.images
    assert read_store(f"{any_store}/new")["predictions.csv"] == (tmp_path / "new/predictions.csv").read_bytes()
    segvote.export(f"{any_store}/out", "voc", images="copy")
    segvote.export(f"{any_store}/out", "yolo", f"{any_store}/yolo")
    assert any(name.startswith("exports/voc/JPEGImages/") for name in read_store(f"{any_store}/out"))
    assert read_store(f"{any_store}/yolo")


def test_predict_fetches_the_model_and_no_features(store, monkeypatch, tmp_path):
    annotate(store)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
    segvote.predict(f"{store}/out", f"{store}/with", f"{store}/new", n_jobs=1)
    assert [path.name for path in find_local_path(f"{store}/out").iterdir()] == ["model"]


def test_a_run_is_updated_where_it_lies(memory, scenes, monkeypatch, tmp_path):
    annotate(memory)
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
    fsspec.filesystem("memory").rm("/bucket/with/with-000.png")
    run = segvote.update(f"{memory}/out", n_jobs=1)
    assert len(run) == 11
    assert "masks/with/with-000.png" not in read_store(f"{memory}/out")


def test_classes_in_a_store(memory, scenes):
    store = memory
    upload(scenes / "with", f"{store}/classes/thing")
    upload(scenes / "without", f"{store}/classes/none")
    segvote.annotate_classes(f"{store}/classes", f"{store}/many", QUICK, n_jobs=1)
    found = read_store(f"{store}/many")
    assert {"classes.json", "classes/thing/run.json", "annotations.coco.json"} <= set(found)
    with open_run(f"{store}/many") as folder:
        image = segvote.Run(folder / "classes/thing").read_image(0)
    assert image.shape == (120, 160, 3)


def test_a_run_folder_from_elsewhere_opens_no_store(memory, monkeypatch, tmp_path):
    run, _ = annotate(memory)
    copy = shutil.copytree(run.folder.path, tmp_path / "copy")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
    monkeypatch.setattr("segvote.io.stores._open_store", lambda uri: pytest.fail("a store was opened"))
    with open_run(copy) as folder:
        assert not segvote.Run(folder).find_source(0).exists()


def test_a_record_reads_no_other_bucket(memory, monkeypatch, tmp_path):
    annotate(memory)
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


def test_the_command_line_takes_addresses_and_says_them(store):
    options = ["--features", "color", "--n-segments", "40", "--size", "160", "--jobs", "1"]
    command = ["annotate", f"{store}/with/", f"{store}/without/", "-o", f"{store}/out/", *options]
    result = CliRunner().invoke(load_commands(), command, catch_exceptions=False)
    assert f"masks    {store}/out/masks\n" in result.output
    result = CliRunner().invoke(load_commands(), ["evaluate", f"{store}/out", "--truth", f"{store}/masks"])
    assert "CorLoc" in result.output


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
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    fsspec.filesystem("s3").mkdir("photos")
    upload(scenes, "s3://photos")
    yield "s3://photos"
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    running.stop()


def test_a_run_in_s3_has_the_bytes_of_a_run_on_disk(bucket, finished_run, monkeypatch, tmp_path):
    annotate(bucket)
    found = read_store(f"{bucket}/out")
    for path in (
        finished_run.folder.votes_path,
        finished_run.folder.coco_path,
        *finished_run.folder.path.rglob("*.png"),
    ):
        assert found[path.relative_to(finished_run.folder.path).as_posix()] == path.read_bytes()
    assert "get" not in annotate(bucket)[1]
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "elsewhere"))
    assert not {"segment and extract features", "vote"} & set(annotate(bucket)[1])
    with pytest.raises(BadInputError, match="no-such-bucket"):
        segvote.annotate("s3://no-such-bucket/with", f"{bucket}/without", f"{bucket}/other", QUICK)


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
