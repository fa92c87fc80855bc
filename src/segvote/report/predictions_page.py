"""The page of predictions: each image with its heat map and mask, by answer, the most probable first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from segvote.io.files import write_text
from segvote.io.images import read_small_image, resize_labels
from segvote.io.masks import read_mask
from segvote.io.overlays import blend_mask
from segvote.pipeline.predict import Prediction, Predictions
from segvote.report.markup import render
from segvote.report.summary import list_unreadable
from segvote.report.thumbnails import Picture, choose_size, make_picture
from segvote.run.run_folder import RunFolder

MAX_PICTURES = 400  # of each answer; the table has all images


def write_predictions_report(predictions: Predictions) -> Path:
    """Write ``report.html`` into the folder of predictions."""
    answers = _sort_images(predictions)
    subtitle = (
        f"{len(predictions):,} images; an image shows it where its score is above {predictions.threshold:.3g}, for a "
        f"false-positive rate of {predictions.rate:.3g}; all figures are in predictions.csv"
    )
    page = render(
        "predictions.html.j2",
        title="Predictions",
        subtitle=subtitle,
        answers=[_describe_answer(predictions.path, words, some) for words, some in answers.items() if some],
        problems=list_unreadable(predictions.problems),
    )
    path = RunFolder(predictions.path).report_path
    write_text(path, page)
    return path


def list_pictures(predictions: Predictions) -> list[Path]:
    """The files that the page shows."""
    run, answers = RunFolder(predictions.path), _sort_images(predictions)
    shown = [one for some in answers.values() for one in some[:MAX_PICTURES]]
    return [
        *(run.heatmap_path(one.stem) for one in shown),
        *(run.mask_path(one.stem) for one in shown if one.contains),
    ]


def _sort_images(predictions: Predictions) -> dict[str, list[Prediction]]:
    """The images by answer, the highest scores first."""
    images = sorted(predictions.images, key=lambda one: (-one.score, one.name))
    return {
        "show it": [one for one in images if one.contains],
        "are unlike both folders: no mask": [one for one in images if one.unlike],
        "do not show it": [one for one in images if not (one.contains or one.unlike)],
    }


def _describe_answer(folder: Path, words: str, images: Sequence[Prediction]) -> dict[str, Any]:
    run, size, shown = RunFolder(folder), choose_size(len(images)), images[:MAX_PICTURES]
    return {
        "words": words,
        "n_images": len(images),
        "n_left": len(images) - len(shown),
        "images": [(one, _draw_prediction(run, one, size)) for one in shown],
    }


def _draw_prediction(run: RunFolder, one: Prediction, size: int) -> Picture:
    picture = read_small_image(run.heatmap_path(one.stem), size)
    mask = read_mask(run.mask_path(one.stem)) == 255 if one.contains else np.zeros((1, 1), bool)
    shown = blend_mask(picture, resize_labels(mask, picture.shape[:2])) if mask.any() else picture
    return make_picture(shown, one.name)
