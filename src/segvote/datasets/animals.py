"""Animals photographed one by one: Oxford-IIIT Pet (trimaps, 37 breeds) and the Weizmann horses (figure and ground)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from segvote.datasets.base import DataItem, DataSet, find_folder, oppose_classes, pick_classes
from segvote.datasets.truth_files import read_threshold_mask, read_trimap
from segvote.errors import BadInputError
from segvote.io.images import list_images
from segvote.types import WITH, WITHOUT

SPECIES = {"1": "cat", "2": "dog"}


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
