"""Index pictures, in which a pixel is the number of its class or object: plain, VOC, Cityscapes, Hugging Face.

0 is background and 255 is unsure in all of them, except in plain masks (`write_png`), where 255 is object.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from PIL import Image

from segvote.errors import BadInputError
from segvote.io.exports.base import ExportOptions, Split, find_picture, list_parts, place_image
from segvote.io.files import atomic_path, write_bytes, write_text
from segvote.io.images import read_image
from segvote.io.masks import IGNORE, OBJECT, encode_png, write_mask
from segvote.io.names import FileNamer, fold_name
from segvote.io.tables import write_csv, write_json
from segvote.types import Annotation, Part

UNSURE = 255
MOST_NUMBERS = 254  # classes, and objects of one VOC image

CITYSCAPES_IDS = {
    "road": 7, "sidewalk": 8, "parking": 9, "rail track": 10, "building": 11, "wall": 12, "fence": 13, "guard rail": 14,
    "bridge": 15, "tunnel": 16, "pole": 17, "polegroup": 18, "traffic light": 19, "traffic sign": 20, "vegetation": 21,
    "terrain": 22, "sky": 23, "person": 24, "rider": 25, "car": 26, "truck": 27, "bus": 28, "caravan": 29,
    "trailer": 30, "train": 31, "motorcycle": 32, "bicycle": 33,
}  # fmt: skip
FIRST_FREE_ID, LAST_FREE_ID = 34, 64  # 65 * 1000 + 999 would not fit the 16 bits of an instance number
MOST_INSTANCES = 1000  # of one class in one Cityscapes image


def paint_numbers(
    annotation: Annotation, parts: Iterable[Part], numbers: Iterable[int], unsure: int = UNSURE, dtype: type = np.uint8
) -> np.ndarray:
    """(h, w) with each part's number on its pixels, 0 elsewhere; later parts and then `unsure` pixels win."""
    indices: np.ndarray = np.zeros((annotation.height, annotation.width), dtype)
    for part, number in zip(parts, numbers, strict=True):
        indices[part.mask] = number
    if annotation.unsure is not None:
        indices[annotation.unsure] = unsure
    return indices


def _paint_classes(annotation: Annotation, parts: Sequence[Part], options: ExportOptions) -> np.ndarray:
    """(h, w) uint8 with the number of each part's class, from 1."""
    numbers = [options.labels.index(part.label) + 1 for part in parts]
    if max(numbers, default=0) > MOST_NUMBERS:
        raise BadInputError(f"{annotation.name}: a picture holds at most {MOST_NUMBERS} labels; export fewer at a time")
    return paint_numbers(annotation, parts, numbers)


def make_voc_palette() -> np.ndarray:
    """(256, 3) uint8: VOC's colours, the bits of the index dealt to red, green and blue from the highest bit down."""
    index, channel = np.arange(256)[:, None], np.arange(3)
    bits = [((index >> (3 * place + channel)) & 1) << (7 - place) for place in range(8)]
    return np.sum(bits, axis=0).astype(np.uint8)


# Plain pictures ------------------------------------------------------------------------------------------------------


def write_png(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write ``<image>.png`` with 255 object, 128 unsure, 0 background; and ``scores.csv``. Returns `folder`.

    With several labels also ``classes/<image>.png`` with their numbers from 1 on.
    """
    namer = FileNamer()
    namer.choose_stem("classes")  # reserved for the folder of class numbers
    rows: list[dict[str, Any]] = []
    for annotation in annotations:
        first, slash, rest = annotation.name.partition("/")
        is_reserved = slash and fold_name(first) == "classes"
        file_name = f"{namer.choose_stem(f'{first}~/{rest}' if is_reserved else annotation.name)}.png"
        parts = list_parts(annotation, options)
        for part in parts:
            measured = {"label": part.label, "score": float(part.score), "area": int(part.mask.sum())}
            rows.append({"image": annotation.name, "mask": file_name, **measured})
        write_mask(folder / file_name, paint_numbers(annotation, parts, [OBJECT] * len(parts), IGNORE))
        if len(options.labels) > 1:
            write_mask(folder / "classes" / file_name, _paint_classes(annotation, parts, options))
    write_csv(folder / "scores.csv", rows, ["image", "mask", "label", "score", "area"])
    return folder


# Pascal VOC ----------------------------------------------------------------------------------------------------------


def write_voc(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write pictures, ``SegmentationClass``, ``SegmentationObject``, ``ImageSets`` and ``labelmap.txt``."""
    namer, split = FileNamer(), Split(options.val_share)
    stems: dict[str, list[str]] = {subset: [] for subset in split.names}
    for annotation in annotations:
        stem = namer.choose_flat_stem(annotation.name)
        stems[split.choose(annotation)].append(stem)
        _write_voc_masks(annotation, folder, stem, options)
        place_image(annotation, folder / "JPEGImages" / f"{stem}{PurePosixPath(annotation.name).suffix}", options)
    for subset, listed in stems.items():
        for task in ("Main", "Segmentation"):  # the first is read as `voc`, the second as `voc_segmentation`
            # No trainval.txt: a reader of all lists would see every image twice.
            write_text(folder / "ImageSets" / task / f"{subset}.txt", "".join(f"{stem}\n" for stem in listed))
    colours = [",".join(map(str, colour)) for colour in make_voc_palette()]
    rows = [f"{name}:{colour}::\n" for name, colour in zip(["background", *options.labels], colours, strict=False)]
    write_text(folder / "labelmap.txt", "# label:color_rgb:parts:actions\n" + "".join(rows))
    return folder


def _write_voc_masks(annotation: Annotation, folder: Path, stem: str, options: ExportOptions) -> None:
    parts = list_parts(annotation, options)
    if len(parts) > MOST_NUMBERS:
        raise BadInputError(f"{annotation.name}: VOC holds at most {MOST_NUMBERS} objects; raise the smallest area")
    painted = {
        "SegmentationClass": _paint_classes(annotation, parts, options),
        "SegmentationObject": paint_numbers(annotation, parts, range(1, len(parts) + 1)),
    }
    for kind, numbers in painted.items():
        picture = Image.fromarray(numbers)
        picture.putpalette(make_voc_palette().ravel().tolist())
        write_bytes(folder / kind / f"{stem}.png", encode_png(picture))


# Cityscapes ----------------------------------------------------------------------------------------------------------


def write_cityscapes(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write ``gtFine/``, ``label_colors.txt`` and ``leftImg8bit/``, always as PNG; returns `folder`.

    Files are called ``gtFine/<subset>/segvote/segvote_<image>_000000_gtFine_<kind>.png``. In ``labelIds`` a label that
    is one of Cityscapes' classes has its number, others are numbered from 34 on, and unsure has 255 for the -1 of the
    original. ``labelTrainIds`` counts without gaps, for training: 0 background, then the labels in their order.
    """
    namer, split = FileNamer(), Split(options.val_share)
    for annotation in annotations:
        # The official tools take a name apart at its underscores.
        stem = namer.choose_flat_stem(annotation.name.replace("_", "-")).replace("_", "-")
        base = f"{split.choose(annotation)}/segvote/segvote_{stem}_000000"
        _write_city_masks(annotation, folder / "gtFine" / f"{base}_gtFine", options)
        if options.images != "none":
            pixels = Image.fromarray(read_image(find_picture(annotation)))
            picture = encode_png(pixels, zlib.Z_DEFAULT_STRATEGY)
            write_bytes(folder / "leftImg8bit" / f"{base}_leftImg8bit.png", picture)
    write_text(folder / "label_colors.txt", _format_colours(options.labels))
    return folder


def _write_city_masks(annotation: Annotation, base: Path, options: ExportOptions) -> None:
    parts = list_parts(annotation, options)
    train_ids = _paint_classes(annotation, parts, options)
    ids = _number_labels(options.labels)
    classes = [ids[part.label] for part in parts]
    pictures = {
        "labelIds": paint_numbers(annotation, parts, classes),
        "labelTrainIds": train_ids,
        "instanceIds": paint_numbers(annotation, parts, _number_objects(classes), dtype=np.uint16),
        "color": make_voc_palette()[train_ids],
    }
    for kind, array in pictures.items():
        write_bytes(base.with_name(f"{base.name}_{kind}.png"), encode_png(Image.fromarray(array)))


def _number_labels(names: Sequence[str]) -> dict[str, int]:
    others, most = [name for name in names if name not in CITYSCAPES_IDS], LAST_FREE_ID - FIRST_FREE_ID + 1
    if len(others) > most:
        raise BadInputError(f"Cityscapes takes at most {most} new classes, got {len(others)}; export fewer at a time")
    return CITYSCAPES_IDS | {name: number for number, name in enumerate(others, FIRST_FREE_ID)}


def _number_objects(classes: list[int]) -> list[int]:
    """Instance numbers as the original has them: the class times 1000 plus a count within the class."""
    counts = [classes[:place].count(label_id) for place, label_id in enumerate(classes)]
    if max(counts, default=0) >= MOST_INSTANCES:
        raise BadInputError(
            f"Cityscapes holds at most {MOST_INSTANCES} objects of a class in an image; raise the smallest area"
        )
    return [label_id * 1000 + count for label_id, count in zip(classes, counts, strict=True)]


def _format_colours(names: Sequence[str]) -> str:
    """Colour and name of each training number, in their order; names are one word, as readers take a line apart."""
    words = ["background", *("_".join(name.split()) for name in names)]
    rows = zip(words, make_voc_palette(), strict=False)
    return "".join(f"{' '.join(map(str, colour))} {word}\n" for word, colour in rows)


# Hugging Face --------------------------------------------------------------------------------------------------------


def write_hugging_face(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write an image folder that ``datasets`` loads, with the columns ``image`` and ``mask``; returns `folder`.

    Each ``<subset>/`` has pictures, ``masks/`` with numbers of labels, and ``metadata.jsonl``; ``id2label.json`` names
    the numbers.
    """
    namer, split = FileNamer(), Split(options.val_share)
    with contextlib.ExitStack() as stack:
        rows = {}
        for subset in split.names:
            path = stack.enter_context(atomic_path(folder / subset / "metadata.jsonl"))
            rows[subset] = stack.enter_context(path.open("w", encoding="utf-8", newline="\n"))
        for annotation in annotations:
            subset, stem = split.choose(annotation), namer.choose_flat_stem(annotation.name)
            picture = f"{stem}{PurePosixPath(annotation.name).suffix}"
            place_image(annotation, folder / subset / picture, options)
            classes = _paint_classes(annotation, list_parts(annotation, options), options)
            write_mask(folder / subset / f"masks/{stem}.png", classes)
            names = {} if options.images == "none" else {"file_name": picture}
            rows[subset].write(json.dumps({**names, "mask_file_name": f"masks/{stem}.png"}) + "\n")
    write_json(folder / "id2label.json", dict(enumerate(["background", *options.labels])))
    return folder
