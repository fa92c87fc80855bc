"""From one image to its segments and features: in memory, and for a bag of a run, whose folder stores them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from segvote.errors import BadInputError, UnreadableImageError
from segvote.features import FeatureExtractor
from segvote.features.base import check_outputs
from segvote.inputs.bags import Bag, Source, list_source
from segvote.inputs.label_maps import find_label_map, segment_by_map
from segvote.io.arrays import read_if_whole, write_arrays
from segvote.io.images import SEEN, hash_file, read_enough, resize_image
from segvote.masks import Superpixels
from segvote.numerics.pixels import convert_to_lab
from segvote.pipeline.superpixels import N_SUPERPIXELS, SUPERPIXEL_SEGMENTER, measure_superpixels, store_superpixels
from segvote.pipeline.video.extract import VIDEO_VERSION, extract_video, is_whole
from segvote.run.features import write_features
from segvote.run.run_folder import RunFolder, make_key
from segvote.segmentation import SEGMENTERS
from segvote.segmentation.hierarchy import crop_segmentation
from segvote.segmentation.labels import measure_segments
from segvote.settings import Settings
from segvote.types import WITH, Segmentation

# Raised when the way segments or features are computed changes: old files are then not used.
SEGMENTS_VERSION = 4
FEATURES_VERSION = 3

# From a size to an image (h, w, 3) uint8 that can be scaled down to that longest side, and the shape of the whole.
Reader = Callable[[int], tuple[np.ndarray, tuple[int, int]]]


def make_segments_key(bag: Bag, settings: Settings, label_map: str = "") -> str:
    """Key of a bag's segments, by the content of its image or video and the settings of the segmentation."""
    sampling = {"video": VIDEO_VERSION, "every": settings.every, "fps": settings.fps} if bag.is_video else {}
    return make_key(
        version=SEGMENTS_VERSION,
        image=bag.digest,
        segmenter=settings.segmenter,
        n_segments=settings.n_segments,
        size=settings.size,
        label_map=label_map,
        **sampling,
    )


def segment_image(
    settings: Settings,
    image: np.ndarray,
    shape: tuple[int, int],
    with_superpixels: bool = False,
    map_path: Path | None = None,
) -> tuple[dict[str, np.ndarray], Superpixels | None]:
    """Segments of an image in memory with their geometry, and superpixels where they come from the same tree.

    The image (h, w, 3) uint8 may be a smaller version of one of another `shape`; `map_path` is a label map of the
    user's, which replaces the segmenter. Nothing is stored.
    """
    working = resize_image(image, settings.size)
    segmentation, fine = _segment(settings, working, with_superpixels, map_path)
    lab = convert_to_lab(working)
    superpixels = None if fine is None else measure_superpixels(lab, segmentation.labels, fine)
    return measure_segments(segmentation, lab, shape), superpixels


def _segment(
    settings: Settings, working: np.ndarray, with_superpixels: bool, map_path: Path | None
) -> tuple[Segmentation, np.ndarray | None]:
    """Segments, and (h, w) labels of superpixels where they come from the same tree."""
    if map_path is not None:
        return segment_by_map(map_path, working, settings.n_segments), None
    segment = SEGMENTERS[settings.segmenter]
    if (
        settings.segmenter != SUPERPIXEL_SEGMENTER
        or not with_superpixels
        or settings.draw == "segments"
        or settings.n_segments > N_SUPERPIXELS
    ):
        return segment(working, n_segments=settings.n_segments), None
    fine = segment(working, n_segments=N_SUPERPIXELS)
    return crop_segmentation(fine.labels, fine.parents, fine.altitudes, settings.n_segments), fine.labels


def extract_image(
    settings: Settings, extractor: FeatureExtractor, image: np.ndarray, labels: np.ndarray, name: str = "an image"
) -> np.ndarray:
    """(n_segments, d) features of an image (h, w, 3) uint8 in memory with its label map; `name` is for errors."""
    return check_outputs(extractor.extract(image, labels.astype(np.int32)), name, settings.features)


def read_lazily(bag: Bag) -> Reader:
    """A reader that opens the image of a bag when it is first needed, in most cases once."""

    known: dict[int, tuple[np.ndarray, tuple[int, int]]] = {}

    def read(size: int) -> tuple[np.ndarray, tuple[int, int]]:
        size = max(size, SEEN)
        if size not in known:
            known[size] = read_enough(bag.path, 2 * size)
            # Segments and features are cached under the hash that was computed when the bag was listed.
            if hash_file(bag.path) != bag.digest:
                raise UnreadableImageError(f"{bag.path}: changed while it was read; repeat the command")
        return known[size]

    return read


def extract_source(settings: Settings, extractor: BagExtractor | None, source: Source) -> list[Bag]:
    """The bags of a file with their segments and features, where an extractor is given; the file is read once."""
    bags = list_source(settings, source)
    return bags if extractor is None else [extractor(bag) for bag in bags]


@dataclass(frozen=True, eq=False)
class BagExtractor:
    """Segments bags and extracts their features into a run folder; a process pool calls it once per bag."""

    run: RunFolder
    settings: Settings
    extractor: FeatureExtractor  # fitted
    state_key: str = ""  # of the codebook that it was fitted to
    label_maps: Path | None = None  # folder of the user's own segments, which replace the segmenter

    def __call__(self, bag: Bag) -> Bag:
        if bag.problem:
            return bag
        try:
            if bag.is_video:
                return extract_video(self, bag, make_segments_key(bag, self.settings))
            read = read_lazily(bag)
            map_path = None if self.label_maps is None else find_label_map(self.label_maps, bag)
            key = make_segments_key(bag, self.settings, hash_file(map_path) if map_path else "")
            segments = self.segment(key, read, bag.bag_label == WITH, map_path)
            self.extract(self.name_features(key), segments["labels"], read, bag.name)
            return self.sum_up(bag, key, segments)
        except (UnreadableImageError, BadInputError) as error:
            return replace(bag, problem=str(error))

    def find(self, bag: Bag) -> Bag | None:
        """The bag, where its segments and features are on disk; None otherwise, and with label maps."""
        if bag.problem or self.label_maps is not None:
            return None
        key = make_segments_key(bag, self.settings)
        segments = read_if_whole(self.run.segments_path(key))
        if segments is None or read_if_whole(self.run.features_path(self.name_features(key))) is None:
            return None
        if bag.is_video and not is_whole(self.run, key, segments):
            return None
        return self.sum_up(bag, key, segments)

    def name_features(self, segments_key: str) -> str:
        """Key of the features of segments, by those, the extractor and its codebook."""
        return make_key(
            version=FEATURES_VERSION, segments=segments_key, features=self.extractor.get_key(), state=self.state_key
        )

    def sum_up(self, bag: Bag, key: str, segments: dict[str, np.ndarray]) -> Bag:
        """The bag with the keys and numbers of its segments."""
        height, width = (int(side) for side in segments["shape"])
        return replace(
            bag,
            warning=str(segments.get("problem", "")) or bag.warning,
            segments_key=key,
            features_key=self.name_features(key),
            height=height,
            width=width,
            n_segments=len(segments["areas"]),
            n_frames=len(segments.get("frame_indices", ())),
        )

    def segment(
        self, key: str, read: Reader, with_superpixels: bool = False, map_path: Path | None = None
    ) -> dict[str, np.ndarray]:
        """Segments of an image under a name, computed where the run folder does not hold them."""
        path = self.run.segments_path(key)
        segments = read_if_whole(path)
        if segments is not None:
            return segments
        image, shape = read(self.settings.size)
        segments, superpixels = segment_image(self.settings, image, shape, with_superpixels, map_path)
        # Superpixels are written first, so that an interrupted run recomputes both.
        if superpixels is not None:
            store_superpixels(self.run, key, superpixels)
        write_arrays(path, compress=True, **segments)
        return segments

    def extract(self, key: str, labels: np.ndarray, read: Reader, name: str) -> None:
        """Write the features of an image's segments under a key, where the run folder does not hold them."""
        path = self.run.features_path(key)
        if read_if_whole(path) is None:
            image, _ = read(int(self.settings.feature_options.get("size") or 0))
            write_features(path, extract_image(self.settings, self.extractor, image, labels, name))
