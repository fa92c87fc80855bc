"""Every reader of files from elsewhere, fed with what it cannot expect: it reads it or says why not, and stays small.

One value of a JSON file is replaced or lost, or bytes of any file are turned, cut or doubled, from a seed. `make test`
tries a few of each; `make trust` ten thousand, those of `run.json` shared by the six that read it.
"""

import json
import resource
import shutil
import zipfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from test_hostile_files import mutate, survives
from torch_writer import make_file

from segvote.evaluation.doctor import diagnose_run, format_diagnosis
from segvote.evaluation.evaluate_truth import list_truth
from segvote.evaluation.explain import explain_segment, format_explanation
from segvote.features import make_features
from segvote.features.networks.onnx_graph import GraphBuilder
from segvote.features.networks.torch_file import read_torch_file
from segvote.features.networks.vgg19_weights import read_vgg19_weights
from segvote.io import EXPORTS
from segvote.io.arrays import read_arrays
from segvote.io.exports.base import ExportOptions
from segvote.io.imports.detect import read_any
from segvote.report import write_report
from segvote.run.classes.runs import ClassRuns
from segvote.run.correction_log import Action, CorrectionLog, read_actions
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings
from segvote.steps.classes.annotate import annotate_classes
from segvote.steps.export import export
from segvote.steps.importing import import_corrections
from segvote.steps.prediction.model import read_model
from segvote.steps.reopening import reopen, vote
from segvote.steps.update import update
from segvote.types import Annotation, Part

MAX_MEGABYTES = 3072  # of the whole process; the budget of a reader is 2048


def explain(folder):
    run = Run(folder)
    voted = vote(reopen(run))
    return format_explanation(explain_segment(voted, 0, 0), run)


def look_at_classes(folder):
    runs = ClassRuns(folder)
    return repr(runs), runs.settings, [list(runs.runs[name].list_annotations()) for name in runs.names]


def describe_with(path):
    features = make_features(str(path))
    labels = np.repeat([[0, 1]], 16, axis=0).repeat(8, axis=1)
    return features.get_key(), features.extract(np.zeros((16, 16, 3), np.uint8), labels)


def list_all_truth(path):
    return [reader() for reader in list_truth(path).values()]


@dataclass(frozen=True)
class Reader:
    """What is changed, and what reads it; `is_json`: one value at a time, else bytes; `is_record`: it is run.json."""

    path: Path
    use: object
    is_json: bool = True
    is_record: bool = False


def damage(data, rng):
    """The same bytes with a few of them turned, some left out, or a part twice."""
    data = bytearray(data)
    for place in rng.integers(0, len(data), rng.integers(1, 6)):
        data[place] = rng.choice([0, 1, 127, 128, 255, int(rng.integers(256))])
    start, end = sorted(rng.integers(0, len(data) + 1, 2))
    kind = rng.random()
    if kind < 0.2:
        return bytes(data[:end])
    if kind < 0.3:
        return bytes(data[:start] + data[end:])
    return bytes(data[:end] + data[start:]) if kind < 0.4 else bytes(data)


def write_json_mutant(reader, whole, rng):
    mutant = mutate(whole, rng)
    if reader.is_record:
        RunFolder(reader.path.parent).write_record(mutant)  # with a checksum, as one who means it would
    else:
        reader.path.write_text(json.dumps(mutant))


@pytest.fixture(scope="session")
def tiny_classes(tiny_scenes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("classes")
    shutil.copytree(tiny_scenes / "with", folder / "root" / "thing")
    shutil.copytree(tiny_scenes / "without", folder / "root" / "none")
    annotate_classes(folder / "root", folder / "out", Settings(features="color", n_segments=12, size=64), n_jobs=1)
    return folder / "out"


@pytest.fixture
def readers(tiny_run, tiny_classes, tmp_path):
    """Name to what is read and how; every file is this test's own."""
    run, classes = tmp_path / "run", tmp_path / "classes"
    shutil.copytree(tiny_run, run)
    shutil.copytree(tiny_classes, classes)
    rng = np.random.default_rng(0)
    mask = rng.random((30, 40)) < 0.3
    parts = (Part("car", mask, 0.5), Part("cow", ~mask))
    found = {}
    for name, ending in (("coco", "json"), ("cvat", "xml"), ("label-studio", "json")):
        path = EXPORTS[name](iter([Annotation("a.png", 30, 40, parts)]), tmp_path / name, ExportOptions())
        found[f"import of {name}"] = Reader(path, lambda path: list(read_any(path)), ending == "json")
    folder = EXPORTS["labelme"](iter([Annotation("a.png", 30, 40, parts)]), tmp_path / "labelme", ExportOptions())
    found["import of labelme"] = Reader(folder / "a.json", lambda path: list(read_any(path)))
    found["truth of coco"] = Reader(found["import of coco"].path, list_all_truth)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(found["import of coco"].path, "a.json")
    found["import of an archive"] = Reader(tmp_path / "a.zip", lambda path: list(read_any(path)), is_json=False)
    record = run / "run.json"
    uses = {"report": lambda path: write_report(Run(path.parent)), "explain": lambda path: explain(path.parent)}
    uses["doctor"] = lambda path: format_diagnosis(diagnose_run(Run(path.parent)))
    uses["update"] = lambda path: update(path.parent, n_jobs=1)
    uses["export"] = lambda path: export(path.parent, "coco", tmp_path / "export", overwrite=True)
    uses["import"] = lambda path: import_corrections(path.parent, tiny_run / "annotations.coco.json")
    for name, use in uses.items():
        found[f"run.json, {name}"] = Reader(record, use, is_record=True)
    found["classes.json"] = Reader(classes / "classes.json", lambda path: look_at_classes(path.parent))
    found["model.json"] = Reader(run / "model" / "model.json", lambda path: read_model(path.parent).restore())
    found["votes.npz"] = Reader(run / "votes" / "votes.npz", read_arrays, is_json=False)
    with closing(CorrectionLog(run / "review.sqlite")) as log:
        log.append(Action("look", Run(run).bags[0].digest, Run(run).bags[0].name, 1))
    found["review.sqlite"] = Reader(run / "review.sqlite", read_actions, is_json=False)
    (tmp_path / "a.pth").write_bytes(make_file({"a": np.ones((3, 2), np.float32)}, zipped=True))
    (tmp_path / "b.pth").write_bytes(make_file({"a": np.ones((3, 2), np.float32)}, zipped=False))
    found["weights, zip"] = Reader(tmp_path / "a.pth", read_torch_file, is_json=False)
    found["weights, old"] = Reader(tmp_path / "b.pth", read_torch_file, is_json=False)
    graph = GraphBuilder()
    conv = graph.convolve("image", np.ones((2, 3, 8, 8), np.float32), np.zeros(2, np.float32), strides=[8, 8])
    (tmp_path / "net.onnx").write_bytes(graph.build({conv: (1, 2, "h", "w")}))
    found["network"] = Reader(tmp_path / "net.onnx", describe_with, is_json=False)
    found["network as VGG-19"] = Reader(tmp_path / "net.onnx", read_vgg19_weights, is_json=False)
    return found


NAMES = (
    "classes.json",
    "import of an archive",
    "import of coco",
    "import of cvat",
    "import of label-studio",
    "import of labelme",
    "model.json",
    "network",
    "network as VGG-19",
    "review.sqlite",
    "run.json, doctor",
    "run.json, explain",
    "run.json, export",
    "run.json, import",
    "run.json, report",
    "run.json, update",
    "truth of coco",
    "votes.npz",
    "weights, old",
    "weights, zip",
)


@pytest.mark.filterwarnings("ignore")  # numpy's, on numbers nobody would write
@pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.timeout(3600)])])
@pytest.mark.parametrize("name", NAMES)
def test_a_reader_reads_nonsense_or_says_why_not(readers, name, is_whole, ledger):
    assert sorted(readers) == list(NAMES)
    reader, rng, lost = readers[name], np.random.default_rng(NAMES.index(name)), 0
    n_tries = 25 if not is_whole else 1_700 if reader.is_record else 10_000
    whole = reader.path.read_bytes()
    parsed = RunFolder(reader.path.parent).read_record() if reader.is_record else reader.is_json and json.loads(whole)
    for _ in range(n_tries):
        if reader.is_json:
            write_json_mutant(reader, parsed, rng)
        else:
            reader.path.write_bytes(damage(whole, rng))
        lost += not survives(lambda: reader.use(reader.path))
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    assert megabytes < MAX_MEGABYTES
    ledger.note(f"{name}: nonsense in it", n_tries, lost)
