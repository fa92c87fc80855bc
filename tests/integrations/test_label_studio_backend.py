"""The backend for Label Studio, with its own server where that is installed.

The package pins an old web framework, so it lives in an environment of its own::

    python -m venv studio && studio/bin/pip install label-studio-ml redis rq
    studio/bin/pip install -e . pytest && studio/bin/python -m pytest tests/integrations
"""

import builtins

import numpy as np
import pytest

from segvote.errors import BadInputError, MissingPartError
from segvote.integrations import open_predictors
from segvote.integrations.label_studio import create_app, find_names, make_backend, predict_task
from segvote.io.encodings.rle import decode_brush
from segvote.io.images import read_image
from segvote.masks.objects import list_objects

PAGE = """<View><Image name="photo" value="$picture"/>
<BrushLabels name="brush" toName="photo"><Label value="object"/></BrushLabels></View>"""
PARSED = {"brush": {"type": "BrushLabels", "to_name": ["photo"], "inputs": [{"type": "Image", "value": "picture"}]}}


@pytest.fixture(scope="module")
def predictors(finished_run):
    return open_predictors(finished_run.folder.path, 0.3)


def check_prediction(prediction, predictor, path):
    said, mask = predictor.judge(read_image(path))
    objects = list_objects(mask, predictor.model.drawing.objects)
    assert prediction["score"] == pytest.approx(said.probability)
    for result, expected in zip(prediction["result"], objects, strict=True):
        assert (result["from_name"], result["to_name"], result["type"]) == ("brush", "photo", "brushlabels")
        assert result["value"]["brushlabels"] == ["object"]
        size = result["original_height"], result["original_width"]
        np.testing.assert_array_equal(decode_brush(result["value"]["rle"], *size), expected)


def test_a_prediction_holds_the_mask(predictors, scenes):
    for path in sorted(scenes.glob("with*/*.png")):
        check_prediction(predict_task(predictors, read_image(path), find_names(PARSED)), predictors["object"], path)


def test_a_page_without_brush_is_refused():
    with pytest.raises(BadInputError, match="BrushLabels"):
        find_names({"box": {"type": "RectangleLabels", "to_name": ["photo"], "inputs": []}})


def test_a_missing_package_is_named(finished_run, monkeypatch):
    real = builtins.__import__

    def refuse(name, *arguments, **options):
        if name.startswith("label_studio_ml"):
            raise ImportError("not here")
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingPartError, match="pip install label-studio-ml"):
        make_backend(str(finished_run.folder.path))


@pytest.mark.filterwarnings("ignore")  # the server's own warnings are not ours to mend
def test_label_studio_s_own_server_answers_with_masks(finished_run, predictors, scenes, tmp_path):
    pytest.importorskip("label_studio_ml")
    application = create_app(str(finished_run.folder.path), 0.3, model_dir=str(tmp_path), redis_host=None)
    client = application.test_client()
    assert client.get("/health").status_code == 200
    assert client.post("/setup", json={"project": "1.1", "schema": PAGE}).status_code == 200
    paths = sorted((scenes / "with").iterdir())
    address = "/data/local-files/?d="  # files on the server's own disk, below its root
    tasks = [{"id": number, "data": {"picture": f"{address}{str(path)[1:]}"}} for number, path in enumerate(paths)]
    answer = client.post("/predict", json={"tasks": tasks, "project": "1.1", "label_config": PAGE})
    assert answer.status_code == 200, answer.data
    results = answer.get_json()["results"]
    assert len(results) == len(paths)
    for prediction, path in zip(results, paths, strict=True):
        check_prediction(prediction, predictors["object"], path)
