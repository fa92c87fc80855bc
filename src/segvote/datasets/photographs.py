"""Public sets of photographs: Oxford-IIIT Pet, Weizmann horses; LabelMeFacade, MSRC v2 and CamVid with coloured labels.

Of coloured labels an image is *with* a class when the class covers at least `MIN_AREA` of it, *without* when it does
not occur; what shows a trace of it is left out. Label images are therefore all read once.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from segvote.datasets.base import (
    Colour,
    DataItem,
    DataSet,
    find_folder,
    measure_colours,
    oppose_classes,
    pick_classes,
    read_colour_mask,
    read_threshold_mask,
    read_trimap,
)
from segvote.errors import BadInputError
from segvote.io.images import list_images
from segvote.types import WITH, WITHOUT

SPECIES = {"1": "cat", "2": "dog"}
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


def load_oxford_pets(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load Oxford-IIIT Pet: ``images/NAME.jpg``, ``annotations/list.txt``, ``annotations/trimaps/NAME.png``.

    Parameters
    ----------
    root
        The folder that holds ``images`` and ``annotations``.
    class_name
        ``"cat"``, ``"dog"``, or a breed as in the files' names (``"Abyssinian"``, ``"american_bulldog"``); None for
        cats and dogs.

    Notes
    -----
    Every image shows an animal: cats are the *without* images of dogs, all other breeds those of a breed. The line
    around an animal is not classified and ignored.
    """
    folder = find_folder(root, "images", "annotations")
    species = _read_species(folder / "annotations" / "list.txt")
    groups = _group_pets(folder, species, by_breed=class_name is not None and class_name not in SPECIES.values())
    return oppose_classes("oxford-pets", groups, class_name)


def _read_species(path: Path) -> dict[str, str]:
    """Image's name to cat or dog, from lines of name, class, species and breed number."""
    if not path.is_file():
        raise BadInputError(f"expected the list of images {path}, which is absent; unpack annotations.tar.gz")
    lines = [line.split() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    return {fields[0]: SPECIES[fields[2]] for fields in lines}


def _group_pets(folder: Path, species: dict[str, str], by_breed: bool) -> dict[str, list[DataItem]]:
    groups: dict[str, list[DataItem]] = {}
    for name, animal in species.items():
        image, trimap = folder / "images" / f"{name}.jpg", folder / "annotations" / "trimaps" / f"{name}.png"
        if image.is_file() and trimap.is_file():
            item = DataItem(image.name, WITH, (image,), masks={0: partial(read_trimap, trimap)})
            groups.setdefault(name.rsplit("_", 1)[0] if by_breed else animal, []).append(item)
    if not groups:
        raise BadInputError(f"expected the images of list.txt in {folder / 'images'}, got none; unpack images.tar.gz")
    return groups


def load_weizmann_horses(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load the Weizmann horses: ``rgb/horse001.jpg`` and ``figure_ground/horse001.jpg`` (or ``horse`` and ``mask``).

    Parameters
    ----------
    root
        The folder ``weizmann_horse_db`` or the one around it. Every image shows a horse: put images without one into a
        folder ``without`` in it.
    class_name
        ``"horse"`` or None.
    """
    (wanted,) = pick_classes(["horse"], class_name)
    try:
        folder, images, truth = find_folder(root, "rgb", "figure_ground"), "rgb", "figure_ground"
    except BadInputError:
        folder, images, truth = find_folder(root, "horse", "mask"), "horse", "mask"
    masks = {path.stem: path for path in list_images(folder / truth)}
    shown = [
        DataItem(path.name, WITH, (path,), masks={0: partial(read_threshold_mask, masks[path.stem])})
        for path in list_images(folder / images)
        if path.stem in masks
    ]
    without = list_images(folder / WITHOUT) if (folder / WITHOUT).is_dir() else []
    absent = [DataItem(f"{WITHOUT}/{path.name}", WITHOUT, (path,)) for path in without]
    return DataSet("weizmann-horses", {wanted: (*shown, *absent)})


def load_labelmefacade(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load LabelMeFacade: ``images/NAME.jpg`` and ``labels/NAME.png``; what is labelled *various* is ignored.

    Parameters
    ----------
    root
        The folder that holds ``images`` and ``labels``.
    class_name
        One class, or None for all that occur.
    """
    folder = find_folder(root, "images", "labels")
    pairs = _pair(folder / "images", folder / "labels", suffix="")
    return _load_coloured("labelmefacade", pairs, FACADE_COLOURS, class_name)


def load_msrc_v2(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load MSRC v2: ``Images/NAME.bmp`` and ``GroundTruth/NAME_GT.bmp``; void is ignored.

    Parameters
    ----------
    root, class_name
        As in `load_labelmefacade`.
    """
    folder = find_folder(root, "Images", "GroundTruth")
    pairs = _pair(folder / "Images", folder / "GroundTruth", suffix="_GT")
    return _load_coloured("msrc-v2", pairs, MSRC_COLOURS, class_name)


def load_camvid(root: Path | str, class_name: str | None = None) -> DataSet:
    """Load CamVid: ``NAME.png`` and ``NAME_L.png`` in any folders below the root; void is ignored.

    Parameters
    ----------
    root, class_name
        As in `load_labelmefacade`. The original has ``701_StillsRaw_full`` and ``LabeledApproved_full``; copies with
        ``train`` and ``train_labels`` are read as well.
    """
    pairs = _pair(Path(root), Path(root), suffix="_L")
    pairs = {name: pair for name, pair in pairs.items() if Path(name).stem not in CAMVID_DAMAGED}
    return _load_coloured("camvid", pairs, CAMVID_COLOURS, class_name)


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
    name: str, pairs: dict[str, tuple[Path, Path]], colours: dict[str, Colour], class_name: str | None
) -> DataSet:
    areas = {image_name: measure_colours(label) for image_name, (_, label) in pairs.items()}
    occurring = [
        known for known, colour in colours.items() if any(area.get(colour, 0) >= MIN_AREA for area in areas.values())
    ]
    items = {
        wanted: _make_items(pairs, areas, colours[wanted])
        for wanted in (pick_classes(colours, class_name) if class_name else occurring)
    }
    return DataSet(name, items)


def _make_items(
    pairs: dict[str, tuple[Path, Path]], areas: dict[str, dict[Colour, float]], colour: Colour
) -> tuple[DataItem, ...]:
    shown, absent = [], []
    for name, (image, label) in pairs.items():
        area = areas[name].get(colour, 0.0)
        if area == 0:
            absent.append(DataItem(name, WITHOUT, (image,)))
        elif area >= MIN_AREA:
            shown.append(
                DataItem(name, WITH, (image,), masks={0: partial(read_colour_mask, label, (colour,), (VOID,))})
            )
    return (*shown, *absent)
