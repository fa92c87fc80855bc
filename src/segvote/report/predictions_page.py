"""The page of predictions: each image with its heat map and mask, by answer, the most probable first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from segvote.io.files import write_text
from segvote.io.images import read_small_image, resize_labels
from segvote.io.masks import read_mask
from segvote.io.overlays import blend_mask
from segvote.pipeline.predict import Prediction, Predictions
from segvote.report.markup import escape, format_page, format_share
from segvote.report.summary import format_problems
from segvote.report.thumbnails import choose_size, format_picture
from segvote.run.run_folder import RunFolder

MAX_PICTURES = 400  # of each answer; the table has all images


def write_predictions_report(found: Predictions) -> Path:
    """Write ``report.html`` into the folder of predictions."""
    images = sorted(found.images, key=lambda one: (-one.score, one.name))
    groups = {
        "show it": [one for one in images if one.contains],
        "are unlike both folders: no mask": [one for one in images if one.unlike],
        "do not show it": [one for one in images if not (one.contains or one.unlike)],
    }
    sections = [(f"{len(some):,} {words}", _format_images(found.path, some)) for words, some in groups.items() if some]
    sections.append(("Files", format_problems(found.problems)))
    subtitle = (
        f"{len(found):,} images; an image shows it where its score is above {found.threshold:.3g}, for a "
        f"false-positive rate of {found.rate:.3g}; all figures are in predictions.csv"
    )
    path = RunFolder(found.path).report_path
    write_text(path, format_page("Predictions", subtitle, sections))
    return path


def _format_images(folder: Path, images: Sequence[Prediction]) -> str:
    size = choose_size(len(images))
    shown = "".join(_format_image(RunFolder(folder), one, size) for one in images[:MAX_PICTURES])
    left = f"<p>and {len(images) - MAX_PICTURES:,} more</p>" if len(images) > MAX_PICTURES else ""
    return f'<div class="pictures">{shown}</div>{left}\n'


def _format_image(run: RunFolder, one: Prediction, size: int) -> str:
    picture = read_small_image(run.heatmap_path(one.stem), size)
    mask = read_mask(run.mask_path(one.stem)) == 255 if one.contains else np.zeros((1, 1), bool)
    shown = blend_mask(picture, resize_labels(mask, picture.shape[:2])) if mask.any() else picture
    name, area = escape(one.name), f", mask {format_share(one.area)}" if one.contains else ""
    figures = f"score {one.score:.3g}, p-value {one.p_value:.3f}{area}"
    caption = f"<figcaption><bdi>{name}</bdi><br>{figures}</figcaption>"
    return f"<figure>{format_picture(shown, one.name)}{caption}</figure>\n"
