"""Films that are broken, empty, short or odd: one clear line each, or masks for all that can be read."""

import io
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image

from segvote import annotate
from segvote.cli.annotate import print_outcome
from segvote.io.masks import read_mask
from segvote.io.video.files import open_film_writer
from segvote.run.settings import Settings

av = pytest.importorskip("av")

SETTINGS = Settings(features="color", n_segments=12, size=64)
HEIGHT, WIDTH = 48, 64


def make_frame(seed, shows_object, number=0):
    rng = np.random.default_rng(seed)
    frame = rng.integers(40, 200, (6, 8, 3)).repeat(8, axis=0).repeat(8, axis=1) * [0.2, 1, 1]
    if shows_object:
        frame[16:32, 8 + 3 * number : 24 + 3 * number] = [220, 20, 20]
    return frame.astype(np.uint8)


def write_film(path, frames):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_film_writer(path) as writer:
        for number, frame in enumerate(frames):
            writer.write(frame, number / 10)
    return path


def write_pictures(path, sizes):
    """An AVI whose JPEG pictures have several sizes."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mjpeg", rate=10)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuvj420p"
        for number, size in enumerate(sizes):
            buffer = io.BytesIO()
            Image.fromarray(make_frame(5, True, number)).resize(size).save(buffer, "JPEG")
            packet = av.Packet(buffer.getvalue())
            packet.stream, packet.pts, packet.dts, packet.time_base = stream, number, number, Fraction(1, 10)
            packet.is_keyframe = True
            container.mux(packet)


@pytest.fixture
def folder(tmp_path):
    """Two good films with the object and two without."""
    for seed in range(4):
        frames = [make_frame(seed, seed < 2, number) for number in range(6)]
        write_film(tmp_path / ("with" if seed < 2 else "without") / f"good{seed}.mp4", frames)
    return tmp_path


def run_on(folder):
    return annotate(folder / "with", folder / "without", folder / "out", SETTINGS, n_jobs=1)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda film: b"", "the file is empty"),
        (lambda film: b"film" * 100, "not a video that can be opened"),
        (lambda film: film.replace(b"avc1", b"zzzz"), "codec"),
    ],
)
def test_a_film_that_cannot_be_read_is_told_in_one_line(folder, capsys, damage, reason):
    bad = folder / "with/bad.mp4"
    bad.write_bytes(damage((folder / "with/good0.mp4").read_bytes()))
    run = run_on(folder)
    assert len(run) == 4
    print_outcome(run)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "bad.mp4" in line]
    assert line.startswith("left out: ") and reason in line


def test_a_film_of_one_frame_is_a_video_with_one_mask(folder, capsys):
    write_film(folder / "with/one.mp4", [make_frame(7, True)])
    run = run_on(folder)
    record = run.bags[run.find("with/one.mp4")]
    assert record.n_frames == 1 and record.has_mask
    print_outcome(run)
    assert "5 videos, 0 images (if that is wrong: --frames images or --frames video)" in capsys.readouterr().out


def test_frames_of_several_sizes_have_masks_of_the_first(folder):
    write_pictures(folder / "with/sizes.avi", [(WIDTH, HEIGHT)] * 3 + [(2 * WIDTH, 2 * HEIGHT)] * 3)
    run = run_on(folder)
    paths = sorted((run.folder.path / "masks/with/sizes").iterdir())
    assert len(paths) == 6 and {read_mask(path).shape for path in paths} == {(HEIGHT, WIDTH)}
