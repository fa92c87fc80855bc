"""The commands that write files, and the comparison of their outputs."""

import contextlib
import csv
import json
import re
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from segvote import annotate as run_annotate
from segvote.io.arrays import read_arrays
from segvote.io.video.files import open_film_writer
from segvote.settings import Settings

OPTIONS = ("--features", "color", "--n-segments", "12", "--size", "64")
TINY = Settings(features="color", n_segments=12, size=64)
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

    def make_another(self, name):
        (self.work / name).mkdir()
        return World(self.scenes, self.run, self.work / name)

    def type(self, command):
        """The words of a command of `COMMANDS`, or of a text like them."""
        text = COMMANDS.get(command, command)
        return re.sub(r"\b[A-Z]{3,}\b", lambda word: str(PLACES[word[0]](self)), text).split()


def copy_once(source, target):
    if not target.exists():
        shutil.copytree(source, target)
    return target


def write_corrected(world):
    """A COCO file as another tool returns it: one mask is the whole image, the others are those of the run."""
    coco = json.loads((world.run / "annotations.coco.json").read_text())
    image, path = coco["images"][0], world.work / "corrected.json"
    width, height = image["width"], image["height"]
    corners = [0, 0, width, 0, width, height, 0, height]
    whole = {"id": 999, "image_id": image["id"], "category_id": 1, "segmentation": [corners]}
    coco["annotations"] = [*(one for one in coco["annotations"] if one["image_id"] != image["id"]), whole]
    path.write_text(json.dumps(coco))
    return path


def make_class_folders(world):
    root = world.work.parent / "class-folders"
    copy_once(world.scenes / "with", root / "thing")
    copy_once(world.scenes / "without", root / "none")
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
    """Folders of two films with the object and two without: a scene that moves by a pixel from frame to frame."""
    films = world.work.parent / "films"
    for path in () if films.exists() else [*world.scenes.glob("with*/*[01].png")]:
        (films / path.parent.name).mkdir(parents=True, exist_ok=True)
        with Image.open(path) as image, open_film_writer(films / path.parent.name / f"{path.stem}.mp4") as writer:
            for number in range(n_frames):
                writer.write(np.roll(np.asarray(image), number, axis=1), number / 10)
    return f"{films / 'with'} {films / 'without'}"


# Words in capitals are replaced by `World.type`, see `PLACES`.
COMMANDS = {
    "annotate": "annotate WITH WITHOUT -o OUT --jobs 1 SMALL",
    "annotate --classes": "annotate --classes CLASSES -o OUT --jobs 1 SMALL",
    "annotate, films": "annotate FILMS -o OUT --jobs 1 SMALL",
    "annotate, object store": "annotate file://WITH file://WITHOUT -o file://OUT --jobs 1 SMALL",
    "choose": "choose COPY B --jobs 1",
    "compare": "compare WITH WITHOUT --truth MASKS -o OUT --jobs 1 --voters ekde,cam SMALL",
    "evaluate": "evaluate RUN --truth MASKS --html OUT/page.html --csv OUT/table.csv",
    "explain": "explain RUN with-000.png --html OUT/page.html",
    "export": "export RUN --format yolo -o OUT --images copy --overwrite",
    "extent": "extent COPY 4 --jobs 1",
    "import": "import COPY CORRECTED --label object",
    "measure": "measure RUN -o OUT/table.csv",
    "predict": "predict RUN WITH -o OUT --jobs 1",
    "update": "update GROWN --jobs 1",
}
PLACES = {
    "WITH": lambda world: world.scenes / "with",
    "WITHOUT": lambda world: world.scenes / "without",
    "MASKS": lambda world: world.scenes / "masks",
    "RUN": lambda world: world.run,
    "OUT": lambda world: world.out,
    "COPY": lambda world: copy_once(world.run, world.out),
    "GROWN": grow_run,
    "CLASSES": make_class_folders,
    "FILMS": make_films,
    "CORRECTED": write_corrected,
    "SMALL": lambda world: " ".join(OPTIONS),
}
EVERY_COMMAND = sorted(COMMANDS)


def list_outputs(world):
    """Files with a name of their own."""
    return sorted(path for path in world.out.rglob("*") if path.is_file() and not path.name.startswith(LEFTOVER))


def read_outputs(world):
    """The output files of a command by name, without times."""
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
        return [_drop_times(row) for row in csv.DictReader(path.read_text().splitlines())]
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
