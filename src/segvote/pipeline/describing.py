"""One bag at a time: read the image, segment it, describe its segments; what is on disk already is not done again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from segvote.errors import BadInputError, DamagedFileError, UnreadableImageError
from segvote.features import FeatureExtractor
from segvote.io.arrays import read_arrays, write_arrays
from segvote.io.images import read_image, resize_image
from segvote.io.run_folder import RunFolder, make_key
from segvote.pipeline.bags import Bag
from segvote.pipeline.settings import Settings
from segvote.pipeline.video_describing import describe_video
from segvote.segmentation import SEGMENTERS
from segvote.segmentation.labels import find_neighbours, measure_areas, measure_border
from segvote.types import Segmentation

__all__ = ["Described", "Describer", "make_segments_key", "read_if_whole"]

# Raised when the way segments or features are computed changes: old files are then not used.
SEGMENTS_VERSION = 1
FEATURES_VERSION = 1


@dataclass(frozen=True)
class Described:
    """What is known of one bag after its segments were described; small enough to send between processes."""

    bag: Bag
    segments_key: str = ""
    features_key: str = ""
    height: int = 0
    width: int = 0
    n_segments: int = 0
    problem: str = ""
    n_frames: int = 0  # of a video; 0 for an image
    warning: str = ""  # what of a video was left out
    seconds: dict[str, float] = field(default_factory=dict)


def make_segments_key(bag: Bag, settings: Settings, label_map: str = "") -> str:
    """Name of a bag's segments: the content of its image and all that decides how it is cut."""
    return make_key(
        version=SEGMENTS_VERSION,
        image=bag.digest,
        segmenter=settings.segmenter,
        n_segments=settings.n_segments,
        size=settings.size,
        label_map=label_map,
    )


class Describer:
    """Segments and describes bags; a process pool calls it once per bag.

    Parameters
    ----------
    run
        Where segments and features are kept.
    settings
        How to segment.
    extractor
        Describes segments; already fitted where it needs that.
    state_key
        Name of what the extractor learned from the run's images; empty if nothing.
    label_maps
        Image digest to a user's own label map file, or None: segment.
    """

    def __init__(
        self,
        run: RunFolder,
        settings: Settings,
        extractor: FeatureExtractor,
        state_key: str = "",
        read_label_map: Callable[[Bag, tuple[int, int]], tuple[str, np.ndarray] | None] | None = None,
    ) -> None:
        self.run, self.settings, self.extractor = run, settings, extractor
        self.state_key = state_key
        self.read_label_map = read_label_map

    def __call__(self, bag: Bag) -> Described:
        if bag.problem:
            return Described(bag, problem=bag.problem)
        try:
            if bag.is_video:
                return describe_video(self, bag)
            return self._describe(bag)
        except (UnreadableImageError, BadInputError) as error:
            return Described(bag, problem=str(error))

    def _describe(self, bag: Bag) -> Described:
        seconds: dict[str, float] = {}
        image = _LazyImage(bag.path, seconds)
        segments_key, segments = self._get_segments(bag, image, seconds)
        features_key = make_key(
            version=FEATURES_VERSION, segments=segments_key, features=self.extractor.get_key(), state=self.state_key
        )
        self._get_features(features_key, segments["labels"], image, seconds)
        height, width = (int(side) for side in segments["shape"])
        return Described(
            bag, segments_key, features_key, height, width, len(segments["areas"]), seconds=_round(seconds)
        )

    def _get_segments(
        self, bag: Bag, image: _LazyImage, seconds: dict[str, float]
    ) -> tuple[str, dict[str, np.ndarray]]:
        own = (
            None
            if self.read_label_map is None
            else self.read_label_map(bag, image.read_working(self.settings.size).shape[:2])
        )
        key = make_segments_key(bag, self.settings, "" if own is None else own[0])
        path = self.run.segments_path(key)
        found = read_if_whole(path)
        if found is None:
            working = image.read_working(self.settings.size)
            started = time.perf_counter()
            segmentation = self._segment(working) if own is None else _build_own(working, own[1])
            seconds["segment"] = time.perf_counter() - started
            found = _measure_segments(segmentation, image.shape)
            write_arrays(path, compress=True, **found)
        return key, found

    def _segment(self, working: np.ndarray) -> Segmentation:
        return SEGMENTERS[self.settings.segmenter](working, n_segments=self.settings.n_segments)

    def _get_features(self, key: str, labels: np.ndarray, image: _LazyImage, seconds: dict[str, float]) -> None:
        path = self.run.features_path(key)
        if read_if_whole(path) is not None:
            return
        picture = image.read()
        started = time.perf_counter()
        features = self.extractor.describe(picture, labels.astype(np.int32))
        seconds["describe"] = time.perf_counter() - started
        write_arrays(path, features=features.astype(np.float32))


class _LazyImage:
    """Reads the picture when it is first needed, and only once."""

    def __init__(self, path: Path, seconds: dict[str, float]) -> None:
        self._path, self._seconds = path, seconds
        self._image: np.ndarray | None = None

    def read(self) -> np.ndarray:
        if self._image is None:
            started = time.perf_counter()
            self._image = read_image(self._path)
            self._seconds["read"] = time.perf_counter() - started
        return self._image

    def read_working(self, size: int) -> np.ndarray:
        return resize_image(self.read(), size)

    @property
    def shape(self) -> tuple[int, int]:
        return self.read().shape[:2]  # type: ignore[return-value]


def read_if_whole(path: Path) -> dict[str, np.ndarray] | None:
    """Arrays of a file, or None where it is absent or damaged: then it is made again."""
    try:
        return read_arrays(path)
    except (FileNotFoundError, DamagedFileError):
        return None


def _build_own(working: np.ndarray, labels: np.ndarray) -> Segmentation:
    from segvote.segmentation.hierarchy import build_segmentation

    return build_segmentation(working, labels)


def _measure_segments(segmentation: Segmentation, shape: tuple[int, int]) -> dict[str, np.ndarray]:
    """Everything later steps ask of the geometry, so that no label map has to be measured twice."""
    labels = segmentation.labels
    shared = find_neighbours(labels).tocoo()
    once = shared.row < shared.col
    return {
        "labels": labels.astype(np.uint16 if segmentation.n_segments <= 1 << 16 else np.uint32),
        "parents": segmentation.parents.astype(np.int32),
        "altitudes": segmentation.altitudes.astype(np.float32),
        "areas": measure_areas(labels).astype(np.int64),
        "border": measure_border(labels).astype(np.float32),
        "edges": np.column_stack([shared.row[once], shared.col[once]]).astype(np.int32),
        "shape": np.array(shape, dtype=np.int64),
    }


def _round(seconds: dict[str, float]) -> dict[str, Any]:
    return {name: round(value, 4) for name, value in seconds.items()}
