"""A finished run on several classes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs
from msgspec.structs import asdict
from PIL import Image

from segvote.errors import BadInputError
from segvote.io.files import refuse_links
from segvote.io.tables import convert_record, read_json
from segvote.run.record import ClassesRecord, find_near
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.settings import Settings, read_settings
from segvote.types import Annotation


class ClassRuns:
    """A finished run on several classes.

    Parameters
    ----------
    folder : path or str
        The ``-o`` folder of `segvote annotate --classes`.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = RunFolder(folder)
        path = self.folder.classes_path
        if path.is_file():
            refuse_links(self.folder.path)
        if not path.is_file():
            raise BadInputError(
                f"{folder} holds no run on classes (no classes.json); give the -o folder of `annotate --classes`"
            )
        record = convert_record(read_json(path), ClassesRecord, path)
        self.record = structs.replace(record, input=find_near(record.input, record.near_input, self.folder.path))
        if not self.record.complete:
            raise BadInputError(f"the run in {folder} is not finished; repeat the same `segvote annotate --classes`")
        self.names, self.images = tuple(self.record.classes), self.record.images

    def __len__(self) -> int:
        return len(self.images)

    def __repr__(self) -> str:
        return f"<ClassRuns {self.folder.path}: {len(self)} images of {', '.join(self.names)}>"

    def format_confidence(self) -> str:
        """The confidence of each class, a line each."""
        lines = {name: run.format_confidence() for name, run in self.runs.items()}
        return "\n".join(f"{name}: {line}" for name, line in lines.items() if line)

    @cached_property
    def runs(self) -> Mapping[str, Run]:
        """Class to its run; image i is bag i of each run."""
        return {name: Run(self.folder.path / "classes" / name) for name in self.names}

    @cached_property
    def settings(self) -> Settings:
        return read_settings(self.record.settings, self.folder.classes_path)

    def read_mask(self, index: int) -> np.ndarray:
        """(h, w) uint8: 0 background, otherwise the number of the class, 1 for the first of `names`."""
        with Image.open(self.folder.mask_path(self.images[index].stem)) as picture:
            return np.array(picture)

    def to_table(self) -> list[dict[str, Any]]:
        """One row per image, the fields of `ClassRecord`, for ``pandas.DataFrame``."""
        return [asdict(image) for image in self.images]

    def list_annotations(self, left_out: Collection[int] = ()) -> Iterator[Annotation]:
        """One annotation per image and frame, with one part for each class that was found; parts may overlap."""
        for index in sorted(set(range(len(self))) - set(left_out)):
            yield from list_joined(self.runs, index, self.images[index].name)


def list_joined(runs: Mapping[str, Run], index: int, name: str) -> Iterator[Annotation]:
    """Annotations of the image `name`, or of the frames of that video, with the parts of all classes."""
    sources = [run for run in runs.values() if run.bags[index].has_mask] or [next(iter(runs.values()))]
    for several in zip(*(run.list_bag_annotations(index) for run in sources), strict=True):
        rest = several[0].name.removeprefix(sources[0].bags[index].name)  # name of a frame below its video
        parts = tuple(part for annotation in several for part in annotation.parts)
        properties = {**several[0].properties}
        if "video" in properties:
            properties["video"] = name
        yield replace(several[0], name=name + rest, parts=parts, properties=properties)


def open_any_run(folder: Path | str) -> Run | ClassRuns:
    """The finished run in a folder, on two folders or on several classes."""
    return ClassRuns(folder) if RunFolder(folder).classes_path.is_file() else Run(folder)
