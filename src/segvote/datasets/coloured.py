"""Data sets whose truth is a label image with a colour for every class: LabelMeFacade, MSRC v2, CamVid.

An image is *with* a class when the class covers at least `min_area` of it, *without* when it does not occur; what shows
a trace of it is left out. Whether it occurs is in the label images, which are therefore all read once.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from segvote.datasets.base import DataItem, DataSet, find_folder, pick_classes
from segvote.datasets.truth_files import Colour, measure_colours, read_colour_mask
from segvote.errors import BadInputError
from segvote.io.images import list_images
from segvote.types import WITH, WITHOUT

VOID: Colour = (0, 0, 0)  # in all three: unlabelled pixels
MIN_AREA = 0.01

FACADE_COLOURS: dict[str, Colour] = {
    "building": (128, 0, 0), "car": (128, 0, 128), "door": (128, 128, 0), "pavement": (128, 128, 128),
    "road": (128, 64, 0), "sky": (0, 128, 128), "vegetation": (0, 128, 0), "window": (0, 0, 128),
}  # fmt: skip
MSRC_COLOURS: dict[str, Colour] = {
    "aeroplane": (192, 0, 0), "bicycle": (192, 0, 128), "bird": (0, 64, 0), "boat": (192, 64, 0), "body": (64, 64, 0),
    "book": (128, 64, 0), "building": (128, 0, 0), "car": (64, 0, 128), "cat": (0, 192, 128), "chair": (0, 192, 0),
    "cow": (0, 0, 128), "dog": (128, 192, 128), "face": (192, 128, 0), "flower": (64, 128, 128), "grass": (0, 128, 0),
    "horse": (128, 0, 128), "mountain": (64, 0, 0), "road": (128, 64, 128), "sheep": (0, 128, 128),
    "sign": (192, 128, 128), "sky": (128, 128, 128), "tree": (128, 128, 0), "water": (64, 128, 0),
}  # fmt: skip
CAMVID_COLOURS: dict[str, Colour] = {
    "Animal": (64, 128, 64), "Archway": (192, 0, 128), "Bicyclist": (0, 128, 192), "Bridge": (0, 128, 64),
    "Building": (128, 0, 0), "Car": (64, 0, 128), "CartLuggagePram": (64, 0, 192), "Child": (192, 128, 64),
    "Column_Pole": (192, 192, 128), "Fence": (64, 64, 128), "LaneMkgsDriv": (128, 0, 192),
    "LaneMkgsNonDriv": (192, 0, 64), "Misc_Text": (128, 128, 64), "MotorcycleScooter": (192, 0, 192),
    "OtherMoving": (128, 64, 64), "ParkingBlock": (64, 192, 128), "Pedestrian": (64, 64, 0), "Road": (128, 64, 128),
    "RoadShoulder": (128, 128, 192), "SUVPickupTruck": (64, 128, 192), "Sidewalk": (0, 0, 192),
    "SignSymbol": (192, 128, 128), "Sky": (128, 128, 128), "TrafficCone": (0, 0, 64), "TrafficLight": (0, 64, 64),
    "Train": (192, 64, 128), "Tree": (128, 128, 0), "Truck_Bus": (192, 128, 192), "Tunnel": (64, 0, 64),
    "VegetationMisc": (192, 192, 0), "Wall": (64, 192, 0),
}  # fmt: skip
# The label of this still shows another picture.
CAMVID_DAMAGED = frozenset({"Seq05VD_f02610"})


def load_labelmefacade(root: Path | str, class_name: str | None = None, min_area: float = MIN_AREA) -> DataSet:
    """Load LabelMeFacade: ``images/NAME.jpg`` and ``labels/NAME.png``; what is labelled *various* is ignored.

    Parameters
    ----------
    root
        The folder that holds ``images`` and ``labels``.
    class_name
        One class, or None for all that occur.
    min_area
        Part of an image that a class must cover to count as shown.
    """
    folder = find_folder(root, "images", "labels")
    pairs = _pair(folder / "images", folder / "labels", suffix="")
    return _load_coloured("labelmefacade", pairs, FACADE_COLOURS, class_name, min_area)


def load_msrc_v2(root: Path | str, class_name: str | None = None, min_area: float = MIN_AREA) -> DataSet:
    """Load MSRC v2: ``Images/NAME.bmp`` and ``GroundTruth/NAME_GT.bmp``; void is ignored.

    Parameters
    ----------
    root, class_name, min_area
        As in `load_labelmefacade`.
    """
    folder = find_folder(root, "Images", "GroundTruth")
    pairs = _pair(folder / "Images", folder / "GroundTruth", suffix="_GT")
    return _load_coloured("msrc-v2", pairs, MSRC_COLOURS, class_name, min_area)


def load_camvid(root: Path | str, class_name: str | None = None, min_area: float = MIN_AREA) -> DataSet:
    """Load CamVid: ``NAME.png`` and ``NAME_L.png`` in any folders below the root; void is ignored.

    Parameters
    ----------
    root, class_name, min_area
        As in `load_labelmefacade`. The original has ``701_StillsRaw_full`` and ``LabeledApproved_full``; copies with
        ``train`` and ``train_labels`` are read as well.
    """
    pairs = _pair(Path(root), Path(root), suffix="_L")
    pairs = {name: pair for name, pair in pairs.items() if Path(name).stem not in CAMVID_DAMAGED}
    return _load_coloured("camvid", pairs, CAMVID_COLOURS, class_name, min_area)


def _pair(image_folder: Path, label_folder: Path, suffix: str) -> dict[str, tuple[Path, Path]]:
    """Image's name to image and label: the label has the image's stem and a suffix."""
    labels = {path.stem: path for path in list_images(label_folder) if path.stem.endswith(suffix)}
    images = [path for path in list_images(image_folder) if path not in labels.values()]
    pairs = {path.name: (path, labels[path.stem + suffix]) for path in images if path.stem + suffix in labels}
    if not pairs:
        raise BadInputError(
            f"expected images in {image_folder} and labels called NAME{suffix} in {label_folder}, got no pair; "
            "give the unpacked data set"
        )
    return pairs


def _load_coloured(
    name: str, pairs: dict[str, tuple[Path, Path]], colours: dict[str, Colour], class_name: str | None, min_area: float
) -> DataSet:
    areas = {image_name: measure_colours(label) for image_name, (_, label) in pairs.items()}
    occurring = [
        known for known, colour in colours.items() if any(area.get(colour, 0) >= min_area for area in areas.values())
    ]
    items = {
        wanted: _make_items(pairs, areas, colours[wanted], min_area)
        for wanted in (pick_classes(colours, class_name) if class_name else occurring)
    }
    return DataSet(name, items)


def _make_items(
    pairs: dict[str, tuple[Path, Path]], areas: dict[str, dict[Colour, float]], colour: Colour, min_area: float
) -> tuple[DataItem, ...]:
    shown, absent = [], []
    for name, (image, label) in pairs.items():
        area = areas[name].get(colour, 0.0)
        if area == 0:
            absent.append(DataItem(name, WITHOUT, (image,)))
        elif area >= min_area:
            shown.append(
                DataItem(name, WITH, (image,), masks={0: partial(read_colour_mask, label, (colour,), (VOID,))})
            )
    return (*shown, *absent)
