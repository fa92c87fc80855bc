"""P and J of a co-segmentation set: the formulas, and the command on a small made folder."""

import json
import shutil

import numpy as np
import pytest
from typer.testing import CliRunner

from segvote.cli.app import load_commands
from segvote.datasets import make_scenes, write_scenes
from segvote.errors import UnknownNameError
from segvote.evaluation.coseg import CosegResult, is_voc, measure_class, measure_coseg
from segvote.pipeline.workers import Resources
from segvote.report.experiments import list_coseg_rows, write_coseg
from segvote.settings import Settings

QUICK = Settings(features="color", n_segments=40, size=96)
ALONE = Resources(n_jobs=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two classes of small scenes in the layout of co-segmentation sets."""
    root = tmp_path_factory.mktemp("coseg")
    for place, target in enumerate(("cup", "horse")):
        scenes = root / "made" / target
        size = {"size": (96, 72), "object_area": (0.1, 0.2)}
        write_scenes(scenes, make_scenes(n_with=4, n_without=0, seed=place, target=target, **size))
        for image in sorted((scenes / "with").iterdir()):
            (root / "set" / target).mkdir(parents=True, exist_ok=True)
            shutil.copy(image, root / "set" / target / f"{image.stem}.jpg")  # readers look at the content
            shutil.copy(scenes / "masks" / f"{image.stem}.png", root / "set" / target / f"{image.stem}.png")
    return root / "set"


def test_p_and_j_are_their_formulas():
    mask = np.zeros((2, 4), bool)
    mask[0, :3] = True
    truth = np.zeros((2, 4), np.uint8)
    truth[0, 1:], truth[1, 0] = 255, 128
    found = measure_class("cow", [(mask, truth), (~mask, np.zeros((2, 4), np.uint8))])
    assert found.p == pytest.approx((5 / 7 + 3 / 8) / 2)
    assert found.j == pytest.approx(2 / 4)  # an image that does not show the object has no J
    assert found.n_images == 2


def test_masks_are_resized_to_the_truth():
    truth = np.zeros((4, 4), np.uint8)
    truth[:, :2] = 255
    assert measure_class("cow", [(np.array([[True, False], [True, False]]), truth)]).j == 1


def test_every_class_is_annotated_and_measured(folder, tmp_path):
    results = measure_coseg(folder, tmp_path, QUICK, resources=ALONE)
    assert [(one.name, one.n_images) for one in results] == [("cup", 4), ("horse", 4)]
    assert all(0 < one.j <= one.p <= 1 for one in results)
    rows = list_coseg_rows(results)
    assert rows[-1][:2] == ["mean", "8"] and len(rows) == 4
    text = write_coseg(results, tmp_path).read_text()
    assert "cannot be compared" in text and "IJCAI 2018" in text and not is_voc(results)
    assert json.loads((tmp_path / "coseg.json").read_text())[0]["name"] == "cup"


def test_a_set_without_masks_is_refused(folder, tmp_path):
    bare = shutil.copytree(folder, tmp_path / "bare", ignore=shutil.ignore_patterns("*.png"))
    with pytest.raises(UnknownNameError, match="has masks"):
        measure_coseg(bare, tmp_path / "out", QUICK, resources=ALONE)


def test_a_class_without_any_object_has_no_j():
    rows = list_coseg_rows([CosegResult("a", 1, 1.0, float("nan")), CosegResult("b", 1, 0.5, 0.25)])
    assert rows[1:] == [["a", "1", "1.000", "–"], ["b", "1", "0.500", "0.250"], ["mean", "2", "0.750", "0.250"]]


def test_the_command_prints_published_figures_too(folder, tmp_path):
    arguments = ["benchmark", "coseg", folder, "-o", tmp_path, "--class", "cup", "--n-segments", 30, "--max-items", 3]
    done = CliRunner().invoke(load_commands(), [str(one) for one in [*arguments, "--jobs", 1]])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("class") and "Hsu 2018" in done.stdout
    assert (tmp_path / "coseg.md").is_file()
