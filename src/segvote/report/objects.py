"""Single objects in the report: how many each image has, and how large they are, from the run's COCO file."""

from __future__ import annotations

from collections import defaultdict

import msgspec
import numpy as np

from segvote.errors import BadInputError, DamagedFileError
from segvote.io.names import encode_names
from segvote.io.tables import Count, Whole, convert_record, read_json
from segvote.report.figures import HistogramRow, draw_histograms, make_edges
from segvote.report.markup import render
from segvote.run.run import Run
from segvote.types import WITH


class _Object(msgspec.Struct):
    image_id: Whole
    area: Count


class _Picture(msgspec.Struct):
    id: Whole
    file_name: str


class _Objects(msgspec.Struct):
    images: list[_Picture]
    annotations: list[_Object]


def read_areas(run: Run) -> dict[int, list[int]]:
    """Number of each *with* image to the areas of its objects in pixels; none for videos or a damaged COCO file."""
    try:
        coco = convert_record(read_json(run.folder.coco_path), _Objects, run.folder.coco_path)
    except (BadInputError, DamagedFileError):
        return {}
    areas: dict[str, list[int]] = defaultdict(list)
    names = {picture.id: picture.file_name for picture in coco.images}
    for one in coco.annotations:
        areas[names.get(one.image_id, "")].append(one.area)
    files = encode_names(bag.name for bag in run.bags)
    chosen = [index for index, bag in enumerate(run.bags) if bag.bag_label == WITH and not bag.n_frames]
    return {index: areas.get(files[run.bags[index].name], []) for index in chosen}


def format_objects(run: Run, areas: dict[int, list[int]]) -> str:
    """Histograms of the number of objects of an image and of their sizes; nothing where there are none."""
    shares = [area / (run.bags[index].height * run.bags[index].width) for index, own in areas.items() for area in own]
    if not shares:
        return ""
    counts, sizes = np.array([len(own) for own in areas.values()]), np.log10(shares)
    numbers = draw_histograms(
        [HistogramRow("objects in an image", WITH, counts, "images")],
        make_edges(counts, 0.0, float(max(counts.max(), 10))),
        "Histogram of the number of objects of an image",
    )
    shown = draw_histograms(
        [HistogramRow("area of an object as a share of its image, power of ten", WITH, sizes, "objects")],
        make_edges(sizes),
        "Histogram of the sizes of objects",
    )
    return render(
        "objects.html.j2",
        n_objects=len(shares),
        n_images=len(counts),
        median=f"{np.median(counts):g}",
        drawing=run.drawing,
        counts=numbers,
        sizes=shown,
    )
