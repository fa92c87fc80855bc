"""Every reader of untrusted files, given nonsense, reads it or raises an error of segvote, within time and memory.

Values of a JSON file are replaced or removed, or bytes of any file changed, cut or doubled, from a seed. `make test`
tries ten of each, `make trust` two thousand (SEGVOTE_FUZZ sets another number).
"""

import json
import os
import re
import shutil
import sqlite3
import time
import zipfile
import zlib
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
import typer
from commands import TINY, World
from nonsense import STRANGE, damage, replace_value
from torch_writer import make_file

from segvote import annotate_classes, load_run
from segvote.cli.app import load_commands
from segvote.errors import SegvoteError
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
from segvote.review.encoding import describe_explanation, encode_update
from segvote.review.session import Session
from segvote.run.classes import ClassRuns
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.run import Run
from segvote.types import Annotation, Part

MAX_MEGABYTES = 2048  # that a reader may take on top of what the process had before: its budget
MAX_SECONDS = 20  # of the processor, for one file
N_QUICK, N_WHOLE = 10, int(os.environ.get("SEGVOTE_FUZZ", "2000"))


# Spoilers: each prepares a file and returns a function that spoils it by a generator of random numbers.


def spoil_json(path):
    """Replaces values, and now and then bytes; without a checksum, as an attacker would leave it out."""
    data = json.loads(path.read_text())
    if isinstance(data, dict):
        data.pop("sha256", None)
    whole = json.dumps(data).encode()
    return lambda rng: path.write_bytes(replace_value(data, rng).encode() if rng.random() < 0.8 else damage(whole, rng))


def spoil_bytes(path):
    whole = path.read_bytes()
    return lambda rng: path.write_bytes(damage(whole, rng))


def spoil_record(world):
    """``run.json``; a command may have changed the other files of the run, which are restored."""
    whole = shutil.copytree(world.run, world.work.parent / "whole")
    spoil = spoil_json(world.run / "run.json")

    def restore_and_spoil(rng):
        shutil.rmtree(world.run)
        shutil.copytree(whole, world.run)
        spoil(rng)

    return restore_and_spoil


def write_log(world):
    path, bag = world.run / "review.sqlite", Run(world.run).bags[0]
    with closing(CorrectionLog(path)) as log:
        log.append(Action("set", bag.digest, bag.name, 1, 4, 4, "0@"))
    return path, bag


def spoil_rows(world):
    """A log of two actions; in the second, two values are nonsense, with a matching checksum."""
    path, bag = write_log(world)
    kinds = ("set", "move", "accept", "paint", "undo", "redo", "extent", "alternative")
    strange = (*STRANGE, *kinds, bag.digest, 2**40, b"\xff", "0@", "05l1")
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
    options = ExportOptions(("car", "cow"), images="none", val_share=0)
    EXPORTS[format](iter([annotation]), world.work / format, options)
    return world.work / FILES[format]


def spoil_archive(world):
    with zipfile.ZipFile(world.work / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(write_export(world, "coco"), "a.json")
    return spoil_bytes(world.work / "a.zip")


def spoil_mask(world):
    write_mask(world.work / "masks" / "a.png", MASK)
    return spoil_bytes(world.work / "masks" / "a.png")


def spoil_content(name, content, spoil=spoil_bytes):
    def write(world):
        path = world.work / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return spoil(path)

    return write


def make_network():
    graph = GraphBuilder()
    conv = graph.convolve("image", np.ones((2, 3, 8, 8), np.float32), np.zeros(2, np.float32), strides=[8, 8])
    return graph.build([conv])


def spoil_classes(world):
    for source, name in (("with", "thing"), ("without", "none")):
        shutil.copytree(world.scenes / source, world.work / "root" / name)
    annotate_classes(world.work / "root", world.work / "classes", TINY, n_jobs=1)
    return spoil_json(world.work / "classes" / "classes.json")


# Readers.


def run_command(name):
    """A command of the table, or of a text like it."""
    command = typer.main.get_command(load_commands())
    return lambda world: command.main(world.type(name), standalone_mode=False)


def review(world):
    """The work of the server's threads, and the first requests of a page."""
    session = Session(Run(world.run))
    try:
        session.engine._take_step()
        session.engine.settle()
        texts = format_json([session.describe_run(), session.describe_status(), session.describe_doctor()])
        answers = [session.pictures.get_map(0), session.pictures.get_thumb(0), session.engine.masks.encode_mask(0)]
        votes = describe_explanation(session.engine.explain(0, 0), 0, 0)
        return texts, answers, encode_update(session.engine.board.snapshot), votes
    finally:
        session.engine.stop()


def work_in_python(world):
    run = load_run(world.run)
    about = repr(run), run._repr_html_(), run.to_table(), list(run.list_annotations()), write_report(run)
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


BOX = "<xmin>1</xmin><ymin>2</ymin><xmax>8</xmax><ymax>9</ymax>"
VOC = f"<annotation><object><name>cow</name><bndbox>{BOX}</bndbox></object></annotation>".encode()
# Name to spoiler, reader, and the divisor of the number of tries: commands are slow.
READERS = {
    **{
        f"run.json, {name}": (spoil_record, read, 8)
        for name, read in {
            **{name: run_command(name) for name in ("evaluate", "export", "explain", "predict")},
            "annotate": run_command("annotate WITH WITHOUT -o RUN --jobs 1 SMALL"),
            "update": run_command("update RUN --jobs 1"),
            "load_run": work_in_python,
            "review": review,
        }.items()
    },
    "classes.json": (spoil_classes, look_at_classes, 1),
    "model.json": (lambda world: spoil_json(world.run / "model/model.json"), run_command("predict"), 4),
    "model.safetensors": (lambda world: spoil_bytes(world.run / "model/model.safetensors"), run_command("predict"), 4),
    "votes.npz": (lambda world: spoil_bytes(world.run / "votes/votes.npz"), run_command("explain"), 4),
    "review.sqlite": (lambda world: spoil_bytes(write_log(world)[0]), run_command("explain"), 4),
    "rows of review.sqlite": (spoil_rows, review, 4),
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
    "truth of boxes, voc": (spoil_content("voc/a.xml", VOC), read_truth("voc"), 1),
    "weights, .pth": (
        spoil_content("a.pth", make_file({"a": np.ones((3, 2), np.float32)})),
        lambda world: read_torch_file(world.work / "a.pth"),
        1,
    ),
    "network, .onnx": (spoil_content("net.onnx", make_network()), describe_segments, 1),
}


def read_memory(name):
    """A line of /proc/self/status in megabytes."""
    found = re.search(rf"^{name}:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1]) >> 10


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux to measure the memory")
@pytest.mark.filterwarnings("ignore")  # numpy's, on absurd numbers
@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.timeout(7200)])])
@pytest.mark.parametrize("name", READERS)
def test_nonsense_is_read_or_refused(name, is_whole, own_run, world, monkeypatch):
    # Records will name ``../..`` for a folder of images: it should be small.
    (world.work / "own" / "place").mkdir(parents=True)
    monkeypatch.chdir(world.work / "own" / "place")
    own = World(world.scenes, own_run, world.work)
    prepare, use, divisor = READERS[name]
    spoil, rng = prepare(own), np.random.default_rng(zlib.crc32(name.encode()) + is_whole)
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM, the peak
    before = read_memory("VmRSS")
    for _ in range(N_WHOLE // divisor if is_whole else N_QUICK):
        spoil(rng)
        started = time.process_time()
        with suppress(SegvoteError):
            use(own)
        assert time.process_time() - started < MAX_SECONDS
    assert read_memory("VmHWM") - before < MAX_MEGABYTES
