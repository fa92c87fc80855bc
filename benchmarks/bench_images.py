"""Many photographs through `segvote annotate`: images per second and peak memory at three sizes; last line JSON.

python benchmarks/bench_images.py SET [SET ...] [--quick] [other options of `segvote annotate`]

A SET holds ``with/`` and ``without/``. Its images are repeated with small changes (mirrored, a few pixels cut off,
lighter or darker) in a temporary folder, so that no two have the same content. Each size is one call of the command, in
a process of its own; memory is added up over it and all its processes five times a second, each page counted once, and
told apart by the steps of the run. Linux only: it reads /proc. Stopped, it still prints what it has.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

from segvote.io.images import list_images

SIZES = (200, 600, 2000)
QUICK_SIZES = (40, 80)
TAGS = ("with", "without")
MAX_CUT = 12  # pixels at each side
SAMPLE_EVERY = 0.2  # seconds
# At the largest size against the smallest: what "flat" means.
AT_LEAST = {"rate_ratio": 0.8, "total_rate_ratio": 0.8}
AT_MOST = {"extract_peak_ratio": 1.25, "total_peak_ratio": 1.25}


def change_image(image: Image.Image, rng: np.random.Generator) -> Image.Image:
    """The same photograph, a little different."""
    left, top, right, bottom = (int(cut) for cut in rng.integers(0, MAX_CUT + 1, size=4))
    image = image.crop((left, top, image.width - right, image.height - bottom))
    image = ImageOps.mirror(image) if rng.random() < 0.5 else image
    return ImageEnhance.Brightness(image).enhance(float(rng.uniform(0.85, 1.15)))


def make_images(sources: Sequence[Path], seed: int) -> Iterator[bytes]:
    """JPEG files without end, no two of the same content."""
    rng, seen = np.random.default_rng(seed), set()
    for source in itertools.cycle(sources):
        with Image.open(source) as image:
            changed = change_image(ImageOps.exif_transpose(image).convert("RGB"), rng)
        buffer = io.BytesIO()
        changed.save(buffer, "JPEG", quality=92)
        digest = hashlib.sha256(buffer.getvalue()).digest()
        if digest not in seen:
            seen.add(digest)
            yield buffer.getvalue()


def write_pool(sets: Sequence[Path], folder: Path, n_images: int) -> None:
    """``with`` and ``without``, half of the images each."""
    for seed, bag_label in enumerate(TAGS):
        (folder / bag_label).mkdir(parents=True)
        sources = [image for one in sets for image in list_images(one / bag_label)]
        for index, data in enumerate(itertools.islice(make_images(sources, seed), n_images // 2)):
            (folder / bag_label / f"{index:06}.jpg").write_bytes(data)


def take_part(pool: Path, folder: Path, n_images: int) -> None:
    """The first images of the pool, without a copy."""
    for bag_label in TAGS:
        (folder / bag_label).mkdir(parents=True)
        for path in sorted((pool / bag_label).iterdir())[: n_images // 2]:
            os.link(path, folder / bag_label / path.name)


def list_tree(pid: int) -> list[int]:
    """A process and all that it started, and they."""
    found = [pid]
    for one in found:
        for task in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                continue  # it ended meanwhile
    return found


def read_memory(pid: int) -> int:
    """Bytes of a process; a page that several share is divided among them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def watch(process: subprocess.Popen) -> list[tuple[float, int, int]]:
    """Time, bytes of the process, bytes of it and all its processes, until it ends."""
    samples = []
    while process.poll() is None:
        sizes = [read_memory(pid) for pid in list_tree(process.pid)]
        samples.append((time.time(), sizes[0], sum(sizes)))
        time.sleep(SAMPLE_EVERY)
    return samples


def find_peaks(samples: Sequence[tuple[float, int, int]], log: Sequence[dict]) -> dict[str, float]:
    """Peak memory in GB of the whole run, and of all processes in each of its steps."""
    peaks = {
        "peak_parent_gb": max(parent for _, parent, _ in samples) / 2**30,
        "peak_all_gb": max(total for _, _, total in samples) / 2**30,
    }
    for line in log:
        if "seconds" in line:
            within = [one[2] for one in samples if line["time"] - line["seconds"] <= one[0] <= line["time"]]
            peaks |= {f"peak_{line['step']}_gb": max(within) / 2**30} if within else {}  # some are over too soon
    return peaks


def measure_size(pool: Path, folder: Path, n_images: int, options: Sequence[str]) -> dict[str, float]:
    """One run of the command."""
    take_part(pool, folder, n_images)
    command = [sys.executable, "-m", "segvote", "annotate", str(folder / "with"), str(folder / "without")]
    started = time.perf_counter()
    process = subprocess.Popen([*command, "-o", str(folder / "out"), *options], stdout=subprocess.DEVNULL)
    try:
        samples = watch(process)
    finally:
        process.terminate()
        process.wait()
    seconds = time.perf_counter() - started
    if process.returncode:
        raise SystemExit(f"segvote annotate ended with {process.returncode}")
    log = [json.loads(line) for line in (folder / "out" / "log.jsonl").read_text().splitlines()]
    spent = {line["step"]: line["seconds"] for line in log if "seconds" in line}
    rates = {"images_per_second": n_images / seconds, "extracted_per_second": n_images / spent["extract"]}
    return {"n_images": n_images, "seconds": seconds, **rates, **find_peaks(samples, log)} | {
        f"seconds_{step}": value for step, value in spent.items()
    }


def sum_up(rows: Sequence[dict[str, float]]) -> dict:
    """All figures, the largest size against the smallest, and which goals were met."""
    if not rows:
        return {"sizes": [], "met": {}}
    first, last = rows[0], rows[-1]
    found = {
        "rate_ratio": last["extracted_per_second"] / first["extracted_per_second"],
        "total_rate_ratio": last["images_per_second"] / first["images_per_second"],
        "extract_peak_ratio": last["peak_extract_gb"] / first["peak_extract_gb"],
        "total_peak_ratio": last["peak_all_gb"] / first["peak_all_gb"],
    }
    met = {name: found[name] >= goal for name, goal in AT_LEAST.items()}
    met |= {name: found[name] <= goal for name, goal in AT_MOST.items()}
    return found | {"met": met, "sizes": list(rows)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="+", type=Path, metavar="SET")
    parser.add_argument("--quick", action="store_true")
    arguments, options = parser.parse_known_args()
    sizes = QUICK_SIZES if arguments.quick else SIZES
    rows: list[dict[str, float]] = []
    # `timeout` ends with this signal: as an exit it lets the folder be removed and the figures be printed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        with tempfile.TemporaryDirectory(prefix="segvote-bench-") as name:
            write_pool(arguments.sets, Path(name) / "pool", max(sizes))
            for size in sizes:
                rows.append(measure_size(Path(name) / "pool", Path(name) / str(size), size, options))
                print("  ".join(f"{key} {value:.4g}" for key, value in rows[-1].items()), flush=True)
    finally:
        print(json.dumps(sum_up(rows)))


if __name__ == "__main__":
    main()
