"""Supervoxels against truth, beside SLIC in space-time at the same count; and memory for short and long videos.

Run ``python benchmarks/bench_video.py DATA`` with a folder like ``video-cars`` (``with/<video>/`` frames and
``masks/<video>/``); the last line is JSON. ``--memory-only N`` is the part that runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from segmentation_quality import find_outline, measure_boundary_recall
from segvote.io.images import read_image, resize_image, resize_labels
from segvote.io.masks import read_mask
from segvote.io.video.reading import list_frames, open_video
from segvote.segmentation.clips import segment_slic_clip
from segvote.segmentation.supervoxels import stream_supervoxels

SIZE = 400
LENGTHS = (50, 200, 800)


def read_clip(folder: Path, n_frames: int) -> np.ndarray:
    """(frames, h, w, 3) uint8 at working size."""
    frames = []
    for frame in open_video(folder):
        frames.append(resize_image(frame.image, SIZE))
        if len(frames) == n_frames:
            break
    return np.stack(frames)


def read_truth(folder: Path, shape: tuple[int, ...]) -> np.ndarray:
    """(frames, h, w) bool."""
    paths = list_frames(folder)[: shape[0]]
    return np.stack([resize_labels(read_mask(path) == 255, shape[1:3]) for path in paths])  # type: ignore[arg-type]


def measure_quality(labels: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Achievable accuracy, IoU of the majority supervoxels, boundary recall (2 px), number, mean length in frames."""
    n_supervoxels = int(labels.max()) + 1
    inside = np.bincount(labels[truth], minlength=n_supervoxels)
    areas = np.bincount(labels.ravel(), minlength=n_supervoxels)
    found = (2 * inside > areas)[labels]
    recalls = [
        measure_boundary_recall(find_outline(frame), find_outline(mask.astype(int)))
        for frame, mask in zip(labels, truth, strict=True)
    ]
    n_seen = sum(len(np.unique(frame)) for frame in labels)
    n_used = int((areas > 0).sum())
    return {
        "n": n_used,
        "asa": float(np.maximum(inside, areas - inside).sum() / areas.sum()),
        "iou": float((found & truth).sum() / (found | truth).sum()),
        "recall": float(np.mean(recalls)),
        "length": n_seen / n_used,
    }


def match_slic(clip: np.ndarray, n_wanted: int) -> np.ndarray:
    """SLIC with about as many supervoxels: the number asked for is corrected twice."""
    asked = n_wanted
    for _ in range(3):
        labels = segment_slic_clip(clip, max(asked, 2))
        n_found = int(labels.max()) + 1
        if abs(n_found - n_wanted) < 0.05 * n_wanted:
            break
        asked = round(asked * n_wanted / n_found)
    return labels


def compare(data: Path, n_frames: int, levels: tuple[int, ...]) -> list[dict]:
    rows = []
    for folder in sorted((data / "with").iterdir()):
        clip = read_clip(folder, n_frames)
        truth = read_truth(data / "masks" / folder.name, clip.shape)
        for level in levels:
            started = time.perf_counter()
            ours = np.stack([frame.labels for frame in stream_supervoxels(clip, level)])
            seconds = (time.perf_counter() - started) / len(clip)
            quality = measure_quality(ours, truth)
            rows.append({"video": folder.name, "level": level, "method": "stream", "seconds": seconds, **quality})
            print(format_row(rows[-1]), flush=True)
            started = time.perf_counter()
            slic = match_slic(clip, int(quality["n"]))
            seconds = (time.perf_counter() - started) / len(clip)
            rows.append(
                {"video": folder.name, "level": level, "method": "slic", "seconds": seconds}
                | measure_quality(slic, truth)
            )
            print(format_row(rows[-1]), flush=True)
    return rows


def format_row(row: dict) -> str:
    return (
        f"{row['video']:16} {row['level']:4d} {row['method']:7} n {row['n']:5d}  asa {row['asa']:.4f}  "
        f"iou {row['iou']:.3f}  recall {row['recall']:.3f}  length {row['length']:5.1f}  {row['seconds']:.2f} s/frame"
    )


def repeat_forward_and_backward(folder: Path, n_frames: int) -> Iterator[np.ndarray]:
    """A long video out of a short one, read from disk frame by frame."""
    paths = list_frames(folder)
    order = [*range(len(paths)), *range(len(paths) - 2, 0, -1)]
    for index in range(n_frames):
        yield resize_image(read_image(paths[order[index % len(order)]]), SIZE)


def measure_memory(folder: Path, n_frames: int) -> float:
    """Peak memory in MB of a fresh process that segments n_frames."""
    for _ in stream_supervoxels(repeat_forward_and_backward(folder, n_frames)):
        pass
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_in_process(data: Path, n_frames: int) -> float:
    command = [sys.executable, __file__, str(data), "--memory-only", str(n_frames)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--frames", type=int, default=40)
    parser.add_argument("--levels", type=int, nargs="+", default=[200, 400])
    parser.add_argument("--lengths", type=int, nargs="*", default=list(LENGTHS))
    parser.add_argument("--memory-only", type=int)
    options = parser.parse_args()
    first = min((options.data / "with").iterdir())
    if options.memory_only:
        print(measure_memory(first, options.memory_only))
        return
    rows = compare(options.data, options.frames, tuple(options.levels))
    memory = {n_frames: round(measure_in_process(options.data, n_frames)) for n_frames in options.lengths}
    for n_frames, megabytes in memory.items():
        print(f"{n_frames:4d} frames: peak {megabytes} MB")
    print(json.dumps({"rows": rows, "memory_mb": memory}))


if __name__ == "__main__":
    main()
