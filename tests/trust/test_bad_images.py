"""Every file of the corpus is read or refused by name: no crash, no hang, bounded memory."""

import json
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from corpus import MAKERS, make_corpus

from segvote.errors import UnreadableImageError
from segvote.io.images import hash_file, list_images, read_image, read_image_size

MAX_MEGABYTES = 2048  # of the whole process: 100 million pixels with transparency take 1,941
MAX_SECONDS = 10.0  # of the processor


def read(path):
    """Kind, message, seconds of the processor, megabytes of the whole process so far."""
    started = time.process_time()
    try:
        image = read_image(path)
        read_image_size(path)
        hash_file(path)
        answer = "read" if image.dtype == "uint8" and image.ndim == 3 else "no picture", str(image.shape)
    except UnreadableImageError as error:
        answer = "refused", str(error)
    except Exception as error:
        answer = "crashed", f"{type(error).__name__}: {error}"
    return *answer, time.process_time() - started, read_peak()


def read_peak():
    """Megabytes that this process had at most. `ru_maxrss` would do, but a child inherits that of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) // 1024


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("n_files", [100, pytest.param(2100, marks=pytest.mark.slow)])
def test_bad_files_are_read_or_named(tmp_path, n_files):
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        for exhibit in make_corpus(tmp_path / "corpus", n_files, seed=n_files):
            kind, message, seconds, megabytes = process.submit(read, exhibit.path).result(timeout=600)
            allowed = {None: ("read", "refused"), True: ("refused",), False: ("read",)}[exhibit.is_bad]
            assert kind in allowed, (exhibit, message)
            assert kind == "read" or exhibit.path.name.split(" ")[0] in message
            assert seconds < MAX_SECONDS and megabytes < MAX_MEGABYTES, (exhibit, seconds, megabytes)


def test_a_run_names_every_bad_file_in_one_line_each(stage, world):
    folder = world.work / "with"
    exhibits = make_corpus(folder, len(MAKERS), seed=5)
    for path in (world.scenes / "with").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    done = stage.run(*world.type(f"annotate {folder} WITHOUT -o OUT --jobs 1 SMALL"))
    assert done["code"] == 0, done["errors"]
    record = json.loads((world.out / "run.json").read_text())
    named, kept = ({one["name"] for one in record[kind]} for kind in ("problems", "bags"))
    listed = {f"with/{path.relative_to(folder).as_posix()}" for path in list_images(folder)}
    assert listed <= named | kept
    assert not {f"with/{one.path.name}" for one in exhibits if one.is_bad} & kept
    # A damaged copy of a picture may be the near-duplicate of one in the other folder.
    lines = [line for line in done["errors"].splitlines() if not line.startswith("near-duplicates")]
    assert len([line for line in lines if line.startswith("left out: ")]) == len(named)
    assert "\x1b" not in done["errors"]
