"""Videos against their own stills: frame IoU, volume CorLoc, flicker; and time and memory.

    python benchmarks/bench_video.py SET ... [--part quality|supervoxels|time|length|supervoxel-length] [--quick]

A SET is a folder like ``video-cars`` (``with/<video>/``, ``without/<video>/``, ``masks/<video>/``).

- ``quality``: figures of videos, and of their key frames as images in one folder.
- ``supervoxels``: figures of videos with ``--segmenter supervoxels``; the limit is that of its segments, labelled by
  the truth.
- ``time``: processor seconds and peak memory of one video with and one without the object of the first SET, 30 frames
  each, as videos and with every frame as an image.
- ``length``: the same as videos of 100 and 1,000 frames, made by playing the frames forward and backward;
  ``supervoxel-length``: with supervoxels.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from harness import Given, read_peak, run_alone, run_parts
from segvote import annotate, evaluate
from segvote.io.images import resize_labels
from segvote.io.masks import read_mask
from segvote.io.video.reading import VideoStream, list_frames
from segvote.masks import scale_heat
from segvote.metrics.overlap import VIDEO_THRESHOLD, measure_iou
from segvote.pipeline.video.draw import STEADINESS, draw_video
from segvote.pipeline.video.extract import survey_video
from segvote.run.run import Run
from segvote.run.videos import KeyFrames, list_frame_stems
from segvote.selection import make_selection
from segvote.settings import Settings


def write_stills(data: Path, folder: Path) -> Path:
    """The key frames of all videos as images, and their masks."""
    for kind in ("with", "without", "masks"):
        (folder / kind).mkdir(parents=True)
    for video in sorted(data.glob("with*/*")):
        frames = list_frames(video)
        for index in survey_video(VideoStream(video))["key_indices"]:
            frame = frames[index]
            shutil.copy(frame, folder / video.parent.name / f"{video.name}-{frame.name}")
            mask = data / "masks" / video.name / f"{frame.stem}.png"
            if video.parent.name == "with" and mask.exists():
                shutil.copy(mask, folder / "masks" / f"{video.name}-{frame.stem}.png")
    return folder


def measure_drawing(run: Run, index: int, masks: Path, steadiness: float) -> tuple[float, float]:
    """Mean frame IoU and mean flicker of a video drawn with more or less smoothing over time."""
    record, part = run.bags[index], run.get_slice(index)
    scores, selected = run.votes["scores"][part], run.votes["selected"][part].astype(bool)
    low = float(run.votes["scores"].min())
    heat = scale_heat(scores, record.threshold, low, float(scores.max())).astype(np.float32)
    keys = KeyFrames.open(run.folder, record.segments, record.features)
    source = run.find_source(index)
    frames = draw_video(keys, source, heat, make_selection(scores, selected, record.threshold), True, steadiness)
    stems = list_frame_stems(source, keys.arrays["frame_indices"])
    ious, flickers = [], []
    for stem, drawn in zip(stems, frames, strict=True):
        truth = read_mask(masks / f"{stem}.png")
        ious.append(measure_iou(resize_labels(drawn.mask, truth.shape), truth))  # type: ignore[arg-type]
        flickers.append(drawn.flicker)
    return float(np.mean(ious)), float(np.mean(flickers[1:]))


def compare(data: Path, scratch: Path) -> dict[str, Any]:
    """Figures of one set as videos and as stills."""
    videos = annotate(data / "with", data / "without", scratch / "videos", Settings(frames="video"))
    found = evaluate(videos, data / "masks", threshold=VIDEO_THRESHOLD)
    stills = write_stills(data, scratch / "stills")
    images = annotate(stills / "with", stills / "without", scratch / "images", Settings(frames="images"))
    shown = [index for index, bag in enumerate(videos.bags) if bag.bag_label == "with"]
    masks = [data / "masks" / Path(videos.bags[index].name).stem for index in shown]
    plain, steady = (
        np.mean([measure_drawing(videos, *pair, share) for pair in zip(shown, masks, strict=True)], axis=0)
        for share in (0.0, STEADINESS)
    )
    return {
        "frame_iou": found.to_dict()["frame_miou"],
        "volume_corloc": found.to_dict()["video_corloc"],
        "stills_iou": evaluate(images, stills / "masks").to_dict()["miou"],
        "iou_unsmoothed": float(plain[0]),
        "flicker_unsmoothed": float(plain[1]),
        "flicker": float(steady[1]),
        "videos": {image.name: image.frame_iou for image in found.images},
    }


def measure_supervoxels(given: Given) -> dict[str, Any]:
    """Figures of the sets with supervoxels as segments."""
    figures = {}
    for data in given.sets:
        settings = Settings(frames="video", segmenter="supervoxels")
        run = annotate(data / "with", data / "without", given.scratch / f"{data.name}-supervoxels", settings)
        found = evaluate(run, data / "masks", threshold=VIDEO_THRESHOLD)
        names = {"frame_iou": "frame_miou", "volume_corloc": "video_corloc", "limit": "limit_miou", "ap": "segment_ap"}
        figures[data.name] = {
            **{name: found.to_dict()[key] for name, key in names.items()},
            "videos": {image.name: image.frame_iou for image in found.images},
        }
    return figures


# Time and memory -----------------------------------------------------------------------------------------------------


def write_long_video(folder: Path, video: Path, n_frames: int) -> None:
    """A long video out of a short one, played forward and backward; the frames are links."""
    paths = list_frames(video)
    order = [*range(len(paths)), *range(len(paths) - 2, 0, -1)]
    folder.mkdir(parents=True)
    for number in range(n_frames):
        source = paths[order[number % len(order)]]
        (folder / f"{number:05d}{source.suffix}").symlink_to(source.resolve())


def measure_long(data: Path, n_frames: int, frames: str, segmenter: str = Settings.segmenter) -> dict[str, float]:
    """Peak memory in MB after each step, and processor seconds, for a video with and one without the object."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in ("with", "without"):
            write_long_video(folder / kind / "video", min((data / kind).iterdir()), n_frames)
        found = {}

        def note_peak(step: str, done: int, total: int) -> None:
            found[step] = 1024 * read_peak()

        folders = [folder / name for name in ("with", "without", "out")]
        annotate(*folders, Settings(frames=frames, segmenter=segmenter), n_jobs=1, progress=note_peak)
        cpu = time.process_time()
        return {**found, "processor_seconds": cpu, "frames_per_processor_second": 2 * n_frames / cpu}


def measure_time(given: Given) -> dict[str, Any]:
    return {frames: run_alone(measure_long, given.sets[0], 30, frames) for frames in ("video", "images")}


def measure_lengths(given: Given, segmenter: str = Settings.segmenter) -> dict[str, Any]:
    lengths = (20, 60) if given.quick else (100, 1000)
    return {str(length): run_alone(measure_long, given.sets[0], length, "video", segmenter) for length in lengths}


def measure_supervoxel_lengths(given: Given) -> dict[str, Any]:
    return measure_lengths(given, "supervoxels")


def compare_all(given: Given) -> dict[str, Any]:
    return {data.name: compare(data, given.scratch / data.name) for data in given.sets}


if __name__ == "__main__":
    parts = {
        "quality": compare_all,
        "supervoxels": measure_supervoxels,
        "time": measure_time,
        "length": measure_lengths,
        "supervoxel-length": measure_supervoxel_lengths,
    }
    run_parts(__doc__, parts)
