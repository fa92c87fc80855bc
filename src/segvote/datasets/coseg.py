"""Co-segmentation sets: ``CLASS/STEM.jpg`` with its mask beside it, and the figures published on the best known one.

A mask is ``CLASS/STEM.png`` or ``CLASS/GroundTruth/STEM.png``. The images of a class are *with*; evenly spaced images
of the other classes are *without*, as many as there are *with* images, and at least `LEAST_WITHOUT`.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

from segvote.datasets.base import DataItem, DataSet, find_folder, oppose_classes, take_evenly
from segvote.io.masks import read_mask
from segvote.types import WITH, WITHOUT

LEAST_WITHOUT = 60
PHOTOGRAPHS = (".jpg", ".jpeg")  # masks are PNG files


class PublishedResult(NamedTuple):
    """One published result."""

    name: str
    mean_j: str  # mean over the classes, or a range
    uses_masks: bool  # whether it was trained on masks of other images
    source: str


# On the images of PASCAL VOC 2010 that Faktor and Irani chose: 20 classes, 1,037 images.
VOC_CLASSES = (
    "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog",
    "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
)  # fmt: skip
PUBLISHED = (
    PublishedResult("Faktor 2013", "0.46", False, "Faktor, Irani: Co-segmentation by composition. ICCV 2013"),
    PublishedResult(
        "Quan 2016",
        "0.52",
        False,
        "Quan, Han, Zhang, Nie: Object co-segmentation via graph optimized-flexible manifold ranking. CVPR 2016",
    ),
    PublishedResult(
        "Hsu 2018",
        "0.60",
        False,
        "Hsu, Lin, Chuang: Co-attention CNNs for unsupervised object co-segmentation. IJCAI 2018",
    ),
    PublishedResult("Li 2018", "0.65", True, "Li, Hosseini Jafari, Rother: Deep object co-segmentation. ACCV 2018"),
    PublishedResult(
        "SSNM 2020",
        "0.66 to 0.71",
        True,
        "Zhang, Chen, Liu, Liu: Deep object co-segmentation via spatial-semantic network modulation. AAAI 2020",
    ),
)


def load_coseg(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load a co-segmentation set: a folder for each class."""
    folder = find_folder(root, "*/*.[jJ][pP]*[gG]")
    by_class = {one.name: items for one in sorted(folder.glob("*/")) if (items := _list_images(one))}
    data = oppose_classes("coseg", by_class, class_name)
    return DataSet("coseg", {name: _choose_absent(data, name) for name in data.classes})


def _list_images(folder: Path) -> list[DataItem]:
    paths = [path for path in sorted(folder.glob("[!.]*")) if path.suffix.lower() in PHOTOGRAPHS]
    items = []
    for path in paths:
        beside = [path.with_suffix(".png"), folder / "GroundTruth" / f"{path.stem}.png"]
        files = [mask for mask in beside if mask.is_file()]
        masks = {0: partial(read_mask, files[0])} if files else {}
        items.append(DataItem(f"{folder.name}/{path.name}", WITH, (path,), masks=masks))
    return items


def _choose_absent(data: DataSet, class_name: str) -> tuple[DataItem, ...]:
    shown, absent = (data.select(class_name, label) for label in (WITH, WITHOUT))
    return (*shown, *take_evenly(absent, max(len(shown), LEAST_WITHOUT)))
