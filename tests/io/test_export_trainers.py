"""One epoch of Ultralytics on a YOLO export, in an environment of its own: ``make test-trainers``."""

import numpy as np
import pytest
from PIL import Image

from segvote.datasets import make_scenes, write_scenes
from segvote.io import EXPORTS
from segvote.io.exports.base import ExportOptions
from segvote.types import Annotation, Part

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # the trainer's own warnings are not ours to mend

N_SCENES = 10


@pytest.fixture
def dataset(tmp_path):
    """``data.yaml`` of an export with the default options: scenes with one object each, and one without."""
    write_scenes(tmp_path, make_scenes(n_with=N_SCENES, n_without=1, size=(96, 96)))
    annotations = []
    for path in sorted([*(tmp_path / "with").iterdir(), *(tmp_path / "without").iterdir()]):
        masks = list((tmp_path / "masks").rglob(f"{path.stem}.png")) if path.parent.name == "with" else []
        parts = tuple(Part("disc", np.array(Image.open(mask)) > 0) for mask in masks)
        annotations.append(Annotation(f"{path.parent.name}/{path.name}", 96, 96, parts, image_path=path))
    assert sum(bool(one.parts) for one in annotations) == N_SCENES
    return EXPORTS["yolo"](annotations, tmp_path / "out", ExportOptions(labels=("disc",)))


def test_ultralytics_trains_and_validates_an_epoch(dataset, tmp_path, monkeypatch):
    monkeypatch.setenv("YOLO_OFFLINE", "1")
    ultralytics = pytest.importorskip("ultralytics")
    seen = []
    model = ultralytics.YOLO("yolo11n-seg.yaml")  # without weights: nothing is fetched
    model.add_callback("on_train_batch_end", lambda trainer: seen.append(float(trainer.loss.sum())))
    options = {"imgsz": 96, "batch": 4, "workers": 0, "plots": False, "amp": False, "device": "cpu"}
    metrics = model.train(data=str(dataset), epochs=1, project=str(tmp_path / "runs"), **options)
    labels = model.trainer.train_loader.dataset.labels
    validated = model.trainer.test_loader.dataset.labels
    assert model.names == {0: "disc"} and len(labels) + len(validated) == N_SCENES + 1
    assert sum(len(one["segments"]) for one in [*labels, *validated]) == N_SCENES
    assert seen and np.isfinite(seen).all() and "metrics/mAP50(M)" in metrics.results_dict
