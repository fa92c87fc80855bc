"""Heat maps of several voters side by side, as in the paper's Figure 2: a row per image, a column per method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from segvote.errors import SegvoteError
from segvote.evaluation.compare_results import Comparison, Result
from segvote.io.arrays import read_arrays
from segvote.io.images import read_image, resize_image, resize_labels
from segvote.io.overlays import blend_heat, encode_jpeg, format_data_uri
from segvote.masks import scale_heat
from segvote.report.compare_tables import name_methods
from segvote.report.markup import escape
from segvote.run.run_folder import RunFolder

SIZE = 150  # longest side of a picture
N_IMAGES, N_METHODS = 6, 12


def format_gallery(comparison: Comparison, n_images: int = N_IMAGES, n_methods: int = N_METHODS) -> str:
    """A table of pictures as HTML, of the best methods and at most so many images; empty where there are none."""
    ranked = comparison.rank()[:n_methods]
    if not ranked:
        return ""
    names = name_methods([result.combination for result in comparison.results])
    heads = "".join(f"<th>{escape(names[result.combination])}</th>" for result in ranked)
    scores = [read_arrays(comparison.folder / "scores" / f"{result.key}.npz") for result in ranked]
    rows = "".join(
        _format_row(comparison, ranked, scores, place) for place in choose_images(ranked[0].measure_ious(), n_images)
    )
    head = f"<thead><tr><th>image</th>{heads}</tr></thead>"
    return f'<div class="heat"><table>{head}<tbody>{rows}</tbody></table></div>\n'


def choose_images(ious: np.ndarray, n_images: int) -> list[int]:
    """Images from the worst to the best of a method, evenly spread: neither a shop window nor a pillory."""
    order = np.argsort(ious, kind="stable")
    places = np.linspace(0, len(order) - 1, min(n_images, len(order))).round().astype(int)
    return [int(index) for index in order[places]]


def _format_row(comparison: Comparison, ranked: Sequence[Result], scores: list[dict], place: int) -> str:
    name = ranked[0].names[place]
    try:
        picture = resize_image(read_image(comparison.images / name.split("/", 1)[1]), SIZE)
        cells = [_format_picture(picture, name)]
        for result, arrays in zip(ranked, scores, strict=True):
            cells.append(_format_picture(_paint(comparison, result, arrays, place, picture), name))
    except SegvoteError as error:  # a picture that is gone costs its row, not the page
        cells = [escape(f"{name}: {error}")]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"


def _paint(comparison: Comparison, result: Result, arrays: dict, place: int, picture: np.ndarray) -> np.ndarray:
    start = int(arrays["counts"][:place].sum())
    scores = arrays["scores"][start : start + int(arrays["counts"][place])]
    labels = read_arrays(RunFolder(comparison.folder / "run").segments_path(result.segments[place]))["labels"]
    heat = scale_heat(scores, float(arrays["thresholds"][place]), float(arrays["lowest"]), float(scores.max()))
    return blend_heat(picture, resize_labels(heat[labels], picture.shape[:2]))


def _format_picture(picture: np.ndarray, name: str) -> str:
    height, width = picture.shape[:2]
    source = format_data_uri(encode_jpeg(picture, quality=70))
    return f'<img src="{source}" width="{width}" height="{height}" alt="{escape(name)}" loading="lazy">'
