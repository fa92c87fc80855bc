"""Cityscapes: ``gtFine/<subset>/segvote/segvote_<image>_000000_gtFine_<kind>.png``.

In ``labelIds`` a label that is one of Cityscapes' classes has its number, others are numbered from 34 on. 0 is
everything else and 255 is unsure (the number -1 of the original, left out of evaluations). ``labelTrainIds`` counts
without gaps, for training: 0 background, then the labels in their order, 255 unsure.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image

from segvote.errors import BadInputError
from segvote.io.atomic import write_bytes, write_text
from segvote.io.exports.base import ExportOptions, FileNamer, LabelTable, list_parts, number_instances
from segvote.io.exports.pictures import find_picture
from segvote.io.exports.subsets import Split
from segvote.io.exports.voc import make_voc_palette
from segvote.io.images import read_image
from segvote.io.masks import encode_png
from segvote.types import Annotation

CITYSCAPES_IDS = {
    "road": 7, "sidewalk": 8, "parking": 9, "rail track": 10, "building": 11, "wall": 12, "fence": 13, "guard rail": 14,
    "bridge": 15, "tunnel": 16, "pole": 17, "polegroup": 18, "traffic light": 19, "traffic sign": 20, "vegetation": 21,
    "terrain": 22, "sky": 23, "person": 24, "rider": 25, "car": 26, "truck": 27, "bus": 28, "caravan": 29,
    "trailer": 30, "train": 31, "motorcycle": 32, "bicycle": 33,
}  # fmt: skip
FIRST_FREE_ID, LAST_FREE_ID = 34, 64  # 65 * 1000 + 999 would not fit the 16 bits of an instance number
UNSURE = 255
MOST = 1000  # instances of one class in one image


def write_cityscapes(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write ``gtFine/``, ``label_colors.txt`` and ``leftImg8bit/``, always as PNG; returns `folder`."""
    labels, namer, split = LabelTable(options.labels), FileNamer(), Split(options.val_share)
    for annotation in annotations:
        # The official tools take a name apart at its underscores.
        stem = namer.choose_flat_stem(annotation.name.replace("_", "-")).replace("_", "-")
        base = f"{split.choose(annotation)}/segvote/segvote_{stem}_000000"
        _write_masks(annotation, folder / "gtFine" / f"{base}_gtFine", labels, options)
        if options.images != "none":
            _write_picture(annotation, folder / "leftImg8bit" / f"{base}_leftImg8bit.png")
    write_text(folder / "label_colors.txt", _format_colours(labels.names))
    return folder


def _write_masks(annotation: Annotation, base: Path, labels: LabelTable, options: ExportOptions) -> None:
    parts = list_parts(annotation, options)
    for part in parts:
        labels.find(part.label)
    ids = _number_labels(labels.names)
    classes = [ids[part.label] for part in parts]
    train_ids = number_instances(annotation, parts, [labels.find(part.label) + 1 for part in parts], UNSURE)
    pictures = {
        "labelIds": number_instances(annotation, parts, classes, UNSURE).astype(np.uint8),
        "labelTrainIds": train_ids.astype(np.uint8),
        "instanceIds": number_instances(annotation, parts, _number_objects(classes), UNSURE).astype(np.uint16),
        "color": make_voc_palette()[train_ids],
    }
    for kind, array in pictures.items():
        write_bytes(base.with_name(f"{base.name}_{kind}.png"), encode_png(Image.fromarray(array)))


def _number_labels(names: list[str]) -> dict[str, int]:
    others = [name for name in names if name not in CITYSCAPES_IDS]
    if len(others) > LAST_FREE_ID - FIRST_FREE_ID + 1:
        raise BadInputError(
            f"Cityscapes has room for {LAST_FREE_ID - FIRST_FREE_ID + 1} new classes, got {len(others)}"
        )
    return CITYSCAPES_IDS | {name: FIRST_FREE_ID + number for number, name in enumerate(others)}


def _number_objects(classes: list[int]) -> list[int]:
    """Instance numbers as the original has them: the class times 1000 plus a count within the class."""
    counts = [classes[:place].count(label_id) for place, label_id in enumerate(classes)]
    if max(counts, default=0) >= MOST:
        raise BadInputError(f"Cityscapes holds at most {MOST} objects of a class in an image; raise the smallest area")
    return [label_id * 1000 + count for label_id, count in zip(classes, counts, strict=True)]


def _write_picture(annotation: Annotation, path: Path) -> None:
    pixels = read_image(find_picture(annotation))
    write_bytes(path, encode_png(Image.fromarray(pixels), zlib.Z_DEFAULT_STRATEGY))


def _format_colours(names: list[str]) -> str:
    """Colour and name of each training number, in their order; names are one word, as readers take a line apart."""
    words = ["background", *("_".join(name.split()) for name in names)]
    return "".join(
        f"{' '.join(map(str, colour))} {word}\n" for word, colour in zip(words, make_voc_palette(), strict=False)
    )
