"""The paper's figures from any data: examples of the images (Figure 1), heat maps by method (Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from segvote.errors import SegvoteError
from segvote.evaluation.comparison import Combination, Comparison, Result
from segvote.evaluation.truth import TruthReader, find_truth
from segvote.io.arrays import read_arrays
from segvote.io.images import list_images, read_image, resize_image, resize_labels
from segvote.io.masks import OBJECT
from segvote.io.overlays import blend_heat, blend_mask
from segvote.numerics.spread import spread_evenly
from segvote.report.thumbnails import Picture, make_picture
from segvote.run.run_folder import RunFolder
from segvote.types import WITH, WITHOUT

SIZE = 150  # longest side of a picture
N_EXAMPLES = 6  # images of each folder in Figure 1


@dataclass(frozen=True)
class PictureTable:
    """Rows of pictures, shown by `picture_table` of macros.html.j2; a cell of text says why there is no picture."""

    rows: list[list[Picture | str]]
    heads: tuple[str, ...] = ()  # of the columns
    names: tuple[str, ...] = ()  # of the rows


def make_examples(with_folder: Path, without_folder: Path, readers: Mapping[str, TruthReader]) -> PictureTable:
    """Images of both folders, evenly spread over the sorted names, their masks outlined."""
    rows = []
    for folder, known in ((with_folder, readers), (without_folder, {})):
        paths = list_images(folder)
        chosen = [paths[place] for place in spread_evenly(len(paths), N_EXAMPLES)]
        rows.append([_make_example(path, folder, known) for path in chosen])
    return PictureTable(rows, names=(WITH, WITHOUT))


def _make_example(path: Path, folder: Path, readers: Mapping[str, TruthReader]) -> Picture | str:
    name = path.relative_to(folder).as_posix()
    try:
        picture = resize_image(read_image(path), SIZE)
        reader = find_truth(readers, f"{WITH}/{name}")
        mask = None if reader is None else reader().mask
        if mask is not None:  # boxes are not drawn
            picture = blend_mask(picture, resize_labels(mask == OBJECT, picture.shape[:2]))
        return make_picture(picture, name)
    except SegvoteError as error:  # an unreadable picture costs its cell, not the page
        return f"{name}: {error}"


def make_heat_maps(
    comparison: Comparison, names: Mapping[Combination, str], n_images: int, n_methods: int
) -> PictureTable | None:
    """Heat maps: rows are images, columns the best methods, called by `names`; None without methods.

    Images are evenly spread from the worst to the best of the leading method.
    """
    ranked = comparison.rank()[:n_methods]
    if not ranked:
        return None
    order = np.argsort(ranked[0].measure_ious(), kind="stable")
    shown = order[spread_evenly(len(order), n_images)]
    rows = [_list_heat_maps(comparison, ranked, image) for image in shown]
    return PictureTable(rows, heads=("image", *(names[result.combination] for result in ranked)))


def _list_heat_maps(comparison: Comparison, ranked: Sequence[Result], image: int) -> list[Picture | str]:
    name, folder = ranked[0].names[image], RunFolder(comparison.folder / "run")
    try:
        picture = resize_image(read_image(comparison.images / name.split("/", 1)[1]), SIZE)
        painted = [picture]
        for result in ranked:
            labels = read_arrays(folder.segments_path(result.segments[image]))["labels"]
            heat = np.array(result.heats[image])[labels]
            painted.append(blend_heat(picture, resize_labels(heat, picture.shape[:2])))
    except SegvoteError as error:  # an unreadable picture costs its row, not the page
        return [f"{name}: {error}"]
    return [make_picture(one, name) for one in painted]
