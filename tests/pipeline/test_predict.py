import csv
import hashlib
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

from segvote import annotate, predict
from segvote.cli.app import load_commands
from segvote.datasets import make_scenes, write_scenes
from segvote.errors import BadInputError, DamagedFileError, UnreadableImageError
from segvote.io.masks import read_mask
from segvote.io.tables import read_json, write_json
from segvote.metrics import measure_iou
from segvote.pipeline.model import read_model
from segvote.pipeline.predictor import Predictor


@pytest.fixture(scope="module")
def new_scenes(tmp_path_factory):
    """Scenes that the finished run has not seen: ``images/with``, ``images/without`` and ``masks``."""
    folder = tmp_path_factory.mktemp("new")
    write_scenes(folder / "made", make_scenes(n_with=4, n_without=4, size=(160, 120), object_area=(0.08, 0.16), seed=5))
    for bag_label in ("with", "without"):
        shutil.copytree(folder / "made" / bag_label, folder / "images" / bag_label)
    return folder


@pytest.fixture(scope="module")
def predicted(finished_run, new_scenes, tmp_path_factory):
    out = tmp_path_factory.mktemp("predicted") / "new"
    return predict(finished_run.folder.path, new_scenes / "images", out, false_positive_rate=0.3, n_jobs=1)


def shows(prediction):
    return prediction.name.startswith("with/")


def test_images_that_show_the_object_score_higher(finished_run, tmp_path):
    """Colour words and six training images of each kind: far from sure, and far from chance."""
    # More images than elsewhere: of four and four, one more or less in order would decide.
    write_scenes(
        tmp_path / "made", make_scenes(n_with=12, n_without=12, size=(160, 120), object_area=(0.08, 0.16), seed=5)
    )
    shutil.rmtree(tmp_path / "made" / "masks")
    predicted = predict(finished_run.folder.path, tmp_path / "made", tmp_path / "new", n_jobs=1)
    truth = [shows(one) for one in predicted.images]
    assert roc_auc_score(truth, [one.score for one in predicted.images]) > 0.75
    assert roc_auc_score(truth, [one.probability for one in predicted.images]) > 0.75


def test_masks_lie_on_the_object_and_images_without_it_have_none(predicted, new_scenes):
    overlaps = []
    for index, one in enumerate(predicted.images):
        mask = predicted.read_mask(index)
        assert mask.any() == one.contains == (one.p_value <= predicted.rate) == (one.score > predicted.threshold)
        assert one.area == pytest.approx(mask.mean(), abs=1e-5)
        if one.contains and shows(one):
            truth = read_mask(new_scenes / "made" / "masks" / f"{one.stem.split('/')[-1]}.png")
            overlaps.append(measure_iou(mask, truth))
    assert np.mean(overlaps) > 0.5


def test_the_files_say_what_the_object_says(predicted):
    record = json.loads((predicted.path / "predictions.json").read_text())
    assert record["images"] == predicted.to_table()
    assert record["complete"] is True
    rows = csv.DictReader((predicted.path / "predictions.csv").read_text().splitlines())
    assert [row["name"] for row in rows] == [one.name for one in predicted.images]
    coco = json.loads((predicted.path / "annotations.coco.json").read_text())
    assert len(coco["images"]) == len(predicted) == 8
    marked = {annotation["image_id"] for annotation in coco["annotations"]}
    assert marked == {number for number, one in enumerate(predicted.images, start=1) if one.contains}
    assert all((predicted.path / "heatmaps" / f"{one.stem}.jpg").is_file() for one in predicted.images)


def test_one_image_is_judged_as_among_many(predicted, finished_run, new_scenes, tmp_path):
    (tmp_path / "one" / "with").mkdir(parents=True)
    wanted = predicted.images[0]
    shutil.copy(new_scenes / "images" / wanted.name, tmp_path / "one" / wanted.name)
    model = shutil.copytree(finished_run.folder.model_path, tmp_path / "travelled")  # alone, without its run
    (found,) = predict(model, tmp_path / "one", tmp_path / "new", false_positive_rate=0.3, n_jobs=1).images
    assert found == wanted


@pytest.mark.parametrize(
    "changes",
    [
        {"voter": "negmin", "voter_options": {}, "decision": "global-otsu"},  # fitted again
        {"features": "bow", "feature_options": {"n_words": 20}},  # takes its words along
    ],
)
def test_other_voters_and_features_with_words_predict(scenes, finished_run, new_scenes, tmp_path, changes):
    settings = replace(finished_run.settings, **changes)
    run = annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=1).folder.path
    shutil.rmtree(run / "features")
    assert len(predict(run, new_scenes / "images", tmp_path / "new", false_positive_rate=0.5, n_jobs=1)) == 8


def test_bad_images_are_named_and_images_that_went_leave_no_mask(finished_run, new_scenes, tmp_path):
    run, folder = finished_run.folder.path, shutil.copytree(new_scenes / "images", tmp_path / "images")
    (folder / "broken.png").write_bytes(b"no picture")
    found = predict(run, folder, tmp_path / "new", n_jobs=1)
    assert [one.name for one in found.problems] == ["broken.png"]
    assert found.rate == pytest.approx(1 / 7)  # six images without the object allow no lower rate
    assert len(found) == 8
    with pytest.raises(UnreadableImageError, match="1 of 9"):
        predict(run, folder, tmp_path / "other", strict=True, n_jobs=1)
    (folder / found.images[0].name).unlink()
    after = predict(run, folder, tmp_path / "new", n_jobs=1)
    for kind, ending in (("masks", "png"), ("heatmaps", "jpg")):
        files = (tmp_path / "new" / kind).rglob("*.*")
        stems = {path.relative_to(tmp_path / "new" / kind).as_posix() for path in files}
        assert stems == {f"{one.stem}.{ending}" for one in after.images}


def test_folders_of_others_are_left_alone(finished_run, new_scenes, scenes, predicted, tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(BadInputError, match=r"letter\.txt"):
        predict(finished_run.folder.path, new_scenes / "images", tmp_path, n_jobs=1)
    with pytest.raises(BadInputError, match="another folder"):
        predict(finished_run.folder.path, scenes / "with", predicted.path, n_jobs=1)


@pytest.mark.parametrize(
    ("model", "images", "rate", "message"),
    [(True, True, 1.0, "share of images"), (False, True, 0.1, "no model"), (True, False, 0.1, "folder of images")],
)
def test_wrong_arguments_are_refused_before_work(finished_run, new_scenes, tmp_path, model, images, rate, message):
    run = finished_run.folder.path if model else tmp_path
    with pytest.raises(BadInputError, match=message):
        predict(run, new_scenes / ("images" if images else "absent"), tmp_path / "new", false_positive_rate=rate)
    assert not (tmp_path / "new").exists()


def change_words(folder, **words):
    path = folder / "model" / "model.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **words}))


@pytest.mark.parametrize(("version", "advice"), [(1, "annotate again"), (99, "newer")])
def test_a_model_of_another_version_says_what_to_do(run_copy, version, advice):
    change_words(run_copy, version=version)
    with pytest.raises(BadInputError, match=advice):
        read_model(run_copy)


@pytest.mark.parametrize("name", ["bags", "edges", "method.votes"])
def test_arrays_that_do_not_belong_together_are_refused(run_copy, name):
    from safetensors.numpy import load_file, save_file

    path = run_copy / "model" / "model.safetensors"
    arrays = load_file(path)
    arrays[name] = arrays[name][:-1].copy() if name != "edges" else arrays[name] + 10_000
    save_file(arrays, path)
    with pytest.raises(DamagedFileError, match=r"checksum is not that of"):
        read_model(run_copy)
    words = read_json(path.with_name("model.json"))
    write_json(path.with_name("model.json"), {**words, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()})
    with pytest.raises(DamagedFileError, match="belong together"):
        Predictor(read_model(run_copy))


def test_other_features_than_those_learned_with_are_refused(run_copy):
    change_words(run_copy, features={"name": "another"})
    with pytest.raises(BadInputError, match="other features"):
        read_model(run_copy)


def list_files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_python_and_the_command_write_the_same_files(finished_run, new_scenes, predicted, tmp_path):
    words = ["predict", finished_run.folder.path, new_scenes / "images", "-o", tmp_path / "new"]
    command = [*map(str, words), "--false-positive-rate", "0.3", "--jobs", "1"]
    assert CliRunner().invoke(load_commands(), command).exit_code == 0
    assert list_files(tmp_path / "new") == list_files(predicted.path)
    assert (predicted.path / "report.html").read_bytes() == (tmp_path / "new/report.html").read_bytes()
