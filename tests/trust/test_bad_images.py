"""Every file of the corpus is read or refused by name: no crash, no hang, no memory above the bound."""

import json
import multiprocessing
import resource
import time
from concurrent.futures import ProcessPoolExecutor

import pytest
from corpus import MAKERS, make_corpus

from segvote.errors import UnreadableImageError
from segvote.io.images import hash_file, list_images, read_image, read_image_size

MAX_MEGABYTES = 2048  # of the whole process, whatever the file: 100 million pixels with transparency take 1,941
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
    return *answer, time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def find_fault(exhibit, answer):
    """What is wrong with an answer, or None."""
    kind, message, seconds, megabytes = answer
    if kind not in ("read", "refused") or (exhibit.is_bad is not None and (kind == "refused") != exhibit.is_bad):
        return f"{kind}: {message}"
    if kind == "refused" and exhibit.path.name.split(" ")[0] not in message:
        return f"not named: {message}"
    return f"{seconds:.1f} s, {megabytes} MB" if seconds > MAX_SECONDS or megabytes > MAX_MEGABYTES else None


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("n_files", [100, pytest.param(2100, marks=pytest.mark.slow)])
def test_bad_files_are_read_or_named(tmp_path, ledger, n_files):
    lost = 0
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        for exhibit in make_corpus(tmp_path / "corpus", n_files, seed=n_files):
            if fault := find_fault(exhibit, process.submit(read, exhibit.path).result(timeout=600)):
                print(exhibit.path.name, fault)
                lost += 1
    ledger(f"bad and odd image files read, of {len(MAKERS)} kinds", n_files, lost)


def test_a_run_names_every_bad_file_in_one_line_each(stage, world, ledger):
    folder = world.work / "with"
    exhibits = make_corpus(folder, len(MAKERS), seed=5)
    for path in (world.scenes / "with").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    done = stage.run(*world.type(f"annotate {folder} WITHOUT -o OUT --jobs 1 SMALL"))
    assert done["code"] == 0, done["errors"]
    record = json.loads((world.out / "run.json").read_text())
    named, kept = ({one["name"] for one in record[kind]} for kind in ("problems", "bags"))
    listed = {f"with/{path.relative_to(folder).as_posix()}" for path in list_images(folder)}
    missing = [name for name in listed if name.encode("utf-8", "replace").decode() not in {*named, *kept}]
    silent = [one for one in exhibits if one.is_bad and f"with/{one.path.name}" in kept]
    ledger("bad files in the folders of `annotate`, each named", len(exhibits), len(missing) + len(silent))
    # A damaged copy of a picture may be the near-duplicate of one in the other folder.
    lines = [line for line in done["errors"].splitlines() if not line.startswith("near-duplicates")]
    assert len([line for line in lines if line.startswith("left out: ")]) == len(named)
    assert "\x1b" not in done["errors"]
