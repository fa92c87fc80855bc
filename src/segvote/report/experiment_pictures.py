"""The paper's figures from any data: examples of the images (Figure 1), heat maps by method (Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.ndimage import binary_erosion

from segvote.errors import SegvoteError
from segvote.evaluation.compare_results import Comparison, Result
from segvote.evaluation.evaluate_truth import Truth, TruthReader, find_truth
from segvote.io.arrays import read_arrays
from segvote.io.images import list_images, read_image, resize_image, resize_labels
from segvote.io.masks import OBJECT
from segvote.io.overlays import blend_heat
from segvote.masks import scale_heat
from segvote.report.experiment_tables import name_methods
from segvote.report.markup import escape
from segvote.report.thumbnails import format_picture
from segvote.run.run_folder import RunFolder
from segvote.types import WITH, WITHOUT

SIZE = 150  # longest side of a picture
N_IMAGES, N_METHODS = 6, 12
N_EXAMPLES = 6  # images of each folder in Figure 1
OUTLINE = (230, 30, 30)  # of the truth


def format_examples(
    with_folder: Path, without_folder: Path, readers: Mapping[str, TruthReader], n_examples: int = N_EXAMPLES
) -> str:
    """Images of both folders, evenly spread over the sorted names, the truth outlined, as HTML.

    Parameters
    ----------
    with_folder, without_folder : Path
        Folders of images.
    readers : mapping of str to TruthReader
        Name of a *with* image, without extension, to its truth; images without truth are shown as they are.
    n_examples : int
        Images of each folder.
    """
    rows = []
    for name, folder, known in ((WITH, with_folder, readers), (WITHOUT, without_folder, {})):
        paths = list_images(folder)
        places = np.linspace(0, len(paths) - 1, min(n_examples, len(paths))).round().astype(int)
        cells = "".join(f"<td>{_format_example(paths[place], folder, known)}</td>" for place in places)
        rows.append(f'<tr><th scope="row">{name}</th>{cells}</tr>\n')
    return f'<div class="heat"><table><tbody>{"".join(rows)}</tbody></table></div>\n'


def _format_example(path: Path, folder: Path, readers: Mapping[str, TruthReader]) -> str:
    name = path.relative_to(folder).as_posix()
    try:
        picture = resize_image(read_image(path), SIZE)
        reader = find_truth(readers, f"{WITH}/{name}")
        return format_picture(picture if reader is None else _outline(picture, reader()), name)
    except SegvoteError as error:  # a picture that is gone costs its cell, not the page
        return escape(f"{name}: {error}")


def _outline(picture: np.ndarray, truth: Truth) -> np.ndarray:
    """The picture with the border of the true object in one colour; boxes, which have no pixels, are not drawn."""
    if truth.mask is None:
        return picture
    inside = resize_labels((truth.mask == OBJECT).astype(np.uint8), picture.shape[:2]).astype(bool)
    edge = inside & ~binary_erosion(inside, iterations=2)
    return np.where(edge[:, :, None], np.array(OUTLINE, dtype=np.uint8), picture)


def format_heat_maps(comparison: Comparison, n_images: int = N_IMAGES, n_methods: int = N_METHODS) -> str:
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
        cells = [format_picture(picture, name)]
        for result, arrays in zip(ranked, scores, strict=True):
            cells.append(format_picture(_paint(comparison, result, arrays, place, picture), name))
    except SegvoteError as error:  # a picture that is gone costs its row, not the page
        cells = [escape(f"{name}: {error}")]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>\n"


def _paint(comparison: Comparison, result: Result, arrays: dict, place: int, picture: np.ndarray) -> np.ndarray:
    start = int(arrays["counts"][:place].sum())
    scores = arrays["scores"][start : start + int(arrays["counts"][place])]
    labels = read_arrays(RunFolder(comparison.folder / "run").segments_path(result.segments[place]))["labels"]
    heat = scale_heat(scores, float(arrays["thresholds"][place]), float(arrays["lowest"]), float(scores.max()))
    return blend_heat(picture, resize_labels(heat[labels], picture.shape[:2]))
