"""DAVIS 2016 and 2017.

They hold ``JPEGImages/480p/SEQUENCE/00000.jpg`` and ``Annotations/480p/SEQUENCE/00000.png``. The set has no classes;
sequences are grouped here by what is masked in them. Only the main object of a sequence is masked: a car that stands at
the roadside of another sequence is label noise. In 2017 a mask numbers its objects; all count.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from segvote.datasets.base import DataItem, DataSet, find_folder, oppose_classes
from segvote.errors import BadInputError
from segvote.io.images import list_images
from segvote.io.masks import read_mask
from segvote.types import WITH

# How the names of a group's sequences begin; every other sequence is a group of its own.
GROUPS: dict[str, tuple[str, ...]] = {
    "bird": ("blackswan", "flamingo", "mallard"),
    "boat": ("boat",),
    "bus": ("bus",),
    "camel": ("camel",),
    "car": ("car-", "classic-car", "drift", "night-race", "rallye"),
    "dog": ("dog", "libby"),
    "horse": ("horsejump",),
    "motorbike": ("motocross", "motorbike", "mbike", "scooter-black", "scooter-gray"),
}


def load_davis(root: Path | str, class_name: str | None = None, resolution: str = "480p") -> DataSet:
    """Load DAVIS.

    Parameters
    ----------
    root
        The folder that holds ``JPEGImages`` and ``Annotations``.
    class_name
        A key of `GROUPS`, or the name of a sequence that is in no group; None for the groups on disk.
    resolution
        ``"480p"``, ``"1080p"`` or ``"Full-Resolution"``.
    """
    folder = find_folder(root, "JPEGImages", "Annotations")
    sequences = sorted(path for path in (folder / "JPEGImages" / resolution).glob("*") if path.is_dir())
    if not sequences:
        raise BadInputError(f"expected sequences in {folder / 'JPEGImages' / resolution}, got none; unpack DAVIS again")
    by_group: dict[str, list[DataItem]] = {}
    for sequence in sequences:
        item = _make_item(sequence, folder / "Annotations" / resolution / sequence.name)
        groups = [group for group, starts in GROUPS.items() if sequence.name.startswith(starts)]
        by_group.setdefault((groups or [sequence.name])[0], []).append(item)
    everything = oppose_classes("davis", by_group, class_name)
    if class_name is not None:
        return everything
    return DataSet("davis", {name: items for name, items in everything.items.items() if name in GROUPS})


def _make_item(sequence: Path, annotations: Path) -> DataItem:
    frames = tuple(list_images(sequence))
    masks = {
        number: partial(read_mask, annotations / f"{frame.stem}.png")
        for number, frame in enumerate(frames)
        if (annotations / f"{frame.stem}.png").is_file()
    }
    return DataItem(sequence.name, WITH, frames, is_video=True, masks=masks)
