"""`predict` in blocks: shards, a killed command continued, any number of workers."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

from segvote import predict
from segvote.errors import UnreadableImageError
from segvote.io.shards import read_shard
from segvote.pipeline import blocks
from segvote.pipeline import predict as folder_prediction

N_IMAGES = 5  # of a shard, in these tests
RATE = 0.3


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "N_IMAGES", N_IMAGES)


@pytest.fixture
def images(scenes, tmp_path):
    """Twelve images and one that cannot be read: three blocks."""
    for name in ("with", "without"):
        shutil.copytree(scenes / name, tmp_path / "images" / name)
    (tmp_path / "images/with/with-002b.png").write_bytes(b"no picture")
    return tmp_path / "images"


@pytest.fixture
def model(finished_run):
    return finished_run.folder.path


@pytest.fixture
def undisturbed(model, images, tmp_path):
    found = predict(model, images, tmp_path / "undisturbed", n_jobs=1, false_positive_rate=RATE)
    assert any(one.contains for one in found.images)
    return read_files(tmp_path / "undisturbed")


def read_files(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in ("log.jsonl", ".lock")]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def count_read(monkeypatch):
    """Names of the images whose files are read from now on."""
    read, hash_bag = [], folder_prediction.hash_bag
    monkeypatch.setattr(folder_prediction, "hash_bag", lambda bag: (read.append(bag.name), hash_bag(bag))[1])
    return read


def list_rows(folder):
    return [row for path in sorted((folder / "shards").iterdir()) for row in read_shard(path)]


def test_rows_of_the_shards_are_the_predictions(model, images, tmp_path):
    found = predict(model, images, tmp_path / "out", n_jobs=1, false_positive_rate=RATE)
    rows = list_rows(tmp_path / "out")
    assert [len(read_shard(path)) for path in sorted((tmp_path / "out/shards").iterdir())] == [5, 5, 3]
    good = [row for row in rows if not row["problem"]]
    assert [{name: row[name] for name in found.to_table()[0]} for row in good] == found.to_table()
    assert [row["name"] for row in rows if row["problem"]] == ["with/with-002b.png"] == [found.problems[0].name]


def test_the_same_bytes_for_any_number_of_workers(model, images, tmp_path, undisturbed):
    predict(model, images, tmp_path / "two", n_jobs=2, false_positive_rate=RATE)
    assert read_files(tmp_path / "two") == undisturbed


@pytest.mark.parametrize("n_done", [0, 1, 2])
def test_a_stopped_prediction_is_continued(model, images, tmp_path, undisturbed, monkeypatch, n_done):
    with monkeypatch.context() as patch:
        written, write = [], blocks.write_shard

        def stop(path, rows):
            if len(written) == n_done:
                raise KeyboardInterrupt
            written.append(path)
            write(path, rows)

        patch.setattr(blocks, "write_shard", stop)
        with pytest.raises(KeyboardInterrupt):
            predict(model, images, tmp_path / "out", n_jobs=1, false_positive_rate=RATE)
    read = count_read(monkeypatch)
    predict(model, images, tmp_path / "out", n_jobs=1, false_positive_rate=RATE)
    assert len(read) == 13 - n_done * N_IMAGES
    assert read_files(tmp_path / "out") == undisturbed


def test_a_finished_prediction_reads_no_image(model, images, tmp_path, undisturbed, monkeypatch):
    read = count_read(monkeypatch)
    predict(model, images, tmp_path / "undisturbed", n_jobs=1, false_positive_rate=RATE)
    assert read == [] and read_files(tmp_path / "undisturbed") == undisturbed


def test_a_changed_image_is_predicted_again(model, images, tmp_path, undisturbed, monkeypatch):
    read, path = count_read(monkeypatch), images / "without/without-005.png"
    shutil.copy(images / "with/with-000.png", path)
    found = predict(model, images, tmp_path / "undisturbed", n_jobs=1, false_positive_rate=RATE)
    assert len(read) == 3 and len(found) == 12  # its block alone
    assert found.images[-1].score == found.images[0].score


def test_lost_masks_and_damaged_shards_are_made_again(model, images, tmp_path, undisturbed):
    out = tmp_path / "undisturbed"
    next((out / "masks").rglob("*.png")).unlink()
    sorted((out / "shards").iterdir())[-1].write_bytes(b"{")
    predict(model, images, out, n_jobs=1, false_positive_rate=RATE)
    assert read_files(out) == undisturbed


def test_shards_of_another_rate_are_replaced(model, images, tmp_path, undisturbed):
    out = tmp_path / "undisturbed"
    predict(model, images, out, false_positive_rate=0.5, n_jobs=1)
    assert len(list((out / "shards").iterdir())) == 3
    predict(model, images, out, n_jobs=1, false_positive_rate=RATE)
    # Superpixels of images that show the object at the other rate stay for later use.
    assert {name: data for name, data in read_files(out).items() if "superpixels" not in name} == {
        name: data for name, data in undisturbed.items() if "superpixels" not in name
    }


def test_progress_counts_images_to_the_end(model, images, tmp_path):
    reports = []
    predict(
        model,
        images,
        tmp_path / "out",
        n_jobs=1,
        false_positive_rate=RATE,
        progress=lambda *report: reports.append(report),
    )
    done = [done for step, done, total in reports if step == blocks.STEP and total == 13]
    assert done == sorted(done) and done[-1] == 13


def test_strict_names_the_image_in_a_finished_block_too(model, images, tmp_path, undisturbed):
    with pytest.raises(UnreadableImageError, match="with-002b"):
        predict(model, images, tmp_path / "undisturbed", strict=True, n_jobs=1, false_positive_rate=RATE)


def test_parquet_shards_hold_the_same_rows(model, images, tmp_path, undisturbed):
    pytest.importorskip("pyarrow")
    predict(model, images, tmp_path / "out", shards="parquet", n_jobs=1, false_positive_rate=RATE)
    assert list_rows(tmp_path / "out") == list_rows(tmp_path / "undisturbed")
    rest = [
        {name: data for name, data in files.items() if "shards" not in name}
        for files in (read_files(tmp_path / "out"), undisturbed)
    ]
    assert rest[0] == rest[1]


SCRIPT = """
import sys
from segvote import predict
from segvote.pipeline import blocks
blocks.N_IMAGES = 5
predict(*sys.argv[1:], n_jobs=1, false_positive_rate=0.3)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal")
def test_a_killed_process_is_continued(model, images, tmp_path, undisturbed):
    out = tmp_path / "out"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(model), str(images), str(out)])
    while process.poll() is None and not list(out.glob("shards/part-*.jsonl")):
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    predict(model, images, out, n_jobs=1, false_positive_rate=RATE)
    assert read_files(out) == undisturbed
