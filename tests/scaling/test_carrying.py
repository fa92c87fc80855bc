"""Workers that see nothing of this machine's disk write the bytes that it would write itself."""

import contextlib
import copy
import shutil

import numpy as np
import pytest
from PIL import Image

from segvote.errors import SegvoteError
from segvote.io.images import read_image
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings
from segvote.scaling.carrying import Carrier, _Parcel, _read_files
from segvote.steps.annotate import annotate
from segvote.steps.prediction.predict import predict
from segvote.steps.workers import get_others, work_with
from segvote.steps.write import MaskWriter

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})


def work_blindly(*folders):
    """A worker for whom the folders are not there while it works; all that it gets is a copy."""

    def run_on_all(function, items):
        for item in items:
            sent, far = copy.deepcopy(item), copy.deepcopy(function)
            with contextlib.ExitStack() as stack:
                for folder in folders:
                    stack.enter_context(hidden(folder))
                made = far(sent)
            yield made

    return work_with(Carrier(run_on_all), shares_disk=False)


@contextlib.contextmanager
def hidden(folder):
    if not folder.exists():
        yield
        return
    folder.rename(folder.with_name(f"{folder.name} hidden"))
    try:
        yield
    finally:
        assert not folder.exists(), "it wrote where it must not"
        folder.with_name(f"{folder.name} hidden").rename(folder)


@pytest.fixture
def places(scenes, tmp_path):
    """A folder for images, which may be hidden, and one for a run beside it."""
    shutil.copytree(scenes, tmp_path / "images" / "scenes")
    return tmp_path / "images" / "scenes", tmp_path / "runs" / "run"


def read_files(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "log.jsonl"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def annotate_twice(images, out, settings, **options):
    """The files of the same run, by workers who see nothing and by this process."""
    found = []
    for others in (work_blindly(images.parent, out.parent), contextlib.nullcontext()):
        with others:
            annotate(images / "with", images / "without", out, settings, n_jobs=1, **options)
        found.append(read_files(out))
        shutil.rmtree(out)
    return found


def test_the_same_bytes_and_the_same_words_of_what_cannot_be_read(places):
    images, out = places
    broken = images / "without" / "broken.png"
    broken.write_bytes(next((images / "with").iterdir()).read_bytes()[:300])
    far, near = annotate_twice(images, out, QUICK)
    assert far == near
    assert b"broken.png" in far["run.json"] and b"segvote-" not in far["run.json"]


def test_what_cannot_be_read_is_left_for_the_worker_to_name(tmp_path):
    (tmp_path / "there").write_bytes(b"x")
    (tmp_path / "folder").mkdir()
    paths = [tmp_path / "there", tmp_path / "gone", tmp_path / "folder"]
    assert _read_files(paths) == {str(tmp_path / "there"): b"x"}


def test_label_maps_are_sent_along(places):
    images, out = places
    for bag_label in ("with", "without"):
        for path in (images / bag_label).iterdir():
            height, width = read_image(path).shape[:2]
            labels = (
                np.arange(8).repeat(-(-height // 8))[:height, None] * 8 + np.arange(8).repeat(-(-width // 8))[:width]
            )
            target = images / "maps" / bag_label / f"{path.stem}.npy"
            target.parent.mkdir(parents=True, exist_ok=True)
            np.save(target, labels.astype(np.int32))
    far, near = annotate_twice(images, out, QUICK, segments=images / "maps")
    assert far == near


def test_videos_are_sent_whole(tmp_path):
    clips, rng = tmp_path / "images" / "clips", np.random.default_rng(0)
    for video in ("with/a", "with/b", "without/a", "without/b"):
        (clips / video).mkdir(parents=True)
        for number in range(6):
            frame = rng.integers(60, 120, (48, 64, 3)).astype(np.uint8)
            if video.startswith("with/"):
                frame[10:30, 10 + 4 * number : 30 + 4 * number] = [220, 20, 20]
            Image.fromarray(frame).save(clips / video / f"{number:05d}.png")
    settings = Settings(features="color", n_segments=20, size=64, frames="video", voter_options={"n_neighbors": 5})
    far, near = annotate_twice(clips, tmp_path / "runs" / "run", settings)
    assert far == near and any(name.startswith("films/") for name in far)


def test_images_never_seen_are_predicted_alike(places, run_copy):
    images, out = places
    with work_blindly(images.parent, out.parent):
        predict(run_copy, images / "with", out, n_jobs=1)
    far = read_files(out)
    shutil.rmtree(out)
    predict(run_copy, images / "with", out, n_jobs=1)
    assert far == read_files(out)


def test_who_sees_no_disk_is_not_asked_to_search():
    with work_with(map):
        assert get_others() is map
    with work_with(map, shares_disk=False):
        assert get_others() is None


def test_a_file_that_is_none_of_the_run_is_refused(tmp_path):
    carrier = Carrier(lambda function, items: iter([_Parcel(0.5, {str(tmp_path / "run" / ".." / "other"): b""})]))
    with pytest.raises(SegvoteError, match="trust no such worker"):
        list(carrier(MaskWriter(RunFolder(tmp_path / "run"), QUICK), []))
    assert not (tmp_path / "other").exists()
