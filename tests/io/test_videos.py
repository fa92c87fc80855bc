"""Films and folders of frames as streams of frames, and films that are written."""

import io
import os
import struct
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from PIL import Image

from segvote.errors import BadInputError, MissingPartError, UnreadableImageError
from segvote.io.video.files import open_film_writer, read_film
from segvote.io.video.reading import FRAME_RATE, VideoStream, hash_video, is_frame_folder

av = pytest.importorskip("av")


def make_frame(index, height=48, width=64):
    """A red corner that tells the orientation, and a white bar that grows with the number."""
    image = np.full((height, width, 3), 40, np.uint8)
    image[: height // 2, : width // 2] = [220, 30, 30]
    image[-8:, : 2 * index + 1] = 255
    return image


def read_bar(image):
    return round((np.count_nonzero(image[-4, :, 0] > 150) - 1) / 2)


def write_film(path, n_frames=12, codec="libx264", times=None, **options):
    clock = Fraction(1, 1000)
    with av.open(str(path), "w", options=options) as container:
        stream = container.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.time_base = clock
        stream.codec_context.gop_size = 4
        for index in range(n_frames):
            frame = av.VideoFrame.from_ndarray(make_frame(index), format="rgb24")
            frame.pts, frame.time_base = (100 * index if times is None else times[index]), clock
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return path


def write_folder(folder, n_frames=12, pattern="{:05d}.png"):
    folder.mkdir(parents=True)
    for index in range(n_frames):
        Image.fromarray(make_frame(index)).save(folder / pattern.format(index))
    return folder


@pytest.mark.parametrize(
    ("extension", "codec"),
    [("mp4", "libx264"), ("mov", "libx264"), ("mkv", "libx264"), ("webm", "libvpx-vp9"), ("avi", "mpeg4")],
)
def test_every_frame_comes_once_in_order(tmp_path, extension, codec):
    stream = VideoStream(write_film(tmp_path / f"a.{extension}", codec=codec))
    frames = list(stream)
    assert [frame.index for frame in frames] == list(range(12))
    assert [read_bar(frame.image) for frame in frames] == list(range(12))
    np.testing.assert_allclose([frame.time for frame in frames], np.arange(12) / 10, atol=2e-3)
    assert all(frame.image.shape == (48, 64, 3) and frame.image.dtype == np.uint8 for frame in frames)
    assert stream.problem == ""


def rotate_film(path, turns):
    """Write the display matrix of a phone that was turned clockwise by so many quarters."""
    data = bytearray(path.read_bytes())
    cosine, sine = [(1, 0), (0, 1), (-1, 0), (0, -1)][turns]
    place = data.index(b"tkhd") + 4 + 4 + 20 + 8 + 8
    matrix = [cosine << 16, sine << 16, 0, -sine << 16, cosine << 16, 0, 0, 0, 1 << 30]
    data[place : place + 36] = struct.pack(">9i", *matrix)
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_rotation_is_applied(tmp_path, turns):
    path = rotate_film(write_film(tmp_path / "a.mp4", n_frames=1), turns)
    image = next(iter(VideoStream(path))).image
    wanted = np.rot90(make_frame(0), -turns)
    assert image.shape == wanted.shape
    assert np.abs(image.astype(int) - wanted).mean() < 12


def test_a_truncated_film_gives_its_beginning(tmp_path):
    path = write_film(tmp_path / "a.mp4", n_frames=40, movflags="faststart")
    data = path.read_bytes()
    path.write_bytes(data[: int(0.85 * len(data))])
    stream = VideoStream(path)
    frames = list(stream)
    assert 4 < len(frames) < 40
    assert [read_bar(frame.image) for frame in frames[:5]] == list(range(5))
    assert "a.mp4" in stream.problem and "left out" in stream.problem


@pytest.mark.parametrize(
    "change",
    [
        lambda film: b"a letter",
        lambda film: b"",
        lambda film: b"#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n",
        lambda film: film[:2000],  # without its index
        lambda film: film.replace(b"avc1", b"zzzz"),  # of an unknown codec
    ],
)
def test_other_files_are_no_videos(tmp_path, change):
    path = write_film(tmp_path / "a.mp4", n_frames=40)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(UnreadableImageError, match=r"a\.mp4"):
        list(VideoStream(path))


def test_without_pyav_the_message_says_how_to_get_it(tmp_path, monkeypatch):
    path = write_film(tmp_path / "a.mp4")
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingPartError, match=r"pip install 'segvote\[video\]'"):
        next(read_film(path, []))


def test_every_nth_frame_keeps_its_number_and_time(tmp_path):
    frames = list(VideoStream(write_film(tmp_path / "a.mp4"), every=5))
    assert [frame.index for frame in frames] == [0, 5, 10]
    assert [read_bar(frame.image) for frame in frames] == [0, 5, 10]


def test_fps_follows_the_time_not_the_number(tmp_path):
    times = [0, 40, 80, 500, 520, 900, 2000, 2100]
    path = write_film(tmp_path / "a.mp4", n_frames=8, times=times)
    np.testing.assert_allclose([frame.time for frame in VideoStream(path)], np.array(times) / 1000, atol=1e-3)
    assert [frame.index for frame in VideoStream(path, fps=2)] == [0, 3, 6]
    assert len(list(VideoStream(path, fps=1000))) == 8


@pytest.mark.parametrize("options", [{"every": 0}, {"fps": 0}, {"fps": float("nan")}, {"every": 2, "fps": 5}])
def test_a_senseless_sampling_is_refused(tmp_path, options):
    path = write_folder(tmp_path / "a")
    with pytest.raises(BadInputError):
        VideoStream(path, **options)


def test_frames_are_read_in_the_order_of_their_numbers(tmp_path):
    folder = write_folder(tmp_path / "a", pattern="frame{}.png")
    frames = list(VideoStream(folder))
    assert [read_bar(frame.image) for frame in frames] == list(range(12))
    np.testing.assert_array_equal(frames[7].image, make_frame(7))
    assert frames[7].time == 7 / FRAME_RATE


def test_a_damaged_frame_is_left_out_and_reported(tmp_path):
    folder = write_folder(tmp_path / "a")
    (folder / "00003.png").write_bytes(b"x")
    stream = VideoStream(folder)
    assert [frame.index for frame in stream] == [0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]
    assert "00003.png" in stream.problem


def test_a_folder_of_damaged_frames_is_unreadable(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a/1.png").write_bytes(b"x")
    with pytest.raises(UnreadableImageError, match=r"1\.png"):
        list(VideoStream(tmp_path / "a"))
    (tmp_path / "b").mkdir()
    with pytest.raises(BadInputError, match="no picture"):
        VideoStream(tmp_path / "b")


def test_frames_of_another_size_are_brought_to_the_first(tmp_path):
    folder = write_folder(tmp_path / "a", n_frames=3)
    Image.fromarray(make_frame(2, 96, 128)).save(folder / "00002.png")
    assert {frame.image.shape for frame in VideoStream(folder)} == {(48, 64, 3)}


def test_numbered_pictures_that_look_alike_are_a_video(tmp_path):
    assert is_frame_folder(write_folder(tmp_path / "a"))
    assert not is_frame_folder(write_folder(tmp_path / "few", n_frames=4))
    (tmp_path / "a/notes.txt").touch()
    assert not is_frame_folder(tmp_path / "a")
    assert not is_frame_folder(tmp_path / "gone")


def test_numbered_photographs_are_no_video(tmp_path):
    rng = np.random.default_rng(0)
    for index in range(12):
        blocks = rng.integers(0, 256, (4, 4, 3), dtype=np.uint8).repeat(16, axis=0).repeat(16, axis=1)
        Image.fromarray(blocks).save(tmp_path / f"DSC_{index:04d}.png")
    assert not is_frame_folder(tmp_path)


def test_the_hash_is_that_of_the_content(tmp_path):
    first, second = write_folder(tmp_path / "a"), write_folder(tmp_path / "b")
    assert hash_video(first) == hash_video(second)
    Image.fromarray(make_frame(0)).save(second / "00005.png")
    assert hash_video(first) != hash_video(second)
    film = write_film(tmp_path / "a.mp4")
    assert len(hash_video(film)) == 64


@pytest.mark.parametrize("size", [(48, 64), (47, 63)])
def test_a_written_film_comes_back(tmp_path, size):
    path = tmp_path / "a.mp4"
    with open_film_writer(path) as writer:
        for index in range(12):
            writer.write(make_frame(index, *size), index / 10)
    frames = list(VideoStream(path))
    assert [read_bar(frame.image) for frame in frames] == list(range(12))
    np.testing.assert_allclose([frame.time for frame in frames], np.arange(12) / 10, atol=1e-4)
    assert frames[0].image.shape == (48, 64, 3)
    cropped = frames[5].image[: size[0], : size[1]].astype(int)
    assert np.abs(cropped - make_frame(5, *size)).mean() < 12


def test_a_written_film_is_what_browsers_play(tmp_path):
    path = tmp_path / "a.mp4"
    with open_film_writer(path) as writer:
        writer.write(make_frame(0), 0)
    with av.open(str(path)) as container:
        context = container.streams.video[0].codec_context
        assert (context.name, context.pix_fmt) == ("h264", "yuv420p")
    data = path.read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")


ENCODE_A_MOVING_SQUARE = """
import hashlib, sys
import numpy as np
from segvote.io.video.files import open_film_writer
rng = np.random.default_rng(0)
with open_film_writer(sys.argv[1]) as film:
    for number in range(6):
        frame = rng.integers(60, 120, (48, 64, 3)).astype(np.uint8)
        frame[10:30, 10 + 4 * number : 30 + 4 * number] = [220, 20, 20]
        film.write(frame, number / 25)
print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())
"""


def test_uninitialised_memory_does_not_change_a_film(tmp_path):
    # glibc fills new memory with this byte: an encoder that reads what it never wrote then writes other bytes.
    films = set()
    for byte in ("1", "165"):
        command = [sys.executable, "-c", ENCODE_A_MOVING_SQUARE, str(tmp_path / "film.mp4")]
        environment = os.environ | {"MALLOC_PERTURB_": byte}
        films.add(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)
    assert len(films) == 1


def test_a_failed_film_leaves_nothing_behind(tmp_path):
    with pytest.raises(BadInputError, match="at least one frame"), open_film_writer(tmp_path / "a.mp4"):
        pass
    with pytest.raises(BadInputError, match="one size"), open_film_writer(tmp_path / "a.mp4") as writer:
        writer.write(make_frame(0), 0)
        writer.write(make_frame(0, 64, 64), 1)
    assert list(tmp_path.iterdir()) == []


def test_later_frames_larger_than_the_first_are_left_out(tmp_path):
    """An AVI of JPEG pictures: the first of 64 x 48 pixels, then one of 50 million."""
    path = tmp_path / "a.avi"
    pictures = []
    for size in ((64, 48), (64, 48), (10_000, 5_000), (64, 48)):
        buffer = io.BytesIO()
        Image.new("RGB", size, "teal").save(buffer, "JPEG")
        pictures.append(buffer.getvalue())
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mjpeg", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuvj420p"
        for number, data in enumerate(pictures):
            packet = av.Packet(data)
            packet.stream, packet.pts, packet.dts, packet.time_base = stream, number, number, Fraction(1, 10)
            packet.is_keyframe = True
            container.mux(packet)
    frames = VideoStream(path)
    assert [frame.image.shape for frame in frames] == [(48, 64, 3)] * 3
    assert frames.problem
