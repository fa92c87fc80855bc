"""The main job: its time against segmentation and network alone, a second voter's share, memory by number of images.

    python benchmarks/bench_annotate.py [DATA_SET] [--quick]

DATA_SET is a folder with ``with`` and ``without``; without one, made scenes are used. Last line JSON.

``annotate_over_alone`` compares with a program of ten lines that reads, segments and sends through the network the same
images in the same number of processes, and keeps nothing: at each size of the network's input that the run looked at
them (``n_looks``). ``annotate_over_worker_seconds``: with the seconds the workers of `annotate` themselves spent
segmenting and extracting features, divided by their number. The second voter needs no other search, the third does.
``repeated_processor_seconds`` is the same command once more.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from segvote.datasets import write_scenes
from segvote.io.images import list_images

JOBS = 2
SAME_SEARCH, OTHER_SEARCH = "cam", "negmin"
ALONE = """
import sys
from joblib import Parallel, delayed
from segvote.features import make_features
from segvote.io.images import list_images, read_image, resize_image
from segvote.run.settings import Settings
from segvote.segmentation import SEGMENTERS
from segvote.steps.voting.detail import list_levels

def work(path, extractors, settings):
    image = read_image(path)
    SEGMENTERS[settings.segmenter](resize_image(image, settings.size), n_segments=settings.n_segments)
    for extractor in extractors:
        extractor.compute_maps(image)

if __name__ == "__main__":
    settings = Settings()
    n_jobs, n_looks, *folders = sys.argv[1:]
    levels = list_levels(settings)[: int(n_looks)]
    extractors = [make_features(level.features, **level.feature_options) for level in levels]
    paths = [path for folder in folders for path in list_images(folder)]
    Parallel(int(n_jobs))(delayed(work)(path, extractors, settings) for path in paths)
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
    looks = [line["worker_seconds"] for line in log if line.get("step") == "bags"]
    spent = sum(look.get("segment", 0.0) + look.get("extract", 0.0) for look in looks)
    return {"seconds": seconds, "alone": spent / JOBS, "n_looks": sum("extract" in look for look in looks)}


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


def measure_repeated(folder: Path, out: Path) -> float:
    """Processor seconds of a command that finds its result finished."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    _wait_for(_start_annotate(folder, out))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run_alone(folder: Path, scratch: Path, n_looks: int) -> float:
    """Wall seconds of a program that only reads, segments and runs the network."""
    script = scratch / "alone.py"
    script.write_text(ALONE)
    started = time.perf_counter()
    command = [sys.executable, script, str(JOBS), str(n_looks), folder / "with", folder / "without"]
    subprocess.run(command, check=True)
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
        first = run_annotate(source, folder / "out")
        alone = run_alone(source, folder, int(first["n_looks"]))
        repeated = measure_repeated(source, folder / "out")
        second = run_annotate(source, folder / "out", "--voter", SAME_SEARCH)
        third = run_annotate(source, folder / "out", "--voter", OTHER_SEARCH)
        results = {
            "seconds": first["seconds"],
            "alone": alone,
            "annotate_over_alone": first["seconds"] / alone,
            "annotate_over_worker_seconds": first["seconds"] / first["alone"],
            "n_looks": first["n_looks"],
            "repeated_processor_seconds": repeated,
            "second_voter_over_first": second["seconds"] / first["seconds"],
            "third_voter_over_first": third["seconds"] / first["seconds"],
        }
        for n_images in (12, 24) if arguments.quick else (100, 200, 400):
            images = take_images(source, folder / f"images-{n_images}", n_images)
            results[f"peak_mb_{n_images}"] = measure_peak(images, folder / f"out-{n_images}")
    for name, value in results.items():
        print(f"{name:28}{value:10.2f}")
    print(json.dumps(results))


if __name__ == "__main__":
    main()
