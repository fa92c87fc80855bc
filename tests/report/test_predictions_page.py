"""The page of predictions: three answers, each with its images, the most probable first."""

import numpy as np
import pytest

from segvote.inputs.bags import Problem
from segvote.io.masks import write_mask
from segvote.io.overlays import write_jpeg
from segvote.pipeline.predict import Prediction, Predictions
from segvote.report import predictions_page
from segvote.report.predictions_page import write_predictions_report
from segvote.run.run_folder import RunFolder


def predict_image(folder, name, probability, contains=False, unlike=False):
    run, mask = RunFolder(folder), np.zeros((30, 40), bool)
    mask[10:20, 10:30] = contains
    write_mask(run.mask_path(name), mask)
    write_jpeg(run.heatmap_path(name), np.full((30, 40, 3), 90, np.uint8))
    return Prediction(
        name=f"{name}.png",
        stem=name,
        contains=contains,
        unlike=unlike,
        probability=probability,
        p_value=0.01,
        score=probability,
        area=float(mask.mean()),
    )


@pytest.fixture
def found(tmp_path):
    images = (
        predict_image(tmp_path, "none", 0.1),
        predict_image(tmp_path, "<b>", 0.7, contains=True),
        predict_image(tmp_path, "sure", 0.9, contains=True),
        predict_image(tmp_path, "cat", 0.6, unlike=True),
    )
    return Predictions(tmp_path, images, 0.1, 0.2, (Problem("bad.png", "bad.png: cut short"),))


def test_answers_stand_in_order_and_names_are_escaped(found):
    text = write_predictions_report(found).read_text()
    words = ("2 show it", "sure.png", "&lt;b&gt;.png", "1 are unlike", "cat.png", "1 do not show it", "none.png")
    places = [text.index(word) for word in (*words, "cut short")]
    assert places == sorted(places) and "<b>.png" not in text
    assert text.count("<img src=") == 4 and "mask 17 %" in text and "score 0.9" in text


def test_pictures_are_limited_and_the_rest_counted(found, monkeypatch):
    monkeypatch.setattr(predictions_page, "MAX_PICTURES", 1)
    text = write_predictions_report(found).read_text()
    assert text.count("<img src=") == 3 and "and 1 more" in text
