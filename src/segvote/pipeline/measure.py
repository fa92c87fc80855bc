"""Measurements of every object of a run, as a table: size, place, shape, colour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from segvote.errors import BadInputError, MissingPartError
from segvote.io.files import atomic_path
from segvote.io.images import read_image
from segvote.io.names import encode_name
from segvote.io.pixel_size import read_pixel_size
from segvote.io.tables import write_csv
from segvote.pipeline.objects import divide_instances
from segvote.pipeline.video.write import add_frame_pictures
from segvote.progress import Progress, count_along, ignore_progress
from segvote.run.classes import ClassRuns
from segvote.run.run import Run
from segvote.types import Annotation, Part

# Columns of the table: lengths in pixels, orientation in degrees, colours from 0 to 255.
COLUMNS = (
    *("image", "label", "object", "area", "box_left", "box_top", "box_width", "box_height", "x", "y"),
    *("length", "width", "orientation", "red", "green", "blue", "pixel_size_mm"),
)
PROPERTIES = (
    *("label", "area", "bbox", "centroid", "axis_major_length", "axis_minor_length", "orientation"),
    "intensity_mean",
)
FILE_NAME = "measurements.csv"


def measure_run(run: Run | ClassRuns, progress: Progress = ignore_progress) -> dict[str, list[Any]]:
    """The columns of `COLUMNS`, one value per object; see `segvote.measure`."""
    bags = run.images if isinstance(run, ClassRuns) else run.all_bags
    annotations = add_frame_pictures(divide_instances(run, run.list_annotations()))
    n_annotations = sum(bag.n_frames or 1 for bag in bags)
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for annotation in count_along(annotations, "measure", n_annotations, progress):
        for row in _list_rows(annotation):
            for name, value in row.items():
                columns[name].append(value)
    return columns


def _list_rows(annotation: Annotation) -> Iterator[dict[str, Any]]:
    """One row per object of an image, its labels in their order."""
    if not annotation.parts or annotation.image_path is None:
        return
    image, size = read_image(annotation.image_path), read_pixel_size(annotation.image_path)
    for part in annotation.parts:
        named = {"image": encode_name(annotation.name), "label": part.label, "pixel_size_mm": size}
        yield from ({**named, **row} for row in measure_part(part, image))


def measure_part(part: Part, image: np.ndarray) -> list[dict[str, Any]]:
    """Figures of the instances of a part in their order, by the pixels (h, w, 3) of its image."""
    from skimage.measure import regionprops_table  # slow to import, and only this command needs it

    instances = part.mask.astype(np.int32) if part.instances is None else part.instances
    table = regionprops_table(instances, image, PROPERTIES)
    return [_name_figures({name: table[name][row] for name in table}) for row in range(len(table["label"]))]


def _name_figures(properties: Mapping[str, Any]) -> dict[str, Any]:
    """One row of scikit-image's table in the words of `COLUMNS`."""
    top, left, bottom, right = (int(properties[f"bbox-{side}"]) for side in range(4))
    figures = {
        "x": properties["centroid-1"],
        "y": properties["centroid-0"],
        "length": properties["axis_major_length"],
        "width": properties["axis_minor_length"],
        # From the vertical axis to the horizontal one.
        "orientation": (np.degrees(properties["orientation"]) + 90) % 180,
        **{colour: properties[f"intensity_mean-{channel}"] for channel, colour in enumerate(("red", "green", "blue"))},
    }
    return {
        **{"object": int(properties["label"]), "area": int(properties["area"])},
        **{"box_left": left, "box_top": top, "box_width": right - left, "box_height": bottom - top},
        **{name: round(float(figure), 4) for name, figure in figures.items()},
    }


def write_measurements(columns: Mapping[str, Sequence[Any]], path: Path | str) -> None:
    """Write the table as CSV or Parquet, by the extension of the file."""
    suffix = Path(path).suffix.lower()
    if suffix == ".csv":
        rows = (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))
        write_csv(path, rows, columns)
    elif suffix == ".parquet":
        _write_parquet(columns, Path(path))
    else:
        raise BadInputError(f"{path}: expected a file name that ends with .csv or .parquet; choose another")


def _write_parquet(columns: Mapping[str, Sequence[Any]], path: Path) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise MissingPartError("Parquet files need pyarrow; pip install pyarrow, or write a .csv file") from error
    with atomic_path(path) as temporary:
        parquet.write_table(pyarrow.table(dict(columns)), temporary)
