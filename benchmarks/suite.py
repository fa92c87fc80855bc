"""The whole pipeline with its defaults on every set below a folder: one table, worst set first in mind.

    python benchmarks/suite.py [DATA] [--sets cows,steel-patches] [--leave-one-out smoothing=0.2,0.4,0.6]

A set is a folder with ``with/``, ``without/`` and ``masks/``. Runs lie in ``build/suite`` and are resumed; what was
measured with the same settings and version is not measured again. ``--leave-one-out NAME=VALUES`` judges a constant
that was chosen by looking: for every set the value is chosen on all others, and reported on the one left out. *One
choice* is the extent that is best for the set by its masks, with the figures of the masks drawn at it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from segvote.evaluation.evaluate import evaluate
from segvote.evaluation.evaluate_segments import CountedTruth, count_segments, measure_ious
from segvote.evaluation.evaluate_truth import find_truth, list_truth
from segvote.metrics.overlap import IMAGE_THRESHOLD
from segvote.run.run import Run
from segvote.run.settings import N_LEVELS, Settings
from segvote.steps.annotate import annotate
from segvote.steps.extent import change_extent, read_extents

# Close-ups of one surface, as opposed to photographs of scenes; told by name for the two means only.
SURFACES = ("tile-", "steel-", "coffee-", "surface-")
# Thresholds that are tried on the scores of all images alike.
N_THRESHOLDS = 60


@dataclass(frozen=True)
class Row:
    """Figures of one set."""

    name: str
    ap: float
    corloc: float
    miou: float
    limit: float
    boundary_f: float
    pixel_f: float
    choice: int
    choice_corloc: float
    choice_miou: float
    draw: str
    best_threshold: float
    n_uncertain: int
    n_excluded: int
    confidence: float
    level: str
    seconds: float


def list_sets(data: Path, chosen: list[str]) -> list[Path]:
    found = sorted(one.parent for one in data.glob("*/masks") if (one.parent / "with").is_dir())
    found = [one for one in found if (one / "without").is_dir() and (not chosen or one.name in chosen)]
    found = [one for one in found if not any(path.is_dir() for path in (one / "with").iterdir())]  # no videos
    if not found:
        raise SystemExit(f"no set with with/, without/ and masks/ below {data}")
    return found


def measure_set(folder: Path, out: Path, settings: Settings) -> Row:
    """Annotate and evaluate one set, or read what was measured before."""
    started = time.perf_counter()
    run = annotate(folder / "with", folder / "without", out / folder.name, settings)
    seconds = time.perf_counter() - started
    kept = out / f"{folder.name}-{run.record['key']}.json"
    if kept.is_file():
        return Row(**json.loads(kept.read_text()))
    found = evaluate(run, folder / "masks")
    figures = found.to_dict()
    choice, chosen = measure_choice(run, folder, found.ious)
    row = Row(
        name=folder.name,
        ap=round(found.ranking.segment_ap, 4),
        corloc=round(float((found.ious > found.threshold).mean()), 4),
        miou=round(float(found.ious.mean()), 4),
        limit=round(float(found.limits.mean()), 4),
        boundary_f=round(figures["boundary_f"] or 0.0, 4),
        pixel_f=round(figures["pixel_f"], 4),
        choice=choice,
        choice_corloc=round(float((chosen > found.threshold).mean()), 4),
        choice_miou=round(float(chosen.mean()), 4),
        draw=run.drawing.way,
        best_threshold=round(measure_best_threshold(run, folder), 4),
        n_uncertain=sum(bag.uncertainty >= 0.5 for bag in run.bags if bag.bag_label == "with"),
        n_excluded=sum(bag.excluded for bag in run.bags),
        confidence=run.confidence.get("value", float("nan")),
        level=run.confidence.get("level", ""),
        seconds=round(seconds, 1),
    )
    kept.write_text(json.dumps(asdict(row)))
    return row


def measure_choice(run: Run, folder: Path, ious: np.ndarray) -> tuple[int, np.ndarray]:
    """The best extent for all images, by CorLoc + mIoU of whole segments, and the overlaps of its drawn masks."""
    extents, counted = read_extents(run)[0], count_truth(run, folder)
    found = [
        measure_ious(
            np.array([one.measure(extents.select(level)[run.get_slice(index)]) for index, one in counted.items()])
        )
        for level in range(1, N_LEVELS + 1)
    ]
    best = int(np.argmax([(one > IMAGE_THRESHOLD).mean() + one.mean() for one in found])) + 1
    if best == run.extent:
        return best, ious
    with tempfile.TemporaryDirectory(dir=run.folder.path.parent) as scratch:
        copy = shutil.copytree(run.folder.path, Path(scratch) / "run", copy_function=os.link)
        return best, evaluate(change_extent(copy, best), folder / "masks").ious


def count_truth(run: Run, folder: Path) -> dict[int, CountedTruth]:
    """Number of each *with* image whose mask is known to its truth, counted per segment."""
    readers, counted = list_truth(folder / "masks"), {}
    for index, bag in enumerate(run.bags):
        reader = find_truth(readers, bag.name) if bag.bag_label == "with" else None
        if reader is not None:
            counted[index] = count_segments(run.read_segments(index)["labels"], reader(), (bag.height, bag.width))
    return counted


def measure_best_threshold(run: Run, folder: Path) -> float:
    """Mean overlap of whole segments at the best single threshold for all images, chosen with the masks."""
    found = count_truth(run, folder)
    counted, scores = list(found.values()), [run.votes["scores"][run.get_slice(index)] for index in found]
    levels = np.quantile(np.concatenate(scores), np.linspace(0.2, 0.999, N_THRESHOLDS))
    return max(
        float(
            measure_ious(np.array([one.measure(own > level) for own, one in zip(scores, counted, strict=True)])).mean()
        )
        for level in levels
    )


def format_rows(rows: list[Row]) -> str:
    names = ("set", "AP", "CorLoc", "mIoU", "one choice", "limit", "BF", "F2", "draw", "best", "unsure", "excl", "conf")
    head = "{:16} {:>5} {:>6} {:>6} {:>15} {:>6} {:>5} {:>5} {:8} {:>6} {:>6} {:>4} {:>5}".format(*names)
    head += " level     s"
    lines = [head]
    for row in rows:
        lines.append(
            f"{row.name:16} {row.ap:5.3f} {row.corloc:6.3f} {row.miou:6.3f} "
            f"{row.choice:d}: {row.choice_corloc:5.3f} {row.choice_miou:5.3f} {row.limit:6.3f} {row.boundary_f:5.3f} "
            f"{row.pixel_f:5.3f} {row.draw:8} {row.best_threshold:6.3f} "
            f"{row.n_uncertain:6d} {row.n_excluded:4d} {row.confidence:5.2f} {row.level:5} {row.seconds:5.1f}"
        )
    for name, group in split_groups(rows).items():
        if group:
            corloc, miou = np.mean([row.corloc for row in group]), np.mean([row.miou for row in group])
            chosen = np.mean([(row.choice_corloc, row.choice_miou) for row in group], axis=0)
            worst = min(group, key=lambda row: row.miou)
            lines.append(
                f"{name:16} CorLoc {corloc:.3f} mIoU {miou:.3f}, with one choice {chosen[0]:.3f} {chosen[1]:.3f}, "
                f"worst {worst.name} {worst.corloc:.3f} {worst.miou:.3f}"
            )
    return "\n".join(lines)


def split_groups(rows: list[Row]) -> dict[str, list[Row]]:
    surfaces = [row for row in rows if row.name.startswith(SURFACES)]
    return {"photographs": [row for row in rows if row not in surfaces], "surfaces": surfaces, "all": rows}


def summarise(rows: list[Row]) -> dict[str, float]:
    found = {}
    for name, group in split_groups(rows).items():
        if group:
            found[f"{name}_corloc"] = round(float(np.mean([row.corloc for row in group])), 4)
            found[f"{name}_miou"] = round(float(np.mean([row.miou for row in group])), 4)
            found[f"{name}_choice_corloc"] = round(float(np.mean([row.choice_corloc for row in group])), 4)
            found[f"{name}_choice_miou"] = round(float(np.mean([row.choice_miou for row in group])), 4)
            found[f"{name}_boundary_f"] = round(float(np.mean([row.boundary_f for row in group])), 4)
            found[f"{name}_worst_miou"] = round(min(row.miou for row in group), 4)
    return found


def leave_one_out(sets: list[Path], out: Path, choice: str) -> None:
    """Choose one setting on all sets but one, and report it on that one."""
    name, _, values = choice.partition("=")
    kind = type(getattr(Settings(), name))
    options = [kind(value) for value in values.split(",")]
    table = np.array(
        [[measure_set(one, out, replace(Settings(), **{name: value})).miou for value in options] for one in sets]
    )
    lines = [f"{'left out':16} " + " ".join(f"{value!s:>7}" for value in options) + "  chosen  its mIoU  best"]
    found = []
    for index, one in enumerate(sets):
        chosen = int(np.argmax(np.delete(table, index, axis=0).mean(axis=0)))
        found.append(table[index, chosen])
        figures = " ".join(f"{value:7.3f}" for value in table[index])
        lines.append(f"{one.name:16} {figures}  {options[chosen]!s:>6}  {found[-1]:8.3f}  {table[index].max():.3f}")
    best = int(np.argmax(table.mean(axis=0)))
    lines.append(f"mean: left out {np.mean(found):.4f}, chosen on all ({options[best]}) {table[:, best].mean():.4f}")
    print("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", type=Path, default=Path("../shared/data"))
    parser.add_argument("--sets", default="", help="names, separated by commas")
    parser.add_argument("--out", type=Path, default=Path("build/suite"))
    parser.add_argument("--leave-one-out", default="", metavar="NAME=VALUE,VALUE", help="a setting and its values")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    sets = list_sets(given.data, [name for name in given.sets.split(",") if name])
    if given.leave_one_out:
        leave_one_out(sets, given.out, given.leave_one_out)
        return
    rows = []
    for one in sets:
        rows.append(measure_set(one, given.out, Settings()))
        print(format_rows(rows[-1:]).splitlines()[1], flush=True)
    print("\n" + format_rows(rows) + "\n")
    print(json.dumps({"sets": len(rows), **summarise(rows)}))


if __name__ == "__main__":
    main()
