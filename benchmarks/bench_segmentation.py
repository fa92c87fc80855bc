"""Judge every segmenter against people: ``python benchmarks/bench_segmentation.py [--quick] [--published] [DATA]``.

DATA is a BSDS500 folder with ``images``, ``groundTruth`` and, where present, the authors' ``ucm2``. Printed are a table
over the images that have a published ucm2, so that all rows are about the same pictures, a table over all images, and
last one line of JSON. gpb is fitted on one half of the images and judged on the other, crosswise; ``--quick`` takes ten
images and the numbers that come with the package. Boundary F is about the first ten images with a published ucm2: it
takes longer than all the rest. Times are the processor's, of one thread, not the clock's.

It takes a quarter of an hour and more: fits and qualities are kept in ``build/bench_segmentation``, one file for each
segmenter and image, under a name that changes with the code, so that a run that was ended goes on where it was and
``--only NAME`` shares the work out.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import cv2
import numpy as np
from scipy.io import loadmat
from threadpoolctl import threadpool_limits

import segvote
from fit_gpb import fit_model, format_model, list_names, read_image, read_truths
from segmentation_results import COUNTS, Case, Quality, Segmenter, choose_heights, judge_image, summarise
from segvote.segmentation import SEGMENTERS
from segvote.segmentation.gpb import GpbModel, parse_model, segment_gpb, segment_with_model
from segvote.segmentation.ucm import segment_ucm

ROOT = Path(__file__).resolve().parents[1]
DEFAULT_DATA = ROOT.parent / "shared" / "data" / "bsds500-val"
AUTHORS = "authors' ucm2"
N_MATCHED = 10  # images whose boundary pixels are matched
NESTED = ("ward", "gpb", AUTHORS)


class Kept:
    """JSON files in ``build``, under a name that changes with the code that makes them and with the data's folder."""

    def __init__(self, data: Path) -> None:
        package = Path(segvote.__file__).parent
        own = ("segmentation_quality.py", "segmentation_results.py", "fit_gpb.py")
        sources = [*sorted((package / "segmentation").glob("*.*")), *(ROOT / "benchmarks" / name for name in own)]
        code = b"".join(path.read_bytes() for path in sources) + str(data.resolve()).encode()
        self.folder = ROOT / "build" / "bench_segmentation" / hashlib.sha256(code).hexdigest()[:12]

    def get(self, name: str, make: Callable[[], object]) -> object:
        path = self.folder / f"{name}.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_suffix(".part")
            fresh.write_text(json.dumps(make()))
            fresh.rename(path)
        return json.loads(path.read_text())


def judge_all(title: str, segment: Segmenter, cases: list[Case], kept: Kept, group: str) -> list[Quality]:
    """Verdicts on all cases; the scales at which trees are cut depend on the group of cases that is judged."""
    heights = np.array(kept.get(f"{group}/{title}/heights", lambda: choose_heights(segment, cases).tolist()))
    qualities = []
    for case in cases:
        found = kept.get(
            f"{group}/{title}/{case.name}",
            lambda case=case: pack_quality(judge_image(segment, case, heights, title in NESTED)),
        )
        qualities.append(unpack_quality(found))
    return qualities


def pack_quality(quality: Quality) -> dict:
    return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in asdict(quality).items()}


def unpack_quality(found: dict) -> Quality:
    return Quality(**{name: np.array(value) if isinstance(value, list) else value for name, value in found.items()})


def make_segmenters(folder: Path, kept: Kept | None) -> dict[str, Callable[[], Segmenter]]:
    """What makes each segmenter: gpb has to be fitted first, unless nothing is kept."""

    def wrap(function: Callable) -> Segmenter:
        return lambda name, image, count: function(image, count)

    makers = {name: lambda name=name: wrap(SEGMENTERS[name]) for name in SEGMENTERS}
    if kept is not None:
        makers["gpb"] = lambda: make_crosswise(folder, kept)
    makers[AUTHORS] = lambda: lambda name, image, count: segment_ucm(read_ucm(folder, name), count)
    return makers


def read_ucm(folder: Path, name: str) -> np.ndarray:
    return loadmat(folder / "ucm2" / f"{name}.mat")["ucm2"]


def make_crosswise(folder: Path, kept: Kept) -> Segmenter:
    """gpb with, for each image, a model that was fitted on the half that does not hold it."""
    names = list_names(folder)
    models: dict[str, GpbModel] = {}
    for half in (0, 1):
        text = kept.get(f"fit-{half}", lambda half=half: format_model(fit_model(folder, names[half::2])))
        models |= dict.fromkeys(names[1 - half :: 2], parse_model(text))
    prior = segment_gpb.__kwdefaults__["size_prior"]
    return lambda name, image, count: segment_with_model(image, models[name], count, prior)


def read_cases(folder: Path, is_quick: bool, is_published: bool) -> list[Case]:
    published = {path.stem for path in (folder / "ucm2").glob("*.mat")}
    names = list_names(folder)
    if (is_quick or is_published) and published:
        names = [name for name in names if name in published]
    names = names[:10] if is_quick else names
    matched = sorted(published or names)[:N_MATCHED]
    return [
        Case(name, read_image(folder, name), *read_truths(folder, name), name in published, name in matched)
        for name in names
    ]


def format_table(title: str, summaries: dict[str, dict[str, float]]) -> str:
    heads = ["segmenter", "ms", "covering ODS/OIS", "PRI", "VI", "boundary F (10 images)"]
    heads += [f"{count}: ASA/recall" for count in COUNTS]
    lines = ["", title, "", "| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    return "\n".join(lines + [format_row(name, row) for name, row in summaries.items()])


def format_row(name: str, row: dict[str, float]) -> str:
    time_taken = "minutes" if name == AUTHORS else f"{row['ms']:.0f}"
    cells = [name, time_taken, f"{row['covering_ods']:.3f}/{row['covering_ois']:.3f}"]
    cells += [f"{row[key]:.3f}" if key in row else "-" for key in ("pri_ods", "vi_ods", "boundary_f_ods")]
    cells += [f"{row[f'asa_{count}']:.3f}/{row[f'recall_{count}']:.3f}" for count in COUNTS]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=DEFAULT_DATA)
    parser.add_argument("--quick", action="store_true", help="ten images, the numbers that come with the package")
    parser.add_argument("--published", action="store_true", help="judge only images with a published ucm2")
    parser.add_argument("--only", action="append", help="judge only this segmenter; may be repeated")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    threadpool_limits(1)
    cases = read_cases(arguments.data, arguments.quick, arguments.published)
    kept = Kept(arguments.data)
    group = "quick" if arguments.quick else "published" if arguments.published else "all"
    same, everything = {}, {}
    for title, make in make_segmenters(arguments.data, None if arguments.quick else kept).items():
        judged = [case for case in cases if case.is_published or title != AUTHORS]
        if not judged or (arguments.only and title not in arguments.only):
            continue
        qualities = judge_all(title, make(), judged, kept, group)
        everything[title] = summarise(qualities)
        published = [quality for quality, case in zip(qualities, judged, strict=True) if case.is_published]
        if published:
            same[title] = summarise(published)
        print(title, same.get(title, everything[title]), flush=True)
    if same:
        print(format_table("The images with a published ucm2", same))
    if not same or not all(case.is_published for case in cases):
        print(format_table("All images (the authors' row: those with a published ucm2)", everything))
    print(
        json.dumps({"benchmark": "segmentation", "n_images": len(cases), "same_images": same, "all_images": everything})
    )


if __name__ == "__main__":
    main()
