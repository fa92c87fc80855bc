"""Run folders that earlier versions wrote open in this one: masks, corrections, exports, predictions.

The archives are made by ``tests/data/make_run.py``; docs/versioning.md says which version reads which file.
"""

import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import segvote
from segvote.run.correction_log import read_actions

sys.path.append(str(Path(__file__).parents[1] / "data"))
from make_run import make_stored_scenes

DATA = Path(__file__).parents[1] / "data"
ARCHIVES = sorted(DATA.glob("run-*.zip"))


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.stem)
def stored(request, tmp_path):
    with zipfile.ZipFile(request.param) as archive:
        archive.extractall(tmp_path / "run")
    return tmp_path / "run"


def test_this_version_has_a_stored_run():
    assert f"run-{segvote.__version__.rpartition('.')[0]}" in [path.stem for path in ARCHIVES]
    assert all(path.stat().st_size < 100_000 for path in ARCHIVES)


def test_masks_of_a_stored_run_are_those_in_its_files(stored):
    run = segvote.load_run(stored)
    assert len(run.images) == 6
    for image in run.images:
        drawn = np.asarray(Image.open(stored / "masks" / Path(image.name).with_suffix(".png"))) > 0
        np.testing.assert_array_equal(image.mask, drawn)


def test_corrections_of_a_stored_run_are_read(stored):
    assert [(action.kind, action.value) for action in read_actions(stored / "review.sqlite")] == [("accept", 1)]


def test_a_stored_run_is_exported(stored, tmp_path):
    path = segvote.export(stored, "coco", tmp_path / "coco", images="none", val_share=0)
    assert len(json.loads(path.read_text(encoding="utf-8"))["images"]) == 6


def test_a_stored_model_predicts(stored, tmp_path):
    scenes = make_stored_scenes(tmp_path / "scenes")
    found = segvote.predict(stored, scenes / "with", tmp_path / "predicted", n_jobs=1)
    assert len(found) == 3 and all(np.isfinite(one["score"]) for one in found.to_table())
