"""Pascal VOC segmentation: palette pictures of classes and of objects, 255 where it is unsure."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import numpy as np
from PIL import Image

from segvote.errors import BadInputError
from segvote.io.atomic import write_bytes, write_text
from segvote.io.exports.base import ExportOptions, FileNamer, LabelTable, list_parts, number_instances
from segvote.io.exports.pictures import place_image
from segvote.io.exports.subsets import Split
from segvote.io.masks import encode_png
from segvote.types import Annotation

UNSURE = 255
MOST = 254  # classes, and objects of one image


def write_voc(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write pictures, ``SegmentationClass``, ``SegmentationObject``, ``ImageSets`` and ``labelmap.txt``."""
    labels, namer, split = LabelTable(options.labels), FileNamer(), Split(options.val_share)
    stems: dict[str, list[str]] = {subset: [] for subset in split.names}
    for annotation in annotations:
        stem = namer.choose_flat_stem(annotation.name)
        stems[split.choose(annotation)].append(stem)
        _write_masks(annotation, folder, stem, labels, options)
        place_image(annotation, folder / "JPEGImages" / f"{stem}{PurePosixPath(annotation.name).suffix}", options)
    for subset, listed in stems.items():
        for task in ("Main", "Segmentation"):  # the first is read as `voc`, the second as `voc_segmentation`
            # No trainval.txt: a reader of all lists would see every image twice.
            write_text(folder / "ImageSets" / task / f"{subset}.txt", "".join(f"{stem}\n" for stem in listed))
    write_text(folder / "labelmap.txt", _format_label_map(labels.names))
    return folder


def make_voc_palette() -> np.ndarray:
    """(256, 3) uint8: VOC's colours, the bits of the index dealt to red, green and blue from the highest bit down."""
    index = np.arange(256)[:, None]
    channel = np.arange(3)
    places = range(8)
    return sum(((index >> (3 * place + channel)) & 1) << (7 - place) for place in places).astype(np.uint8)  # type: ignore


def _write_masks(annotation: Annotation, folder: Path, stem: str, labels: LabelTable, options: ExportOptions) -> None:
    parts = list_parts(annotation, options)
    classes = [labels.find(part.label) + 1 for part in parts]
    if len(parts) > MOST or max(classes, default=0) > MOST:
        raise BadInputError(f"{annotation.name}: VOC holds at most {MOST} classes and objects; raise the smallest area")
    for kind, numbers in (("SegmentationClass", classes), ("SegmentationObject", range(1, len(parts) + 1))):
        indices = number_instances(annotation, parts, numbers, UNSURE)
        write_bytes(folder / kind / f"{stem}.png", _encode_indices(indices))


def _encode_indices(indices: np.ndarray) -> bytes:
    picture = Image.fromarray(indices.astype(np.uint8))
    picture.putpalette(make_voc_palette().ravel().tolist())
    return encode_png(picture)


def _format_label_map(names: list[str]) -> str:
    palette = make_voc_palette()
    colours = [",".join(map(str, palette[number])) for number in range(len(names) + 1)]
    rows = [f"{name}:{colour}::\n" for name, colour in zip(["background", *names], colours, strict=True)]
    return "# label:color_rgb:parts:actions\n" + "".join(rows)
