"""Dense SIFT against ``cv2.SIFT.compute`` on the same grid of four scales: time on one core, and how alike they are.

    python benchmarks/bench_sift.py [--quick] [--images FOLDER]

Without a folder the pictures of scikit-image are used. The last line is JSON.
"""

import argparse
import json
import time
from pathlib import Path

import cv2
import numpy as np
import skimage.data

from segvote.features.sift import DenseSift, compute_dense_sift

STEP, BIN_SIZES = 4, (4, 6, 8, 10)
SHAPE = (321, 481)
PICTURES = ("chelsea", "coffee", "rocket", "astronaut")


def read_pictures(folder: Path | None, n_pictures: int) -> list[np.ndarray]:
    """Read grey pictures of one size, so that times can be compared."""
    if folder is None:
        colors = [getattr(skimage.data, name)() for name in PICTURES[:n_pictures]]
        grays = [cv2.cvtColor(color, cv2.COLOR_RGB2GRAY) for color in colors]
    else:
        paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".png"))
        grays = [cv2.imread(str(path), cv2.IMREAD_GRAYSCALE) for path in paths[:n_pictures]]
    return [cv2.resize(gray, SHAPE[::-1], interpolation=cv2.INTER_AREA) for gray in grays]


def make_points(dense: DenseSift) -> list[cv2.KeyPoint]:
    """Make OpenCV's points on the same grid; its bin is 1.5 times the size of the point."""
    return [
        cv2.KeyPoint(float(x), float(y), bin_size / 1.5, 0)
        for bin_size in BIN_SIZES
        for y in dense.rows
        for x in dense.columns
    ]


def measure_time(function, n_repeats: int) -> float:
    """Return the shortest time in milliseconds: what other programs on the machine disturb least."""
    times = []
    for _ in range(n_repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def compare(gray: np.ndarray, n_repeats: int) -> dict[str, float]:
    dense = compute_dense_sift(gray, STEP, BIN_SIZES)
    points, opencv = make_points(dense), cv2.SIFT_create()
    ours = measure_time(lambda: compute_dense_sift(gray, STEP, BIN_SIZES), n_repeats)
    theirs = measure_time(lambda: opencv.compute(gray, points), max(1, n_repeats // 3))
    return {"ours_ms": ours, "opencv_ms": theirs, "cosine": measure_cosine(dense, opencv.compute(gray, points)[1])}


def measure_cosine(dense: DenseSift, theirs: np.ndarray) -> float:
    """Average the cosine over the points where both see contrast."""
    ours = dense.descriptors.reshape(-1, theirs.shape[1])
    lengths = np.linalg.norm(theirs, axis=1)
    both = ours.any(axis=1) & (lengths > 0)
    return float(((ours * theirs).sum(axis=1)[both] / lengths[both]).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one picture")
    parser.add_argument("--images", type=Path, help="a folder of pictures")
    options = parser.parse_args()
    cv2.setNumThreads(1)
    rows = [
        compare(gray, 3 if options.quick else 6) for gray in read_pictures(options.images, 1 if options.quick else 4)
    ]
    for row in rows:
        print("ours {ours_ms:7.1f} ms   OpenCV {opencv_ms:8.1f} ms   cosine {cosine:.4f}".format(**row))
    means = {name: round(float(np.mean([row[name] for row in rows])), 4) for name in rows[0]}
    print(json.dumps({"benchmark": "sift", "speedup": round(means["opencv_ms"] / means["ours_ms"], 2), **means}))


if __name__ == "__main__":
    main()
