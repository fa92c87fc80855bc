"""A finished run on several classes, opened for reading: index masks, scores of all classes, the run of each class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict
from PIL import Image

from segvote.errors import BadInputError
from segvote.io.arrays import read_arrays
from segvote.io.images import read_image
from segvote.io.tables import convert_record, read_json
from segvote.run.handover import make_supervision_dataset
from segvote.run.record import ClassesRecord, ClassRecord
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings, read_settings
from segvote.types import Annotation


class ClassRuns:
    """The folder of `annotate --classes` as Python sees it.

    Parameters
    ----------
    folder
        Its ``-o`` folder.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = RunFolder(folder)
        self.record = _read_record(self.folder)
        self.names: tuple[str, ...] = tuple(self.record["classes"])
        self.images = convert_record(self.record["images"], list[ClassRecord], self.folder.path)

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        return f"<ClassRuns {self.folder.path}: {len(self)} images of {', '.join(self.names)}>"

    def format_confidence(self) -> str:
        """How far to trust each class, a line each; empty where nothing is known."""
        lines = {name: run.format_confidence() for name, run in self.runs.items()}
        return "\n".join(f"{name}: {line}" for name, line in lines.items() if line)

    @cached_property
    def runs(self) -> Mapping[str, Run]:
        """Class to its run; image i of this folder is bag i of each."""
        return {name: Run(self.folder.path / "classes" / name) for name in self.names}

    @cached_property
    def settings(self) -> Settings:
        return read_settings(self.record.get("settings"), find_class_record(self.folder))

    @cached_property
    def offsets(self) -> np.ndarray:
        """(n_images + 1,) where each image's segments begin."""
        return np.concatenate([[0], np.cumsum([image.n_segments for image in self.images])]).astype(np.int64)

    @cached_property
    def votes(self) -> dict[str, np.ndarray]:
        """(n_classes, n_segments) scores, weights and decisions of every segment for every class."""
        return read_arrays(self.folder.votes_path)

    def read_scores(self, index: int) -> np.ndarray:
        """(n_classes, n_segments) of one image; rows in the order of `names`, 0 is each class's threshold."""
        return self.votes["scores"][:, self.offsets[index] : self.offsets[index + 1]]

    def read_segments(self, index: int) -> dict[str, np.ndarray]:
        """Label map, tree and geometry of an image; the same for all classes."""
        return self._any_run.read_segments(index)

    def read_mask(self, index: int) -> np.ndarray:
        """(h, w) uint8: 0 background, otherwise the number of the class, 1 for the first of `names`."""
        with Image.open(self.folder.mask_path(self.images[index].stem)) as picture:
            return np.array(picture)

    def read_image(self, index: int) -> np.ndarray:
        return read_image(self._any_run.find_image(index))

    @property
    def _any_run(self) -> Run:
        return self.runs[self.names[0]]

    def to_coco(self) -> dict[str, Any]:
        """The COCO file with all classes, parsed."""
        return read_json(self.folder.coco_path)  # type: ignore[no-any-return]

    def to_supervision(self) -> Any:
        """A ``supervision.DetectionDataset`` of all images and classes, if that package is installed."""
        return make_supervision_dataset(self.list_annotations(), self.names)

    def to_table(self) -> list[dict[str, Any]]:
        """One row per image, the fields of `ClassRecord`; ``pandas.DataFrame`` takes it as it is."""
        return [asdict(image) for image in self.images]

    def list_annotations(self) -> Iterator[Annotation]:
        """One annotation per image and frame; one part for each class that was found, whether or not they overlap."""
        for index in range(len(self)):
            yield from list_joined(self.runs, index, self.images[index].name)


def list_joined(runs: Mapping[str, Run], index: int, name: str) -> Iterator[Annotation]:
    """Annotations of one image, or of the frames of one video, called `name`, with the parts of all classes."""
    found = [run for run in runs.values() if run.bags[index].has_mask] or [next(iter(runs.values()))]
    for several in zip(*(run.list_bag_annotations(index) for run in found), strict=True):
        rest = several[0].name.removeprefix(found[0].bags[index].name)  # of a frame, its name below the video
        parts = tuple(part for annotation in several for part in annotation.parts)
        properties = {**several[0].properties}
        if "video" in properties:
            properties["video"] = name
        yield replace(several[0], name=name + rest, parts=parts, properties=properties)


def find_class_record(folder: RunFolder) -> Path:
    """The file that marks a folder of several classes."""
    return folder.path / "classes.json"


def _read_record(folder: RunFolder) -> dict[str, Any]:
    path = find_class_record(folder)
    if not path.is_file():
        raise BadInputError(
            f"{folder.path} holds no run on classes (no classes.json); give the -o folder of `annotate --classes`"
        )
    record = read_json(path)
    convert_record(record, ClassesRecord, path)
    if not record.get("complete"):
        raise BadInputError(f"the run in {folder.path} is not finished; repeat the same `segvote annotate --classes`")
    return record
