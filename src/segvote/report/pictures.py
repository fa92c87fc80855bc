"""The paper's figures from any data: examples of the images (Figure 1), heat maps by method (Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from segvote.errors import SegvoteError
from segvote.evaluation.comparison import Combination, Comparison, Result
from segvote.evaluation.truth import TruthReader, find_truth
from segvote.io.arrays import read_arrays
from segvote.io.images import list_images, read_image, resize_image, resize_labels
from segvote.io.masks import OBJECT
from segvote.io.overlays import blend_heat, blend_mask
from segvote.report.markup import escape
from segvote.report.thumbnails import format_picture
from segvote.run.run_folder import RunFolder
from segvote.types import WITH, WITHOUT

SIZE = 150  # longest side of a picture
N_EXAMPLES = 6  # images of each folder in Figure 1


def format_examples(with_folder: Path, without_folder: Path, readers: Mapping[str, TruthReader]) -> str:
    """Images of both folders, evenly spread over the sorted names, their masks outlined, as HTML."""
    rows = []
    for name, folder, known in ((WITH, with_folder, readers), (WITHOUT, without_folder, {})):
        paths = list_images(folder)
        places = np.linspace(0, len(paths) - 1, min(N_EXAMPLES, len(paths))).round().astype(int)
        cells = [_format_example(paths[place], folder, known) for place in places]
        rows.append(f'<tr><th scope="row">{name}</th>{_join_cells(cells)}</tr>\n')
    return f'<div class="heat"><table><tbody>{"".join(rows)}</tbody></table></div>\n'


def _join_cells(cells: Sequence[str]) -> str:
    return "".join(f"<td>{cell}</td>" for cell in cells)


def _format_example(path: Path, folder: Path, readers: Mapping[str, TruthReader]) -> str:
    name = path.relative_to(folder).as_posix()
    try:
        picture = resize_image(read_image(path), SIZE)
        reader = find_truth(readers, f"{WITH}/{name}")
        mask = None if reader is None else reader().mask
        if mask is not None:  # boxes are not drawn
            picture = blend_mask(picture, resize_labels(mask == OBJECT, picture.shape[:2]))
        return format_picture(picture, name)
    except SegvoteError as error:  # an unreadable picture costs its cell, not the page
        return escape(f"{name}: {error}")


def format_heat_maps(comparison: Comparison, names: Mapping[Combination, str], n_images: int, n_methods: int) -> str:
    """Heat maps as an HTML table: rows are images, columns the best methods, called by `names`.

    Images are evenly spread from the worst to the best of the leading method.
    """
    ranked = comparison.rank()[:n_methods]
    if not ranked:
        return ""
    heads = "".join(f"<th>{escape(names[result.combination])}</th>" for result in ranked)
    order = np.argsort(ranked[0].measure_ious(), kind="stable")
    places = np.linspace(0, len(order) - 1, min(n_images, len(order))).round().astype(int)
    rows = "".join(f"<tr>{_join_cells(_list_heat_maps(comparison, ranked, image))}</tr>\n" for image in order[places])
    head = f"<thead><tr><th>image</th>{heads}</tr></thead>"
    return f'<div class="heat"><table>{head}<tbody>{rows}</tbody></table></div>\n'


def _list_heat_maps(comparison: Comparison, ranked: Sequence[Result], image: int) -> list[str]:
    name, folder = ranked[0].names[image], RunFolder(comparison.folder / "run")
    try:
        picture = resize_image(read_image(comparison.images / name.split("/", 1)[1]), SIZE)
        painted = [picture]
        for result in ranked:
            labels = read_arrays(folder.segments_path(result.segments[image]))["labels"]
            heat = np.array(result.heats[image])[labels]
            painted.append(blend_heat(picture, resize_labels(heat, picture.shape[:2])))
    except SegvoteError as error:  # an unreadable picture costs its row, not the page
        return [escape(f"{name}: {error}")]
    return [format_picture(one, name) for one in painted]
