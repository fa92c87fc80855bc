"""Every reader of files from elsewhere, fed with what it cannot expect: it reads it or says why not, and stays small.

Values of a JSON file are replaced or lost, or bytes of any file are turned, cut or doubled, from a seed. `make test`
tries a few of each, `make trust` ten thousand; SEGVOTE_FUZZ in the environment says another number. Readers that vote
or write pages share them: the eleven of `run.json` have ten thousand together, the whole review of `review.sqlite` a
quarter, after all of them went through the readers it uses.
"""

import json
import os
import re
import shutil
import sqlite3
import time
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from commands import TINY
from nonsense import STRANGE, damage, replace_value, survives
from torch_writer import make_file

from segvote import load_run
from segvote.cli.evaluate import format_evaluation
from segvote.cli.import_ import format_imported
from segvote.evaluation.doctor import diagnose_run, format_diagnosis
from segvote.evaluation.evaluate import evaluate
from segvote.evaluation.evaluate_truth import list_truth
from segvote.evaluation.explain import explain_segment, format_explanation
from segvote.features import make_features
from segvote.features.networks.onnx_graph import GraphBuilder
from segvote.features.networks.torch_file import read_torch_file
from segvote.io import EXPORTS
from segvote.io.arrays import read_arrays
from segvote.io.exports.base import ExportOptions
from segvote.io.imports import read_any
from segvote.io.masks import write_mask
from segvote.io.tables import format_json
from segvote.report import write_report
from segvote.report.timings import format_timings
from segvote.review.session import Session
from segvote.run.classes import ClassRuns
from segvote.run.correction_log import Action, CorrectionLog, read_actions
from segvote.run.corrections import fix_table, measure_painted_shares, read_corrections
from segvote.run.run import Run
from segvote.run.settings import Settings
from segvote.steps.annotate import annotate
from segvote.steps.classes.annotate import annotate_classes
from segvote.steps.export import export
from segvote.steps.importing import import_corrections
from segvote.steps.prediction.model import read_model
from segvote.steps.prediction.predict import predict
from segvote.steps.prediction.predictor import Predictor
from segvote.steps.reopening import list_segmented_images, reopen, vote
from segvote.steps.update import update
from segvote.types import Annotation, Part

MAX_MEGABYTES = 2048  # that a reader may take on top of what the process had before: its budget
MAX_SECONDS = 20  # of the processor, for one file
N_QUICK, N_WHOLE = 25, int(os.environ.get("SEGVOTE_FUZZ", "10000"))


@dataclass(frozen=True)
class Reader:
    """What puts nonsense into a file, given a generator of random numbers; what reads it; how many share the tries."""

    spoil: Callable
    use: Callable
    n_sharing: int = 1


# What puts nonsense in.


def spoil_json(path, restore=lambda: None):
    """Replaces values, and now and then bytes; without a checksum, as one who means it would leave it out."""
    data = json.loads(path.read_text())
    if isinstance(data, dict):
        data.pop("checksum", None)
    whole = json.dumps(data).encode()

    def spoil(rng):
        restore()
        path.write_bytes(replace_value(data, rng).encode() if rng.random() < 0.8 else damage(whole, rng))

    return spoil


def spoil_bytes(path):
    whole = path.read_bytes()
    return lambda rng: path.write_bytes(damage(whole, rng))


def spoil_lines(path):
    """One line of JSON Lines replaced."""
    lines = path.read_text().splitlines()

    def spoil(rng):
        place = int(rng.integers(len(lines)))
        path.write_text("\n".join([*lines[:place], replace_value(json.loads(lines[place]), rng), *lines[place + 1 :]]))

    return spoil


def spoil_rows(path, bag):
    """A log of two actions; in the second, two values are nonsense, and the checksum is that of the nonsense."""
    strange = (*STRANGE, "set", "move", "look", "paint", "undo", "redo", bag.digest, 2**40, b"\xff", "0@", "05l1")
    texts = [one for one in strange if isinstance(one, int | float | str | bytes) and (one != 2**70 and one != 2**63)]

    path.unlink(missing_ok=True)
    with closing(CorrectionLog(path)) as log:
        log.append(Action("set", bag.digest, bag.name, 1, 4, 4, "0@"))
    whole = path.read_bytes()

    def spoil(rng):
        path.unlink(missing_ok=True)  # a reader that refused the last one may still hold it
        path.write_bytes(whole)
        row = [["set", "paint"][rng.integers(2)], bag.digest, bag.name, 1, 4, 4, "0@", 0, -1]
        for place in rng.integers(0, len(row), 2):
            row[place] = texts[rng.integers(len(texts))]
        names = "number, time, kind, image, name, value, height, width, counts, batch, frame, checksum"
        row.append(f"{zlib.crc32(repr(row).encode()):08x}")
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(f"INSERT INTO actions ({names}) VALUES (2, 0{', ?' * len(row)})", row)

    return spoil


# What reads.


def explain(folder):
    run = Run(folder)
    voted = vote(reopen(run))
    return format_explanation(explain_segment(voted, 0, 0), run)


def read_user_labels(folder):
    """All that a vote takes from the log."""
    run = Run(folder)
    corrections = read_corrections(run.folder)
    bags = list_segmented_images(run, corrections)
    return fix_table(run.folder, bags, corrections), measure_painted_shares(run.folder, bags, corrections)


def predict_one(model, image):
    """What predict does to each image, without segments and masks on the disk."""
    return Predictor(read_model(model)).judge(image)


def review(folder):
    """What the threads of the server do, and what a page asks for first."""
    session = Session(Run(folder))
    try:
        session.engine._take_step()
        session.engine.settle()
        texts = format_json([session.describe_run(), session.describe_status(), session.describe_doctor()])
        answers = [session.pictures.get_map(0), session.pictures.get_thumb(0), session.get_mask(0)]
        return texts, answers, session.encode_update(0), session.describe_votes(0, 0)
    finally:
        session.engine.stop()


def work_in_python(folder):
    run = load_run(folder)
    about = repr(run), run._repr_html_(), run.to_table(), list(run.list_annotations())
    return about, [(one.image, one.heatmap, run.explain(one.name)) for one in run.images[:1]]


def look_at_classes(folder):
    runs = ClassRuns(folder)
    return repr(runs), runs.settings, [list(runs.runs[name].list_annotations()) for name in runs.names]


def describe_with(path):
    features = make_features(str(path))
    labels = np.repeat([[0, 1]], 16, axis=0).repeat(8, axis=1)
    return features.get_key(), features.extract(np.zeros((16, 16, 3), np.uint8), labels)


def list_all_truth(path, label=None):
    return [reader() for reader in list_truth(path, label).values()]


def measure(folder, truth):
    found = evaluate(Run(folder), truth)
    return format_evaluation(found), format_json(found.to_dict())


# All of them by name. Each function gives readers of files that are the test's own.


def list_record_readers(run, scenes, tiny_run, work):
    """`run.json`: whoever opens a run; the folder is as it was before each try."""

    def restore():
        shutil.rmtree(run)
        shutil.copytree(tiny_run, run)

    uses = {
        "annotate": lambda: annotate(scenes / "with", scenes / "without", run, TINY, n_jobs=1),
        "doctor": lambda: format_diagnosis(diagnose_run(Run(run))),
        "evaluate": lambda: measure(run, scenes / "masks"),
        "explain": lambda: explain(run),
        "export": lambda: export(run, "coco", work / "export", overwrite=True),
        "import": lambda: format_imported(import_corrections(run, tiny_run / "annotations.coco.json"), Run(run)),
        "load_run": lambda: work_in_python(run),
        "predict": lambda: predict(run, scenes / "with", work / "predicted", n_jobs=1),
        "report": lambda: write_report(Run(run)),
        "review": lambda: review(run),
        "update": lambda: update(run, n_jobs=1),
    }
    spoil = spoil_json(run / "run.json", restore)
    return {f"`run.json`, read by {name}": Reader(spoil, use, len(uses)) for name, use in uses.items()}


def list_run_readers(run, scenes, work):
    """The other files of a run folder."""
    model, bag, image = run / "model", Run(run).bags[0], Run(run).read_image(0)
    words = json.loads((model / "model.json").read_text())
    del words["sha256"]
    (model / "model.json").write_text(json.dumps(words))
    log = run / "review.sqlite"
    with closing(CorrectionLog(log)) as actions:
        actions.append(Action("look", bag.digest, bag.name, 1))
    return {
        "`model.json`": Reader(spoil_json(model / "model.json"), lambda: read_model(run).restore()),
        "`model.json`, read by predict": Reader(
            spoil_json(model / "model.json"), lambda: predict(model, scenes / "with", work / "predicted", n_jobs=1)
        ),
        "`model.safetensors`, read by predict": Reader(
            spoil_bytes(model / "model.safetensors"), lambda: predict_one(model, image)
        ),
        "`votes.npz`": Reader(spoil_bytes(run / "votes" / "votes.npz"), lambda: read_arrays(run / "votes/votes.npz")),
        "`log.jsonl`, read by the report": Reader(
            spoil_lines(run / "log.jsonl"), lambda: format_timings(Run(run).folder.read_log())
        ),
        "`review.sqlite`": Reader(spoil_bytes(log), lambda: read_actions(log)),
        "`review.sqlite`, rows of it": Reader(spoil_rows(log, bag), lambda: read_user_labels(run)),
        "`review.sqlite`, read by review": Reader(spoil_rows(log, bag), lambda: review(run), 4),
    }


def list_import_readers(work):
    """Files of every import format, and truth."""
    mask = np.random.default_rng(0).random((30, 40)) < 0.3
    parts, found = (Part("car", mask, 0.5), Part("cow", ~mask)), {}
    for name, spoil in (("coco", spoil_json), ("cvat", spoil_bytes), ("label-studio", spoil_json)):
        path = EXPORTS[name](
            iter([Annotation("a.png", 30, 40, parts)]), work / name, ExportOptions(images="none", val_share=0)
        )
        found[f"import of {name}"] = Reader(spoil(path), lambda path=path: list(read_any(path)))
        if name == "coco":
            found["truth of coco"] = Reader(spoil_json(path), lambda path=path: list_all_truth(path))
            with zipfile.ZipFile(work / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                archive.write(path, "a.json")
    folder = EXPORTS["labelme"](
        iter([Annotation("a.png", 30, 40, parts)]), work / "labelme", ExportOptions(images="none", val_share=0)
    )
    found["import of labelme"] = Reader(spoil_json(folder / "a.json"), lambda: list(read_any(folder)))
    found["import of an archive"] = Reader(spoil_bytes(work / "a.zip"), lambda: list(read_any(work / "a.zip")))
    return {**found, **list_truth_readers(work, mask)}


def list_truth_readers(work, mask):
    """Truth as folders and tables."""
    for name in ("masks", "voc"):
        (work / name).mkdir()
    write_mask(work / "masks" / "a.png", mask)
    box = "".join(
        f"<{side}>{value}</{side}>" for side, value in zip(("xmin", "ymin", "xmax", "ymax"), "1289", strict=True)
    )
    (work / "voc" / "a.xml").write_text(
        f"<annotation><object><name>cow</name><bndbox>{box}</bndbox></object></annotation>"
    )
    (work / "boxes.csv").write_text("image,x0,y0,x1,y1\na.png,1,2,8,9\nb.png,0.5,0,3e1,7\n")
    coco = {"images": [{"id": 1, "file_name": "a.png"}], "categories": [{"id": 1, "name": "cow"}]}
    coco["annotations"] = [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1, 2, 3.5, 4]}]
    (work / "boxes.json").write_text(json.dumps(coco))
    return {
        "truth of boxes, coco": Reader(spoil_json(work / "boxes.json"), lambda: list_all_truth(work / "boxes.json")),
        "truth of boxes, csv": Reader(spoil_bytes(work / "boxes.csv"), lambda: list_all_truth(work / "boxes.csv")),
        "truth of boxes, voc": Reader(spoil_bytes(work / "voc" / "a.xml"), lambda: list_all_truth(work / "voc")),
        "truth of masks": Reader(spoil_bytes(work / "masks" / "a.png"), lambda: list_all_truth(work / "masks")),
    }


def list_network_readers(work):
    for name, is_zipped in (("a.pth", True), ("b.pth", False)):
        (work / name).write_bytes(make_file({"a": np.ones((3, 2), np.float32)}, zipped=is_zipped))
    graph, network = GraphBuilder(), work / "net.onnx"
    conv = graph.convolve("image", np.ones((2, 3, 8, 8), np.float32), np.zeros(2, np.float32), strides=[8, 8])
    network.write_bytes(graph.build({conv: (1, 2, "h", "w")}))
    return {
        "network, .onnx": Reader(spoil_bytes(network), lambda: describe_with(network)),
        "weights, .pth": Reader(spoil_bytes(work / "a.pth"), lambda: read_torch_file(work / "a.pth")),
        "weights, .pth of old": Reader(spoil_bytes(work / "b.pth"), lambda: read_torch_file(work / "b.pth")),
    }


@pytest.fixture(scope="session")
def tiny_classes(tiny_scenes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    shutil.copytree(tiny_scenes / "with", folder / "root" / "thing")
    shutil.copytree(tiny_scenes / "without", folder / "root" / "none")
    annotate_classes(folder / "root", folder / "out", Settings(features="color", n_segments=12, size=64), n_jobs=1)
    return folder / "out"


@pytest.fixture
def readers(tiny_run, tiny_scenes, tiny_classes, tmp_path, monkeypatch):
    # Records will name ``../..`` for a folder of images: not one that holds all others of this machine.
    (tmp_path / "own" / "place").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "own" / "place")
    for name in ("run", "records"):
        shutil.copytree(tiny_run, tmp_path / name)
    classes = tmp_path / "classes"
    shutil.copytree(tiny_classes, classes)
    return {
        **list_record_readers(tmp_path / "records", tiny_scenes, tiny_run, tmp_path),
        **list_run_readers(tmp_path / "run", tiny_scenes, tmp_path),
        **list_import_readers(tmp_path),
        **list_network_readers(tmp_path),
        "`classes.json`": Reader(spoil_json(classes / "classes.json"), lambda: look_at_classes(classes)),
    }


NAMES = (
    "`classes.json`",
    "`log.jsonl`, read by the report",
    "`model.json`",
    "`model.json`, read by predict",
    "`model.safetensors`, read by predict",
    "`review.sqlite`",
    "`review.sqlite`, read by review",
    "`review.sqlite`, rows of it",
    "`run.json`, read by annotate",
    "`run.json`, read by doctor",
    "`run.json`, read by evaluate",
    "`run.json`, read by explain",
    "`run.json`, read by export",
    "`run.json`, read by import",
    "`run.json`, read by load_run",
    "`run.json`, read by predict",
    "`run.json`, read by report",
    "`run.json`, read by review",
    "`run.json`, read by update",
    "`votes.npz`",
    "import of an archive",
    "import of coco",
    "import of cvat",
    "import of label-studio",
    "import of labelme",
    "network, .onnx",
    "truth of boxes, coco",
    "truth of boxes, csv",
    "truth of boxes, voc",
    "truth of coco",
    "truth of masks",
    "weights, .pth",
    "weights, .pth of old",
)


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


@pytest.mark.filterwarnings("ignore")  # numpy's, on numbers nobody would write
@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.timeout(7200)])])
@pytest.mark.parametrize("name", NAMES)
def test_a_reader_reads_nonsense_or_says_why_not(readers, name, is_whole, ledger):
    assert sorted(readers) == list(NAMES)
    reader, rng, lost, longest = readers[name], np.random.default_rng([NAMES.index(name), is_whole]), 0, 0.0
    n_tries, peak = N_WHOLE // reader.n_sharing if is_whole else N_QUICK, Peak()
    for _ in range(n_tries):
        reader.spoil(rng)
        started = time.process_time()
        lost += not survives(reader.use)
        longest = max(longest, time.process_time() - started)
    print(f"{name}: {n_tries} tries, {lost} lost, {peak.measure()} MB more, longest {longest:.2f} s")
    assert peak.measure() < MAX_MEGABYTES and longest < MAX_SECONDS
    ledger.note(f"nonsense in {name}", n_tries, lost)
