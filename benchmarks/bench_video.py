"""Videos against their own stills: frame IoU, volume CorLoc, flicker; and time and memory.

Run ``python benchmarks/bench_video.py DATA ...`` with folders like ``video-cars`` (``with/<video>/``,
``without/<video>/``, ``masks/<video>/``). ``--lengths 100 1000`` measures time and peak memory of one video of so many
frames instead, ``--stills`` also those of all its frames as images.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

from harness import format_figures
from segvote import annotate
from segvote.evaluation.evaluate import evaluate
from segvote.io.images import resize_labels
from segvote.io.masks import read_mask
from segvote.io.video.reading import VideoStream, list_frames
from segvote.masks import scale_heat
from segvote.metrics.overlap import VIDEO_THRESHOLD, measure_iou
from segvote.run.run import Run
from segvote.run.settings import Settings
from segvote.run.videos import KeyFrames, list_frame_stems
from segvote.steps.video.draw import STEADINESS, draw_video
from segvote.steps.video.extract import survey_video


def _make_parent(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def write_stills(data: Path, folder: Path) -> Path:
    """The key frames of all videos as images, and their masks."""
    for kind in ("with", "without"):
        for video in sorted((data / kind).iterdir()):
            survey, frames = survey_video(VideoStream(video)), list_frames(video)
            for index in survey["key_indices"]:
                frame = frames[index]
                shutil.copy(frame, _make_parent(folder / kind / f"{video.name}-{frame.name}"))
                mask = data / "masks" / video.name / f"{frame.stem}.png"
                if kind == "with" and mask.exists():
                    shutil.copy(mask, _make_parent(folder / "masks" / f"{video.name}-{frame.stem}.png"))
    return folder


def measure_drawing(run: Run, index: int, masks: Path, steadiness: float) -> tuple[float, float]:
    """Mean frame IoU and mean flicker of a video drawn with more or less smoothing over time."""
    record, part = run.bags[index], run.get_slice(index)
    scores, decisions = run.votes["scores"][part], run.votes["decisions"][part].astype(bool)
    low = float(run.votes["scores"].min())
    heat = scale_heat(scores, record.threshold, low, float(scores.max())).astype(np.float32)
    free = np.full(len(heat), -1, np.int8)
    keys = KeyFrames.open(run.folder, record.segments, record.features)
    source = run.find_source(index)
    frames = draw_video(keys, source, heat, decisions, free, True, steadiness)
    stems = list_frame_stems(source, keys.arrays["frame_indices"])
    ious, flickers = [], []
    for stem, drawn in zip(stems, frames, strict=True):
        truth = read_mask(masks / f"{stem}.png")
        ious.append(measure_iou(resize_labels(drawn.mask, truth.shape), truth))  # type: ignore[arg-type]
        flickers.append(drawn.flicker)
    return float(np.mean(ious)), float(np.mean(flickers[1:]))


def compare(data: Path, scratch: Path) -> dict:
    """Figures of one data set as videos and as stills."""
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
        "data": data.name,
        "frame_iou": found.to_dict()["frame_miou"],
        "volume_corloc": found.to_dict()["video_corloc"],
        "stills_iou": evaluate(images, stills / "masks").to_dict()["miou"],
        "iou_unsmoothed": float(plain[0]),
        "flicker_unsmoothed": float(plain[1]),
        "flicker": float(steady[1]),
        "videos": {image.name: image.frame_iou for image in found.images},
    }


# Time and memory -----------------------------------------------------------------------------------------------------


def write_long_video(folder: Path, video: Path, n_frames: int) -> None:
    """A long video out of a short one, played forward and backward; the frames are links."""
    paths = list_frames(video)
    order = [*range(len(paths)), *range(len(paths) - 2, 0, -1)]
    folder.mkdir(parents=True)
    for number in range(n_frames):
        source = paths[order[number % len(order)]]
        (folder / f"{number:05d}{source.suffix}").symlink_to(source.resolve())


def measure_long(data: Path, n_frames: int, frames: str) -> dict[str, float]:
    """Peak memory in MB after each step, and seconds, for a video with and one without the object."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in ("with", "without"):
            write_long_video(folder / kind / "video", min((data / kind).iterdir()), n_frames)
        started, found = time.perf_counter(), {}

        def note_peak(step: str, done: int, total: int) -> None:
            found[step] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

        folders = [folder / name for name in ("with", "without", "out")]
        annotate(*folders, Settings(frames=frames), n_jobs=1, progress=note_peak)
        cpu = time.process_time()
        seconds = time.perf_counter() - started
        return {
            **found,
            "processor_seconds": cpu,
            "frames_per_processor_second": 2 * n_frames / cpu,
            "seconds": seconds,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="*")
    parser.add_argument("--lengths", type=int, nargs="*", default=[])
    parser.add_argument("--stills", action="store_true")
    parser.add_argument("--alone", nargs=2)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(measure_long(options.data[0], int(options.alone[0]), options.alone[1])))
        return
    for n_frames, frames in product(options.lengths, ("video", "images") if options.stills else ("video",)):
        command = [sys.executable, __file__, str(options.data[0]), "--alone", str(n_frames), frames]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(
            f"{n_frames} frames as {frames}, load {os.getloadavg()[0]:.0f}", format_figures(found), sep="\n", flush=True
        )
    if options.lengths:
        return
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for data in options.data:
            rows.append(compare(data, Path(name) / "runs" / data.name))
            print(data.name, format_figures(rows[-1]), sep="\n", flush=True)
    print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
