"""Does the confidence of a run follow its true overlap? The suite and its stress variants; last line JSON.

    python benchmarks/confidence.py [DATA] [--sets cows,steel-patches] [--out build/suite]

Each set as it is, with 10 and with 20 images in each folder, with a tenth of both folders misfiled, and with *without*
images of another scene (those of the next set). The vote is held on the features of the suite's runs; overlaps are of
whole segments. Printed: the rank correlation of confidence and mean overlap, which runs that found little (CorLoc below
one half) were called high, and how many clean images were taken for misfiled.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.stats import spearmanr

from suite_arrays import SuiteArrays, load_suite, make_parser

SIZES = (10, 20)
MISFILED = 0.1


def list_variants(one: SuiteArrays, other: SuiteArrays) -> Iterator[tuple[str, SuiteArrays]]:
    rng = np.random.default_rng(1)
    shown, clean = np.flatnonzero(one.positive), np.flatnonzero(~one.positive)
    yield "as it is", one
    for size in SIZES:
        chosen = [rng.choice(part, min(size, len(part)), replace=False) for part in (shown, clean)]
        yield f"{size}+{size}", one.take(np.sort(np.concatenate(chosen)))
    moved = [rng.choice(part, max(1, round(MISFILED * len(part))), replace=False) for part in (shown, clean)]
    positive = one.positive.copy()
    positive[moved[0]], positive[moved[1]] = False, True
    yield "misfiled", replace(one, positive=positive)
    yield "other scene", one.take(shown).join(other.take(np.flatnonzero(~other.positive)))


def main() -> None:
    sets = load_suite(make_parser(__doc__).parse_args())
    rows, accused, clean = [], 0, 0
    for index, one in enumerate(sets):
        for kind, variant in list_variants(one, sets[(index + 1) % len(sets)]):
            annotator = variant.fit()
            ious, told = variant.measure(annotator), annotator.confidence_
            if kind == "as it is":
                accused, clean = accused + int(annotator.excluded_.sum()), clean + len(annotator.excluded_)
            rows.append((told.value, float(ious.mean()), float((ious > 0.5).mean()), told.level, one.name, kind))
            print(
                f"{one.name:16} {kind:12} CorLoc {rows[-1][2]:.2f} mIoU {rows[-1][1]:.3f} {told.value:.2f} {told.level}"
            )
    correlation = float(spearmanr([row[0] for row in rows], [row[1] for row in rows])[0])
    wrong = [f"{row[4]} {row[5]}" for row in rows if row[3] == "high" and row[2] < 0.5]
    print(f"rank correlation {correlation:.3f} over {len(rows)} runs; called high below CorLoc .5: {wrong or 'none'}")
    print(f"clean images taken for misfiled: {accused} of {clean}")
    print(json.dumps({"correlation": round(correlation, 4), "wrongly_high": wrong, "accused": accused, "clean": clean}))


if __name__ == "__main__":
    main()
