"""The commands that write files, as every attack runs them, and how their outputs are compared."""

import contextlib
import json
import re
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from segvote.io.arrays import read_arrays
from segvote.io.tables import read_csv
from segvote.io.video.files import open_film_writer
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate as run_annotate

TINY = Settings(features="color", n_segments=12, size=64)
OPTIONS = ("--features", "color", "--n-segments", "12", "--size", "64")
ONE_JOB = ("--jobs", "1")
# Files that differ between equal runs: they hold times, or the process that has the lock.
PASSING = {"log.jsonl", ".lock", "report.html", "comparison.html"}
TIMES = {"seconds"}
LEFTOVER = ".tmp-"  # hidden file of a process that was killed


@dataclass(frozen=True)
class World:
    """Scenes and a finished run, which are only read, and a folder to work in: commands write to its ``out``."""

    scenes: Path
    run: Path
    work: Path

    @property
    def out(self):
        return self.work / "out"

    @property
    def folders(self):
        return [self.scenes / "with", self.scenes / "without"]

    def make_another(self, name):
        (self.work / name).mkdir()
        return World(self.scenes, self.run, self.work / name)

    def copy_run(self):
        """The finished run, in ``out``."""
        return copy_once(self.run, self.out)


def copy_once(source, target):
    if not target.exists():
        shutil.copytree(source, target)
    return target


def write_corrected(world):
    """A COCO file as another tool returns it: one mask is the whole image, the others are those of the run."""
    coco = json.loads((world.run / "annotations.coco.json").read_text())
    image, path = coco["images"][0], world.work / "corrected.json"
    width, height = image["width"], image["height"]
    whole = {"id": 999, "image_id": image["id"], "category_id": 1, "segmentation": [[0, 0, width, 0, width, height, 0, height]]}  # fmt: skip  # noqa: E501
    coco["annotations"] = [*(one for one in coco["annotations"] if one["image_id"] != image["id"]), whole]
    path.write_text(json.dumps(coco))
    return path


def make_class_folders(world):
    root = world.work.parent / "class-folders"
    for source, name in zip(world.folders, ("thing", "none"), strict=True):
        copy_once(source, root / name)
    return root


def grow_run(world):
    """In ``out``, a run whose folder *with* got another image since."""
    images, base = world.work.parent / "images", world.work.parent / "base"
    if not base.exists():
        shutil.copytree(world.scenes, images)
        late = sorted((images / "with").iterdir())[-1]
        content = late.read_bytes()
        late.unlink()
        run_annotate(images / "with", images / "without", base, TINY, n_jobs=1)
        late.write_bytes(content)
    return copy_once(base, world.out)


def make_films(world, n_frames=4):
    """Two films with the object and two without: a scene that moves by a pixel from frame to frame."""
    films = world.work.parent / "films"
    for source in world.folders:
        (films / source.name).mkdir(parents=True, exist_ok=True)
        for path in sorted(source.iterdir())[:2]:
            film = films / source.name / f"{path.stem}.mp4"
            if not film.exists():
                with Image.open(path) as image, open_film_writer(film) as writer:
                    for number in range(n_frames):
                        writer.write(np.roll(np.asarray(image), number, axis=1), number / 10)
    return [films / "with", films / "without"]


# What is typed, for each command.
COMMANDS = {
    "annotate": lambda world: ["annotate", *world.folders, "-o", world.out, *ONE_JOB, *OPTIONS],
    "annotate --classes": lambda world: [
        *("annotate", "--classes", make_class_folders(world), "-o", world.out, *ONE_JOB, *OPTIONS)
    ],
    "annotate, films": lambda world: ["annotate", *make_films(world), "-o", world.out, *ONE_JOB, *OPTIONS],
    "annotate, object store": lambda world: [
        *("annotate", *(f"file://{one}" for one in world.folders), "-o", f"file://{world.out}", *ONE_JOB, *OPTIONS)
    ],
    "compare": lambda world: [
        *("compare", *world.folders, "--truth", world.scenes / "masks", "-o", world.out, *ONE_JOB),
        *("--voters", "ekde,cam", *OPTIONS),
    ],
    "evaluate": lambda world: [
        *("evaluate", world.run, "--truth", world.scenes / "masks"),
        *("--html", world.out / "page.html", "--csv", world.out / "table.csv"),
    ],
    "explain": lambda world: ["explain", world.run, "with-000.png", "--html", world.out / "page.html"],
    "export": lambda world: [
        *("export", world.run, "--format", "yolo", "-o", world.out, "--images", "copy", "--overwrite")
    ],
    "extent": lambda world: ["extent", world.copy_run(), "4", *ONE_JOB],
    "import": lambda world: ["import", world.copy_run(), write_corrected(world), "--label", "object"],
    "predict": lambda world: ["predict", world.run, world.scenes / "with", "-o", world.out, *ONE_JOB],
    "update": lambda world: ["update", grow_run(world), *ONE_JOB],
}
EVERY_COMMAND = sorted(COMMANDS)


def list_outputs(world):
    """Files with a name of their own."""
    return sorted(path for path in world.out.rglob("*") if path.is_file() and not path.name.startswith(LEFTOVER))


def read_outputs(world):
    """All that a finished command leaves, without what differs between equal runs."""
    files = [path for path in list_outputs(world) if path.name not in PASSING]
    return {path.relative_to(world.out).as_posix(): _read(path, world) for path in files}


def read_log(path):
    """The actions of a log without their times."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        query = "SELECT number, kind, image, name, value, height, width, counts FROM actions ORDER BY number"
        return connection.execute(query).fetchall()


def _read(path, world):
    if path.suffix == ".sqlite":
        return read_log(path)
    if path.suffix == ".npz":
        return {name: array.tobytes() for name, array in read_arrays(path).items() if name not in TIMES}
    if path.suffix == ".csv":
        return [_drop_times(row) for row in read_csv(path)]
    if path.suffix not in (".json", ".md", ".tex", ".html", ".yaml", ".txt"):
        return path.read_bytes()
    text = path.read_text().replace(str(world.work), "WORK")
    if path.stem == "comparison":  # its last column is processor seconds
        text = re.sub(r"[|&] [\d.]+ (\||\\\\)$", "", text, flags=re.MULTILINE)
    return _drop_times(json.loads(text)) if path.suffix == ".json" else text


def _drop_times(data):
    if isinstance(data, dict):
        return {key: _drop_times(value) for key, value in data.items() if key not in TIMES}
    return [_drop_times(one) for one in data] if isinstance(data, list) else data
