"""Schemas of ``run.json`` and ``classes.json``, validated on reading: run folders may come from elsewhere.

The written files hold the fields of `RunRecord` and `ClassesRecord`; those with a default may be missing.
"""

from __future__ import annotations

import contextlib
import os
import platform
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from segvote import __version__
from segvote.errors import BadInputError
from segvote.inputs.bags import Problem
from segvote.io.names import check_name, is_path_name
from segvote.io.stores import find_local_path, is_uri, name_path_or_uri
from segvote.io.tables import Count, Finite, Size, Whole
from segvote.run.estimate import ExpectedIoU
from segvote.settings import Settings
from segvote.types import WITH, WITHOUT

# Incremented when the meaning of an array of a model changes; other versions are refused.
MODEL_VERSION = 8
ABSENT = "not installed"
# Packages whose version may change a mask.
DECIDING_PACKAGES = (
    "numpy", "scipy", "scikit-learn", "scikit-image", "higra", "faiss-cpu", "onnxruntime", "opencv-python-headless",
    "Pillow",
)  # fmt: skip

BagLabel = Annotated[str, Meta(pattern=rf"^({WITH}|{WITHOUT})\Z")]
Key = Annotated[str, Meta(pattern=r"^[0-9a-f]{0,64}\Z")]  # name of a file by content


class BagRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """The entry of one bag in `run.json`.

    Attributes
    ----------
    name : str
        ``with`` or ``without``, and the path below that folder.
    bag_label : str
        ``with`` or ``without``.
    stem : str
        Name of the output files, without extension.
    digest : str
        SHA-256 of the image.
    segments, features : str
        Keys of its segments and features.
    height, width : int
        Displayed size in pixels.
    n_segments, n_selected : int
        Number of segments, and of those selected as object.
    area : float
        Share of the image that the mask covers.
    score : float
        Mean score of the selected segments; of a *without* bag, the score of the best segment.
    threshold : float
        Score above which segments are selected.
    uncertainty : float
        0 certain to 1 uncertain.
    n_frames : int
        Frames of a video; 0 for an image.
    excluded : bool
        Whether the bag was excluded from the vote, because it is likely mislabelled.
    """

    name: str
    bag_label: BagLabel
    stem: str
    digest: Key
    segments: Key
    features: Key
    height: Size
    width: Size
    n_segments: Size
    n_selected: Count
    area: Finite
    score: Finite
    threshold: Finite
    uncertainty: Finite
    n_frames: Count = 0
    excluded: bool = False

    @property
    def has_mask(self) -> bool:
        """Whether the mask is not empty; painted pixels need no selected segment."""
        return bool(self.n_selected or self.area)


class Inputs(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The two folders of a run, as paths or addresses of a store.

    The file has them relative to the run folder, too: a project that was moved or copied reads its own images.
    """

    with_folder: str = field(name=WITH)
    without_folder: str = field(name=WITHOUT)
    near_with: str = ""
    near_without: str = ""

    def __post_init__(self) -> None:
        near = [folder for folder in (self.near_with, self.near_without) if folder]
        for folder in (self.with_folder, self.without_folder, *near):
            if not is_path_name(folder):
                raise ValueError(f"{folder!r:.80} cannot be the name of a folder")

    def write_near(self, run: Path) -> Inputs:
        """The folders with their paths relative to a run folder."""
        return Inputs(self.with_folder, self.without_folder, *(name_near(one, run) for one in self._list_folders()))

    def find_near(self, run: Path) -> Inputs:
        """The folders, found relative to a run folder where they exist, without the relative paths."""
        near = self.near_with, self.near_without
        return Inputs(*(find_near(one, other, run) for one, other in zip(self._list_folders(), near, strict=True)))

    def _list_folders(self) -> tuple[str, str]:
        return self.with_folder, self.without_folder

    def find_source(self, name: str) -> Path:
        """The user's own file, or folder of frames, by the name of a bag."""
        bag_label, below = name.split("/", 1)
        return find_local_path(self.with_folder if bag_label == WITH else self.without_folder) / below


def name_near(folder: str, run: Path) -> str:
    """A folder of images relative to a run folder; empty where one of them lies in a store, or on another drive."""
    if is_uri(folder) or is_uri(name_path_or_uri(run)):
        return ""
    with contextlib.suppress(ValueError):
        return Path(os.path.relpath(folder, run.resolve())).as_posix()
    return ""


def find_near(folder: str, near: str, run: Path) -> str:
    """The folder at a path relative to a run folder if there is one, otherwise the folder as it was."""
    path = Path(os.path.normpath(run.resolve() / near))
    return str(path) if near and os.path.isdir(path) else folder  # False for a name that no folder can have


class RunRecord(Struct, frozen=True, omit_defaults=True):
    """The content of ``run.json``."""

    segvote: str  # version
    versions: dict[str, str]
    inputs: Inputs
    settings: dict[str, Any]  # see `read_settings`
    key: str
    complete: bool
    bags: Sequence[BagRecord]
    problems: Sequence[Problem]
    search: dict[str, Any] = {}
    confidence: dict[str, Any] = {}
    extent: Whole = 0
    alternative: Count = 0  # that the masks show, 0: the vote itself
    estimate: ExpectedIoU | None = None  # of the images that were not finished
    corrections: Key = ""  # `Corrections.digest` that the masks follow
    n_actions: Count = 0  # number of the last action of the log among them
    vote_on: Count = 0  # how many bags were to vote, 0: all
    predicted: Sequence[BagRecord] = ()  # bags that did not vote and were scored by the model

    def __post_init__(self) -> None:
        for bag in (*self.bags, *self.predicted):
            if bag.name.split("/", 1)[0] not in (WITH, WITHOUT):
                raise ValueError(f"{bag.name!r:.80} is not the name of a bag")
            check_inside(bag.name, bag.stem)


class ClassRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """The entry of one image in `classes.json`."""

    name: str  # class folder and path below it
    stem: str  # name of its index mask
    classes: list[str]  # of the folders that hold it; empty for ``none``
    height: Size  # displayed
    width: Size
    n_segments: Size
    n_frames: Count = 0  # of a video; 0 for an image
    areas: dict[str, Finite] = {}  # class to the share of the image that its mask covers, before overlaps are resolved
    scores: dict[str, Finite] = {}  # class to the mean score of its segments


class ClassesRecord(Struct, frozen=True):
    """The content of ``classes.json``."""

    segvote: str
    versions: dict[str, str]
    input: str
    complete: bool
    near_input: str = ""  # relative to the run folder
    classes: Sequence[str] = ()
    images: Sequence[ClassRecord] = ()
    key: str = ""
    settings: dict[str, Any] = {}
    problems: Sequence[Problem] = ()

    def __post_init__(self) -> None:
        check_inside(*(step for image in self.images for step in (image.name, image.stem)), *self.classes)
        if any("/" in name for name in self.classes):
            raise ValueError("a class is not the name of a folder")


def check_inside(*names: str) -> None:
    """Raise `ValueError` for a name that is no path, or leads out of the folder it is joined to."""
    for name in names:
        try:
            is_whole = is_path_name(check_name(name))
        except BadInputError:
            is_whole = False
        if not is_whole:
            raise ValueError(f"{name!r:.80} is not a path below a folder")


def make_record(
    inputs: Inputs,
    settings: Settings,
    key: str,
    complete: bool = False,
    bags: Sequence[BagRecord] = (),
    problems: Sequence[Problem] = (),
    **fields: Any,
) -> RunRecord:
    """The record of a run by this version; `fields` are fields of `RunRecord`."""
    return RunRecord(__version__, list_versions(), inputs, settings.to_dict(), key, complete, bags, problems, **fields)


def describe_search(recall: float | None) -> dict[str, Any]:
    """Kind and recall of a voter's neighbour search; empty for a voter without one."""
    if recall is None:
        return {}
    return {"neighbours": "exact" if recall == 1 else "approximate", "recall": round(float(recall), 4)}


def list_versions() -> dict[str, str]:
    """Versions of Python and of the packages that may change a mask."""
    return {"python": platform.python_version(), **{package: find_version(package) for package in DECIDING_PACKAGES}}


@cache  # reading it takes as long as writing a mask
def find_version(package: str) -> str:
    """Version of an installed package, or `ABSENT`."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ABSENT
