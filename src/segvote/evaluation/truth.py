"""Ground truth from folders of masks, VOC folders and annotation files of other tools, read when needed.

Each kind becomes a table from the image's path without its extension to a reader. Masks are 255 object, 128 ignore, 0
background; boxes are (n, 4) x0, y0, x1, y1 with the ends left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

import numpy as np

from segvote.datasets.base import order_corners, read_voc_boxes
from segvote.errors import BadInputError
from segvote.io.decoding import open_picture
from segvote.io.encodings.rle import decode_rle, encode_rle
from segvote.io.images import list_images
from segvote.io.imports import read_any
from segvote.io.imports.base import NameIndex
from segvote.io.imports.coco import parse_coco_boxes
from segvote.io.masks import IGNORE, OBJECT, read_mask
from segvote.io.names import encode_name
from segvote.io.tables import read_json
from segvote.types import Annotation

VOC_CLASSES = [
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog",
    "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
]  # fmt: skip
# A picture with more than MAX_NOISY values is a photograph if a larger share than MAX_MEDIUM of its pixels has medium
# brightness and differs from the next pixel: masks have up to .18 (thin lines made smaller, in JPEG), photographs .20
# and more, unless nearly black; or if a smaller share than MIN_EQUAL equals the next pixel: masks have .47 to 1.
MAX_NOISY, MAX_MEDIUM, MIN_EQUAL = 16, 0.19, 0.4


@dataclass(frozen=True)
class Truth:
    """The mask of one image, or its boxes."""

    mask: np.ndarray | None = None  # (h, w) uint8; None where only boxes are known
    boxes: np.ndarray | None = None  # (n, 4) in pixels of the image; None where the mask is known


TruthReader = Callable[[], Truth]


def list_truth(path: Path | str, label: str | None = None) -> dict[str, TruthReader]:
    """Find the truth of every image below a path: image path without extension to a reader.

    A folder of masks named like the images; a VOC folder (``SegmentationClass``, or ``Annotations`` for boxes); a
    folder of labelme files; a COCO, CVAT, Label Studio or labelme file. Where the truth has several classes, `label` is
    the one that counts; None: all of them.
    """
    path = Path(path)
    if not path.exists():
        raise BadInputError(f"expected masks, boxes or a file of annotations at {path}, found nothing; check --truth")
    readers = _list_folder(path, label) if path.is_dir() else _list_file(path, label)
    if not readers:
        wanted = f" of {label!r}" if label else ""
        raise BadInputError(f"no truth{wanted} in {path}; expected masks named like the images, or a COCO file")
    return readers


def find_truth(readers: Mapping[str, TruthReader], name: str) -> TruthReader | None:
    """The reader for a bag, by its path, its path below ``with`` or ``without``, or the unique end of a path."""
    # Pictures of masks are called as on the disk, annotations as text can hold it.
    for stem in (_cut_extension(name), _cut_extension(encode_name(name))):
        below = stem.split("/", 1)[-1]
        for wanted in (stem, below, NameIndex(readers).match(below) or ""):
            if wanted in readers:
                return readers[wanted]
    return None


def _list_folder(folder: Path, label: str | None) -> dict[str, TruthReader]:
    if (folder / "SegmentationClass").is_dir():
        return _list_masks(folder / "SegmentationClass", label, folder / "labelmap.txt")
    if pictures := _list_masks(folder, label, folder / "labelmap.txt"):
        return pictures
    boxes = folder / "Annotations" if (folder / "Annotations").is_dir() else folder
    if files := sorted(boxes.rglob("*.xml")):
        return {_name(boxes, path): partial(_read_voc, path, label) for path in files}
    return _list_annotations(read_any(folder), label)


def _list_masks(folder: Path, label: str | None, label_map: Path) -> dict[str, TruthReader]:
    if label is None:
        return {_name(folder, path): partial(_read_mask, path) for path in list_images(folder)}
    return {_name(folder, path): partial(_read_class, path, label, label_map) for path in list_images(folder)}


def _name(folder: Path, path: Path) -> str:
    return path.relative_to(folder).with_suffix("").as_posix()


def _cut_extension(name: str) -> str:
    return str(PurePosixPath(name).with_suffix(""))


def _read_mask(path: Path) -> Truth:
    check_mask_values(path)
    return Truth(mask=read_mask(path))


def check_mask_values(path: Path) -> None:
    """Refuse a photograph: a mask has few values, apart from some soft edges and noise of JPEG."""
    with open_picture(path) as picture:
        values = np.asarray(picture.convert("RGB") if picture.mode == "P" else picture)
    n_values = len(np.unique(values))
    if n_values > MAX_NOISY and _looks_photographed(values.reshape(*values.shape[:2], -1)):
        raise BadInputError(
            f"{path} looks like a photograph: {n_values} values; expected a mask, 0 for background and 255, or one "
            "value for each object. Check --truth"
        )


def _looks_photographed(pixels: np.ndarray) -> bool:
    """(h, w, n_channels); see the constants."""
    differs = (pixels[:, 1:] != pixels[:, :-1]).any(axis=2)
    low, high = float(pixels.min()), float(pixels.max())
    margin = (high - low) / 8
    medium = np.any((pixels > low + margin) & (pixels < high - margin), axis=2)[:, 1:]
    return bool(1 - differs.mean() < MIN_EQUAL or (differs & medium).mean() > MAX_MEDIUM)


def _read_class(path: Path, label: str, label_map: Path) -> Truth:
    """One class of a palette picture; of a picture without palette everything is the class."""
    with open_picture(path) as picture:
        indices = np.array(picture) if picture.mode == "P" else None
    if indices is None:
        return _read_mask(path)
    wanted = _find_class(label, label_map)
    mask = np.where(indices == wanted, OBJECT, 0).astype(np.uint8)
    mask[indices == 255] = IGNORE
    return Truth(mask=mask)


def _find_class(label: str, label_map: Path) -> int:
    """Number of a class: a number itself, a row of ``labelmap.txt``, or one of Pascal VOC's twenty."""
    if label.isdigit():
        return int(label)
    names = VOC_CLASSES
    if label_map.is_file():
        lines = [
            line.split(":")[0] for line in label_map.read_text("utf-8-sig").splitlines() if not line.startswith("#")
        ]
        names = lines[1:]  # the first is the background
    if label not in names:
        raise BadInputError(f"expected one of the classes {', '.join(names)}, got {label!r}; or give its number")
    return names.index(label) + 1


def _read_voc(path: Path, label: str | None) -> Truth:
    by_class = read_voc_boxes(path)
    kept = [boxes for name, boxes in by_class.items() if label in (None, name)]
    return Truth(boxes=np.concatenate([np.empty((0, 4)), *kept]))


def _list_file(path: Path, label: str | None) -> dict[str, TruthReader]:
    if path.suffix.lower() == ".json":
        data = read_json(path)
        is_coco = isinstance(data, dict) and {"images", "annotations"} <= data.keys()
        if is_coco and (boxes := parse_coco_boxes(data, str(path), label)):  # none where an annotation has a mask
            return {_cut_extension(name): partial(_order_boxes, corners) for name, corners in boxes.items()}
    return _list_annotations(read_any(path), label)


def _list_annotations(annotations: Iterable[Annotation], label: str | None) -> dict[str, TruthReader]:
    """Annotated images; one without any part may be unfinished and is left out."""
    readers: dict[str, TruthReader] = {}
    for annotation in annotations:
        masks = [part.mask for part in annotation.parts if label in (None, part.label)]
        if masks:
            # Packed: a file may list thousands of large images.
            packed = encode_rle(np.logical_or.reduce(masks))
            unsure = None if annotation.unsure is None else encode_rle(annotation.unsure)
            readers[_cut_extension(annotation.name)] = partial(_unpack_mask, packed, unsure)
    return readers


def _unpack_mask(packed: dict[str, object], unsure: dict[str, object] | None) -> Truth:
    mask = np.where(decode_rle(packed), OBJECT, 0).astype(np.uint8)
    if unsure is not None:
        mask[decode_rle(unsure)] = IGNORE
    return Truth(mask=mask)


def _order_boxes(corners: list[list[float]]) -> Truth:
    return Truth(boxes=order_corners(np.array(corners)))
