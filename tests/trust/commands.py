"""The commands that write, each with what it needs, what it leaves behind, and how that is compared."""

import contextlib
import json
import re
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from segvote.io.arrays import read_arrays
from segvote.io.tables import read_csv
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate as run_annotate

TINY = Settings(features="color", n_segments=12, size=64)

OPTIONS = ("--features", "color", "--n-segments", "12", "--size", "64")
# What may differ between two equal runs: times, and who holds the lock.
PASSING = {"log.jsonl", ".lock", "report.html", "comparison.html"}
TIMES = {"seconds"}  # measured, not computed
LEFTOVER = ".tmp-"  # of a process that was killed; hidden, and no name of anything


@dataclass(frozen=True)
class World:
    """A place to work in: scenes that are only read, a finished run of them, and a folder of one's own."""

    scenes: Path
    run: Path
    work: Path

    def copy_run(self):
        target = self.work / "run"
        if not target.exists():
            shutil.copytree(self.run, target)
        return target

    def write_truth(self):
        """What another tool would hand back: one mask is the whole image, the others are as they were."""
        path = self.work / "corrected.json"
        coco = json.loads((self.run / "annotations.coco.json").read_text())
        first = coco["images"][0]
        whole = [[0, 0, first["width"], 0, first["width"], first["height"], 0, first["height"]]]
        coco["annotations"] = [one for one in coco["annotations"] if one["image_id"] != first["id"]]
        coco["annotations"].append(
            {"id": 999, "image_id": first["id"], "category_id": coco["categories"][0]["id"], "segmentation": whole}
        )
        path.write_text(json.dumps(coco))
        return path


def annotate(world):
    folders = [world.scenes / "with", world.scenes / "without"]
    return ["annotate", *folders, "-o", world.work / "out", "--jobs", "1", *OPTIONS]


def predict(world):
    return ["predict", world.run, world.scenes / "with", "-o", world.work / "out", "--jobs", "1"]


def export(world):
    return ["export", world.run, "--format", "yolo", "-o", world.work / "out", "--images", "copy", "--overwrite"]


def import_(world):
    return ["import", world.copy_run(), world.write_truth(), "--label", "object"]


def evaluate(world):
    pages = ["--html", world.work / "out" / "page.html", "--csv", world.work / "out" / "table.csv"]
    return ["evaluate", world.run, "--truth", world.scenes / "masks", *pages]


def compare(world):
    folders = [world.scenes / "with", world.scenes / "without", "--truth", world.scenes / "masks"]
    return ["compare", *folders, "-o", world.work / "out", "--jobs", "1", "--voters", "ekde,cam", *OPTIONS]


def classes(world):
    root = world.work.parent / "class-folders"
    if not root.exists():
        shutil.copytree(world.scenes / "with", root / "thing")
        shutil.copytree(world.scenes / "without", root / "none")
    return ["annotate", "--classes", root, "-o", world.work / "out", "--jobs", "1", *OPTIONS]


def update(world):
    """A run to whose folders one image came since."""
    images, base = world.work.parent / "images", world.work.parent / "base"
    out = world.work / "out"
    if not base.exists():
        grow_run(world.scenes, images, base)
    if not out.exists():
        shutil.copytree(base, out)
    return ["update", out, "--jobs", "1"]


def grow_run(scenes, images, base):
    """Annotate all images but one, and put that one beside them."""
    for name in ("with", "without"):
        shutil.copytree(scenes / name, images / name)
    late = sorted((images / "with").iterdir())[-1]
    content = late.read_bytes()
    late.unlink()
    run_annotate(images / "with", images / "without", base, TINY, n_jobs=1)
    late.write_bytes(content)


def videos(world):
    """Two folders of frames with the object and two without: the same scene, moved by a pixel from frame to frame."""
    folder = world.work.parent / "videos"
    if not folder.exists():
        for kind in ("with", "without"):
            for path in sorted((world.scenes / kind).iterdir())[:2]:
                write_frames(path, folder / kind / path.stem)
    places = [folder / "with", folder / "without"]
    return ["annotate", *places, "-o", world.work / "out", "--frames", "video", "--jobs", "1", *OPTIONS]


def write_frames(picture, folder, n_frames=4):
    from PIL import Image, ImageChops

    folder.mkdir(parents=True)
    with Image.open(picture) as image:
        for number in range(n_frames):
            ImageChops.offset(image, number, 0).save(folder / f"{number:05d}.png")


def store(world):
    """Images and run folder under an address; the mirror is beside them."""
    addresses = [f"file://{world.scenes / kind}" for kind in ("with", "without")]
    return ["annotate", *addresses, "-o", f"file://{world.work / 'out'}", "--jobs", "1", *OPTIONS]


COMMANDS = {
    "annotate": annotate,
    "annotate --classes": classes,
    "compare": compare,
    "evaluate": evaluate,
    "export": export,
    "import": import_,
    "predict": predict,
    "update": update,
}


# Those that are killed, too; a full disk meets them at the places of `annotate`.
LONG_COMMANDS = {**COMMANDS, "annotate, object store": store, "annotate, videos": videos}


def read_outputs(world):
    """All that a finished command leaves in the folder of its own, as it must be however often it was killed."""
    names = (path for path in (world.work / "out").rglob("*") if path.is_file() and path.name not in PASSING)
    files = sorted(path for path in names if not path.name.startswith(LEFTOVER))
    found = {path.relative_to(world.work).as_posix(): _read(path, world) for path in files}
    log = world.work / "run" / "review.sqlite"
    return {**found, "actions": read_log(log)} if log.exists() else found


def read_log(path):
    """The actions of a log without their times."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        query = "SELECT number, kind, image, name, value, height, width, counts FROM actions ORDER BY number"
        return connection.execute(query).fetchall()


def _read(path, world):
    if path.suffix == ".npz":
        return {name: array.tobytes() for name, array in read_arrays(path).items() if name not in TIMES}
    if path.suffix == ".csv":
        return [_drop_times(row) for row in read_csv(path)]
    if path.suffix in (".json", ".md", ".tex", ".html", ".yaml", ".txt"):
        text = path.read_text().replace(str(world.work), "WORK")
        if path.stem == "comparison":
            # The last column is processor seconds: measured, not computed.
            text = re.sub(r"[|&] [\d.]+ (\||\\\\)$", "", text, flags=re.MULTILINE)
        return _drop_times(json.loads(text)) if path.suffix == ".json" else text
    return path.read_bytes()


def _drop_times(data):
    if isinstance(data, dict):
        return {key: _drop_times(value) for key, value in data.items() if key not in TIMES}
    return [_drop_times(one) for one in data] if isinstance(data, list) else data
