"""The main job: its time against segmentation and network alone, a second voter's share, memory by number of images.

    python benchmarks/bench_annotate.py [DATA_SET] [--quick]

DATA_SET is a folder with ``with`` and ``without``; without one, made scenes are used. Last line JSON.

``annotate_over_alone`` compares with a program of ten lines that reads, segments and sends through the network the same
images in the same number of processes, and keeps nothing; ``annotate_over_worker_seconds`` with the seconds the workers
of `annotate` themselves spent segmenting and extracting features, divided by their number.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from segvote.datasets import write_scenes
from segvote.io.images import list_images

JOBS = 2
ALONE = """
import sys
from joblib import Parallel, delayed
from segvote.features import make_features
from segvote.io.images import list_images, read_image, resize_image
from segvote.run.settings import Settings
from segvote.segmentation import SEGMENTERS

def work(path, extractor, settings):
    image = read_image(path)
    SEGMENTERS[settings.segmenter](resize_image(image, settings.size), n_segments=settings.n_segments)
    extractor.compute_maps(image)

if __name__ == "__main__":
    settings = Settings()
    extractor = make_features(settings.features)
    paths = [path for folder in sys.argv[2:] for path in list_images(folder)]
    Parallel(int(sys.argv[1]))(delayed(work)(path, extractor, settings) for path in paths)
"""


def read_session_memory(session: int) -> float:
    """Megabytes resident in all processes of a session."""
    total = 0
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue  # the process has just ended
        if int(fields[3]) == session:
            total += int(fields[21]) * 4096
    return total / 1e6


def run_annotate(folder: Path, out: Path, *options: str) -> dict[str, float]:
    """Annotate in a process of its own; wall seconds, and those of segmentation and features alone."""
    started = time.perf_counter()
    _wait_for(_start_annotate(folder, out, *options))
    seconds = time.perf_counter() - started
    log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    worker = [line["worker_seconds"] for line in log if line.get("step") == "bags"][-1]
    return {"seconds": seconds, "alone": (worker.get("segment", 0.0) + worker.get("extract", 0.0)) / JOBS}


def measure_peak(folder: Path, out: Path) -> float:
    """Most megabytes that all processes of a run held at once; looking takes time, so this run is not timed."""
    process, peak = _start_annotate(folder, out), 0.0
    while process.poll() is None:
        peak = max(peak, read_session_memory(process.pid))
        time.sleep(0.1)
    _wait_for(process)
    return peak


def _start_annotate(folder: Path, out: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "segvote", "annotate", str(folder / "with"), str(folder / "without")]
    return subprocess.Popen([*command, "-o", str(out), "--jobs", str(JOBS), *options], start_new_session=True)


def _wait_for(process: subprocess.Popen) -> None:
    if process.wait():
        raise SystemExit(f"annotate failed with exit code {process.returncode}")


def run_alone(folder: Path, scratch: Path) -> float:
    """Wall seconds of a program that only reads, segments and runs the network."""
    script = scratch / "alone.py"
    script.write_text(ALONE)
    started = time.perf_counter()
    subprocess.run([sys.executable, script, str(JOBS), folder / "with", folder / "without"], check=True)
    return time.perf_counter() - started


def take_images(source: Path, target: Path, n_images: int) -> Path:
    """A folder of `n_images` images, half of each kind; repeated, with bytes added, where there are fewer."""
    for bag_label in ("with", "without"):
        images = list_images(source / bag_label)
        (target / bag_label).mkdir(parents=True)
        for number in range(n_images // 2):
            image = images[number % len(images)]
            copy = target / bag_label / f"{number:04d}{image.suffix}"
            shutil.copy(image, copy)
            if number >= len(images):
                # Bytes behind the end of a picture change its content hash, not its pixels.
                with copy.open("ab") as file:
                    file.write(str(number).encode())
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data_set", nargs="?", type=Path)
    parser.add_argument("--quick", action="store_true", help="few images")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        source = arguments.data_set or folder / "scenes"
        if arguments.data_set is None:
            write_scenes(source, *((6, 6) if arguments.quick else (40, 40)))
        alone = run_alone(source, folder)
        first = run_annotate(source, folder / "out")
        second = run_annotate(source, folder / "out", "--voter", "negmin")
        results = {
            "seconds": first["seconds"],
            "alone": alone,
            "annotate_over_alone": first["seconds"] / alone,
            "annotate_over_worker_seconds": first["seconds"] / first["alone"],
            "second_voter_over_first": second["seconds"] / first["seconds"],
        }
        for n_images in (12, 24) if arguments.quick else (100, 200, 400):
            images = take_images(source, folder / f"images-{n_images}", n_images)
            results[f"peak_mb_{n_images}"] = measure_peak(images, folder / f"out-{n_images}")
    for name, value in results.items():
        print(f"{name:28}{value:10.2f}")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
