"""What the scripts of docs/paper.md share: the sets, the draw of images, the work folder."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from segvote.voters import METHOD

# Voters of ours, and the printed eKDE: no baselines.
NO_BASELINES = ("ekde-paper", "walk", "walk-adapted")
PHOTOGRAPHS = ("cows", "aeroplanes", "street-cars", "msrc-face", "msrc-sign", "msrc-dog", "dogs-not-cats")
SETS = (*PHOTOGRAPHS, "tile-break", "tile-fray", "steel-patches", "coffee-lesions")
# With those of the field that the suite has besides.
ALL_SETS = (*SETS, "blood-cells", "glands", "potholes", "asphalt-cracks", "ultrasound")
# Images of each folder: with all of them eleven sets take most of a day.
N_IMAGES = 24
PAPER_VOTERS = (METHOD, "walk", "ekde-paper", "f-neg", "obow", "milboost", "crane", "negmin", "cam")
# The layers of lite0.
VOTER_OPTIONS = {"activation": {"blocks": (40, 112, 320)}}
# Half of the usual number, which ranks as well: the slowest voters look at all pairs.
N_SEGMENTS = 100
# One look for all: whether a closer one is taken would be decided by one of the competitors.
DETAIL = "coarse"
STRESS_SET = "cows"
STRESS_VOTERS = (METHOD, "ekde-paper", "obow", "milboost", "crane", "negmin", "cam")
# Fewer still: a curve is some sixty votes of each voter.
STRESS_SEGMENTS = 50
STRESS_LEVELS = {"images": (4, 8, 12), "segments": (25, 50, 100)}


@dataclass(frozen=True)
class Job:
    """Where things lie, and how much may be done at once."""

    data: Path
    out: Path
    n_images: int
    time_limit: float | None
    n_jobs: int

    def lay_out(self, name: str) -> tuple[Path, Path, Path]:
        """The chosen images of a set as two folders of links, and its masks."""
        folders = self.out / name / "images" / "with", self.out / name / "images" / "without"
        for folder in folders:
            link_images(self.data / name / folder.name, folder, self.n_images)
        return *folders, self.data / name / "masks"


def link_images(source: Path, target: Path, n_images: int) -> None:
    """Links to `n_images` files of a folder, evenly spread over the sorted names; 0: to all."""
    files = sorted(path for path in source.iterdir() if path.is_file())
    count = min(n_images or len(files), len(files))
    chosen = [files[place * len(files) // count] for place in range(count)]
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in chosen:
        os.symlink(path.resolve(), target / path.name)
