"""Film files through PyAV: decoding with rotation and times, and writing H.264 that browsers play.

PyAV is optional and imported when the first film is opened. Only local files of known containers are opened: a play
list that names addresses on the network is an unknown format.
"""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from segvote.errors import BadInputError, MissingPartError, UnreadableImageError
from segvote.io.decoding import check_regular_file
from segvote.io.files import atomic_path

CONTAINERS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi"
FRAME_RATE = 25  # where a source has no times; nominal in a written film, whose frames have their own
CLOCK = Fraction(1, 90_000)  # of written films: fine enough for any frame rate
# Deterministic: x264's macroblock tree reads uninitialised memory, and the work of two threads depends on timing. The
# preset takes half the time of *veryfast* for one and a half times the bytes.
ENCODING = {"crf": "26", "preset": "ultrafast", "threads": "1", "mbtree": "0"}
# The largest frame that is decoded: 8K has 33 million pixels, and a decoder holds up to seventeen frames at once.
MAX_FRAME_PIXELS = 40_000_000
TAIL_TOLERANCE = 0.5  # seconds by which a container may overstate the length of its video


def import_av() -> Any:
    """Import PyAV, or raise an error that names the extra."""
    try:
        import av
    except ImportError as error:
        raise MissingPartError("videos need PyAV, which is not installed: pip install 'segvote[video]'") from error
    return av


@dataclass(frozen=True)
class Frame:
    """One frame of a video."""

    index: int  # its number in the source, from 0; frames that are left out are counted
    time: float  # seconds since the first frame
    image: np.ndarray  # (h, w, 3) uint8 RGB, rotation applied


def read_film(path: Path, problems: list[str], wanted: Container[int] | None = None) -> Iterator[Frame]:
    """Decode a film frame by frame.

    A line for each damaged part is appended to `problems`. With `wanted`, only the first frame and those of these
    numbers are converted.
    """
    check_regular_file(path)
    with _open_container(path) as (container, stream):
        rate = float(stream.average_rate or stream.guessed_rate or FRAME_RATE)
        start, seconds, index = 0.0, 0.0, -1
        for index, frame in enumerate(_decode(container, stream, problems)):
            if index and wanted is not None and index not in wanted:
                continue
            seconds = index / rate if frame.time is None else float(frame.time)
            start = start if index else seconds
            turns = round(getattr(frame, "rotation", 0) / 90) % 4  # of the display matrix, which phones write
            image = np.rot90(frame.to_ndarray(format="rgb24"), turns)
            yield Frame(index, seconds - start, np.ascontiguousarray(image))
        _report_missing_tail(container, stream, index + 1, seconds - start, problems)


@contextlib.contextmanager
def _open_container(path: Path) -> Iterator[tuple[Any, Any]]:
    av = import_av()
    options = {"format_whitelist": CONTAINERS, "protocol_whitelist": "file"}
    try:
        container = av.open(str(path), options=options)
    except (av.error.FFmpegError, ValueError) as error:
        raise UnreadableImageError(f"{path}: not a video that can be opened ({_describe_error(error)})") from error
    with container:
        if not container.streams.video:
            raise UnreadableImageError(f"{path}: holds no video, only {len(container.streams)} other stream(s)")
        stream = container.streams.video[0]
        if stream.codec_context is None:
            raise UnreadableImageError(f"{path}: its video is of a codec that is not known here; convert it to H.264")
        width, height = stream.codec_context.width, stream.codec_context.height
        if width * height > MAX_FRAME_PIXELS:
            raise UnreadableImageError(f"{path}: too large, {width} x {height} pixels a frame; make it smaller")
        stream.thread_type = "AUTO"
        # Frames may be larger than the header claims; the decoder checks each before it allocates memory.
        stream.codec_context.options = {"max_pixels": str(MAX_FRAME_PIXELS)}
        yield container, stream


def _decode(container: Any, stream: Any, problems: list[str]) -> Iterator[Any]:
    """Frames of all packets; after a damaged one, packets are skipped until the next key frame."""
    av, wait_for_key = import_av(), False
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets, None)
            if packet is None:
                return
            if wait_for_key and packet.size and not packet.is_keyframe:
                continue
            frames = packet.decode()
            wait_for_key = False
        except av.error.EOFError:
            return
        except av.error.FFmpegError as error:
            if wait_for_key or not problems:
                problems.append(f"{container.name}: damaged part left out ({_describe_error(error)})")
            if wait_for_key and isinstance(error, OSError):
                return  # the file itself cannot be read on
            wait_for_key = True
            continue
        yield from frames


def _report_missing_tail(container: Any, stream: Any, n_frames: int, last_time: float, problems: list[str]) -> None:
    # Only the mp4 family stores the number of frames: AVI counts ticks of its clock, Matroska has no number.
    n_announced = stream.frames if container.format.name.startswith("mov") else 0
    length = (container.duration or 0) / 1e6
    tolerance = TAIL_TOLERANCE + 1 / float(stream.average_rate or 25)
    if n_announced > n_frames:
        missing = f"{n_announced} frames announced, {n_frames} readable"
    elif not n_announced and length - last_time > tolerance:
        missing = f"{length:.1f} s announced, {last_time:.1f} s readable"
    else:
        return
    problems.append(f"{container.name}: {missing}; the rest is left out")


def _describe_error(error: Exception) -> str:
    """The first line of an error without the path."""
    return str(getattr(error, "strerror", "") or error).splitlines()[0]


class FilmWriter:
    """Takes frames and encodes them; made by `open_film_writer`."""

    def __init__(self, container: Any) -> None:
        self._container, self._last = container, -1
        self.stream: Any = None

    def write(self, image: np.ndarray, time: float) -> None:
        """Add a frame, (h, w, 3) uint8 RGB of the size of the first, shown at a time in seconds; times must grow.

        An odd side gains one pixel by repeating its last row or column, because H.264 with halved colours has even
        sides only.
        """
        image = np.pad(image, ((0, image.shape[0] % 2), (0, image.shape[1] % 2), (0, 0)), mode="edge")
        if self.stream is None:
            self.stream = stream = self._container.add_stream("libx264", rate=FRAME_RATE)
            stream.height, stream.width = image.shape[:2]
            stream.pix_fmt, stream.options, stream.codec_context.time_base = "yuv420p", dict(ENCODING), CLOCK
        if image.shape[:2] != (self.stream.height, self.stream.width):
            raise BadInputError(f"all frames of a film have one size; got {image.shape[:2]} after another; resize it")
        # Two frames may not share a tick, however close a damaged clock puts them.
        self._last = max(round(time / CLOCK), self._last + 1)
        frame = import_av().VideoFrame.from_ndarray(image, format="rgb24")
        frame.pts, frame.time_base = self._last, CLOCK
        self._container.mux(self.stream.encode(frame))


@contextlib.contextmanager
def open_film_writer(path: Path | str) -> Iterator[FilmWriter]:
    """Write an mp4 that plays in a browser (H.264, yuv420p, index in front), whole or not at all."""
    av = import_av()
    options = {"movflags": "faststart"}
    with atomic_path(path) as temporary, av.open(str(temporary), "w", format="mp4", options=options) as container:
        writer = FilmWriter(container)
        yield writer
        if writer.stream is None:
            raise BadInputError("a film needs at least one frame; none was written")
        container.mux(writer.stream.encode())  # frames that the encoder has buffered
