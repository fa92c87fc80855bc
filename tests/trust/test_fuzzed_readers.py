"""Every reader of files from elsewhere, given nonsense: it reads it or raises an error of segvote, and stays small.

Values of a JSON file are replaced or lost, or bytes of any file are turned, cut or doubled, from a seed. `make test`
tries a few of each, `make trust` two thousand (SEGVOTE_FUZZ sets another number). The readers of `run.json` share
them; other commands have a quarter.
"""

import json
import os
import re
import shutil
import sqlite3
import time
import zipfile
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import typer
from commands import EVERY_COMMAND, TINY, World
from nonsense import STRANGE, damage, replace_value, survives
from torch_writer import make_file

from segvote import annotate_classes, load_run
from segvote.cli.app import load_commands
from segvote.evaluation.truth import list_truth
from segvote.features import make_features
from segvote.features.networks.onnx_graph import GraphBuilder
from segvote.features.networks.torch_file import read_torch_file
from segvote.io import EXPORTS
from segvote.io.exports.base import ExportOptions
from segvote.io.imports import read_any
from segvote.io.masks import write_mask
from segvote.io.tables import format_json
from segvote.report import write_report
from segvote.review.session import Session
from segvote.run.classes import ClassRuns
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.run import Run
from segvote.types import Annotation, Part

MAX_MEGABYTES = 2048  # that a reader may take on top of what the process had before: its budget
MAX_SECONDS = 20  # of the processor, for one file
N_QUICK, N_WHOLE = 10, int(os.environ.get("SEGVOTE_FUZZ", "2000"))


# What spoils: each returns a function of a generator of random numbers.


def spoil_json(path, restore=lambda: None):
    """Replaces values, and now and then bytes; without a checksum, as an attacker would leave it out."""
    data = json.loads(path.read_text())
    if isinstance(data, dict):
        data = {key: value for key, value in data.items() if key not in ("checksum", "sha256")}
    whole = json.dumps(data).encode()

    def spoil(rng):
        restore()
        path.write_bytes(replace_value(data, rng).encode() if rng.random() < 0.8 else damage(whole, rng))

    return spoil


def spoil_bytes(path):
    whole = path.read_bytes()
    return lambda rng: path.write_bytes(damage(whole, rng))


def spoil_record(name):
    """``run.json`` of the folder that a command reads, or writes into; everything else is as before."""

    def prepare(world):
        whole = world.work.parent / "whole"
        shutil.copytree(world.run, whole)

        def restore():
            for folder in (world.run, world.out):
                shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(whole, world.run)
            if name in ("annotate", "update"):
                shutil.copytree(whole, world.out)

        restore()
        return spoil_json((world.out if world.out.exists() else world.run) / "run.json", restore)

    return prepare


def spoil_log_lines(world):
    """One line of JSON Lines replaced."""
    path = world.run / "log.jsonl"
    lines = path.read_text().splitlines()

    def spoil(rng):
        at = int(rng.integers(len(lines)))
        path.write_text("\n".join([*lines[:at], replace_value(json.loads(lines[at]), rng), *lines[at + 1 :]]))

    return spoil


def write_log(world):
    path, bag = world.run / "review.sqlite", Run(world.run).bags[0]
    with closing(CorrectionLog(path)) as log:
        log.append(Action("set", bag.digest, bag.name, 1, 4, 4, "0@"))
    return path, bag


def spoil_rows(world):
    """A log of two actions; in the second, two values are nonsense, and the checksum is that of the nonsense."""
    path, bag = write_log(world)
    strange = (
        *STRANGE,
        "set",
        "move",
        "look",
        "paint",
        "undo",
        "redo",
        "extent",
        bag.digest,
        2**40,
        b"\xff",
        "0@",
        "05l1",
    )
    texts = [one for one in strange if isinstance(one, int | float | str | bytes) and one not in (2**70, 2**63)]
    whole = path.read_bytes()

    def spoil(rng):
        path.unlink(missing_ok=True)  # a reader that refused the last one may still hold it
        path.write_bytes(whole)
        row = [["set", "paint", "extent"][rng.integers(3)], bag.digest, bag.name, 1, 4, 4, "0@", 0, -1]
        for at in rng.integers(0, len(row), 2):
            row[at] = texts[rng.integers(len(texts))]
        names = "number, time, kind, image, name, value, height, width, counts, batch, frame, checksum"
        row.append(f"{zlib.crc32(repr(row).encode()):08x}")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(f"INSERT INTO actions ({names}) VALUES (2, 0{', ?' * len(row)})", row)

    return spoil


FILES = {
    "coco": "coco/annotations/instances_default.json",
    "cvat": "cvat/annotations.xml",
    "label-studio": "label-studio/tasks.json",
    "labelme": "labelme/a.json",
}
MASK = np.random.default_rng(0).random((30, 40)) < 0.3


def write_export(world, format):
    annotation = Annotation("a.png", 30, 40, (Part("car", MASK, 0.5), Part("cow", ~MASK)))
    EXPORTS[format](iter([annotation]), world.work / format, ExportOptions(images="none", val_share=0))
    return world.work / FILES[format]


def spoil_archive(world):
    with zipfile.ZipFile(world.work / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(write_export(world, "coco"), "a.json")
    return spoil_bytes(world.work / "a.zip")


def spoil_mask(world):
    write_mask(world.work / "masks" / "a.png", MASK)
    return spoil_bytes(world.work / "masks" / "a.png")


def spoil_text(name, text, spoil=spoil_bytes):
    def write(world):
        path = world.work / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return spoil(path)

    return write


def spoil_weights(world):
    (world.work / "a.pth").write_bytes(make_file({"a": np.ones((3, 2), np.float32)}))
    return spoil_bytes(world.work / "a.pth")


def spoil_network(world):
    graph = GraphBuilder()
    conv = graph.convolve("image", np.ones((2, 3, 8, 8), np.float32), np.zeros(2, np.float32), strides=[8, 8])
    (world.work / "net.onnx").write_bytes(graph.build([conv]))
    return spoil_bytes(world.work / "net.onnx")


def spoil_classes(world):
    for source, name in (("with", "thing"), ("without", "none")):
        shutil.copytree(world.scenes / source, world.work / "root" / name)
    annotate_classes(world.work / "root", world.work / "classes", TINY, n_jobs=1)
    return spoil_json(world.work / "classes" / "classes.json")


# What reads.


def run_command(name):
    """A command of the table, as it is typed."""
    command = typer.main.get_command(load_commands())
    return lambda world: command.main(world.type(name), standalone_mode=False)


def review(world):
    """What the threads of the server do, and what a page asks for first."""
    session = Session(Run(world.run))
    try:
        session.engine._take_step()
        session.engine.settle()
        texts = format_json([session.describe_run(), session.describe_status(), session.describe_doctor()])
        answers = [session.pictures.get_map(0), session.pictures.get_thumb(0), session.engine.encode_mask(0)]
        return texts, answers, session.encode_update(0), session.describe_votes(0, 0)
    finally:
        session.engine.stop()


def work_in_python(world):
    run = load_run(world.run)
    about = repr(run), run._repr_html_(), run.to_table(), list(run.list_annotations())
    return about, [(one.image, one.heatmap, run.explain(one.name)) for one in run.images[:1]]


def look_at_classes(world):
    runs = ClassRuns(world.work / "classes")
    return repr(runs), runs.settings, [list(runs.runs[name].list_annotations()) for name in runs.names]


def describe_segments(world):
    features = make_features(str(world.work / "net.onnx"))
    labels = np.repeat([[0, 1]], 16, axis=0).repeat(8, axis=1)
    return features.get_key(), features.extract(np.zeros((16, 16, 3), np.uint8), labels)


def read_truth(name):
    return lambda world: [reader() for reader in list_truth(world.work / name, None).values()]


RECORD_READERS = {
    **{name: run_command(name) for name in EVERY_COMMAND if not re.match("annotate.+|compare", name)},
    "load_run": work_in_python,
    "report": lambda world: write_report(Run(world.run)),
    "review": review,
}
BOX = "<xmin>1</xmin><ymin>2</ymin><xmax>8</xmax><ymax>9</ymax>"
VOC = f"<annotation><object><name>cow</name><bndbox>{BOX}</bndbox></object></annotation>"
COCO = {
    "images": [{"id": 1, "file_name": "a.png"}],
    "categories": [{"id": 1, "name": "cow"}],
    "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3.5, 4]}],
}
# What is spoiled to what spoils it, what reads it, and how many readers share the tries.
READERS = {
    **{
        f"`run.json`, read by {name}": (spoil_record(name), use, len(RECORD_READERS))
        for name, use in RECORD_READERS.items()
    },
    "`classes.json`": (spoil_classes, look_at_classes, 1),
    "`log.jsonl`": (spoil_log_lines, lambda world: write_report(Run(world.run)), 4),
    "`model.json`": (lambda world: spoil_json(world.run / "model/model.json"), run_command("predict"), 4),
    "`model.safetensors`": (
        lambda world: spoil_bytes(world.run / "model/model.safetensors"),
        run_command("predict"),
        4,
    ),
    "`votes.npz`": (lambda world: spoil_bytes(world.run / "votes/votes.npz"), run_command("explain"), 4),
    "`review.sqlite`": (lambda world: spoil_bytes(write_log(world)[0]), run_command("explain"), 4),
    "rows of `review.sqlite`": (spoil_rows, review, 4),
    **{
        f"import of {name}": (
            lambda world, name=name: (spoil_bytes if name == "cvat" else spoil_json)(write_export(world, name)),
            lambda world, name=name: list(read_any(world.work / FILES[name])),
            1,
        )
        for name in FILES
    },
    "import of an archive": (spoil_archive, lambda world: list(read_any(world.work / "a.zip")), 1),
    "truth of coco": (lambda world: spoil_json(write_export(world, "coco")), read_truth(FILES["coco"]), 1),
    "truth of masks": (spoil_mask, read_truth("masks"), 1),
    "truth of boxes, coco": (spoil_text("boxes.json", json.dumps(COCO), spoil_json), read_truth("boxes.json"), 1),
    "truth of boxes, voc": (spoil_text("voc/a.xml", VOC), read_truth("voc"), 1),
    "weights, .pth": (spoil_weights, lambda world: read_torch_file(world.work / "a.pth"), 1),
    "network, .onnx": (spoil_network, describe_segments, 1),
}


class Peak:
    """The most memory that this process had since, in megabytes above what it had then; 0 where Linux does not tell."""

    def __init__(self):
        self.path = Path("/proc/self/status")
        if self.path.exists():
            Path("/proc/self/clear_refs").write_text("5")
        self.before = self._read("VmRSS")

    def measure(self):
        return self._read("VmHWM") - self.before

    def _read(self, name):
        found = re.search(rf"^{name}:\s*(\d+) kB", self.path.read_text() if self.path.exists() else "", re.MULTILINE)
        return int(found.group(1)) >> 10 if found else 0


@pytest.mark.filterwarnings("ignore")  # numpy's, on absurd numbers
@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.timeout(7200)])])
@pytest.mark.parametrize("name", READERS)
def test_nonsense_is_read_or_refused(name, is_whole, own_run, world, monkeypatch, ledger):
    # Records will name ``../..`` for a folder of images: not one that holds all others of this machine.
    (world.work / "own" / "place").mkdir(parents=True)
    monkeypatch.chdir(world.work / "own" / "place")
    own = World(world.scenes, own_run, world.work)
    prepare, use, n_sharing = READERS[name]
    spoil, rng, lost, longest = prepare(own), np.random.default_rng(zlib.crc32(name.encode()) + is_whole), 0, 0.0
    n_tries, peak = N_WHOLE // n_sharing if is_whole else N_QUICK, Peak()
    for _ in range(n_tries):
        spoil(rng)
        started = time.process_time()
        lost += not survives(lambda: use(own))
        longest = max(longest, time.process_time() - started)
    print(f"{name}: {n_tries} tries, {lost} lost, {peak.measure()} MB more, longest {longest:.2f} s")
    assert peak.measure() < MAX_MEGABYTES and longest < MAX_SECONDS
    ledger(f"nonsense in {name}", n_tries, lost)
