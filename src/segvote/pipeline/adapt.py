"""Features adapted to the folders of a run: fine-tuned once on its bag labels, and kept in its ``model`` folder.

From then on the weights are read from the file, without torch: a repeated or updated run, a review and a prediction use
the same network, for whatever images there are then.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from segvote.errors import BadInputError, DamagedFileError, UnreadableImageError
from segvote.features import FEATURES, FeatureExtractor, make_features
from segvote.features.networks.adapt import adapt_network, import_torch
from segvote.features.networks.adaptable import AdaptableFeatures
from segvote.inputs.bags import Bag
from segvote.io.arrays import read_arrays, read_if_whole, write_arrays
from segvote.io.images import read_enough
from segvote.io.video.reading import VideoStream
from segvote.progress import Progress, count_along
from segvote.run.run_folder import RunFolder, make_key
from segvote.settings import Settings
from segvote.types import WITH, WITHOUT

ADAPT_VERSION = 1  # raised when other weights result
LARGEST_SIDE = 320  # of the images, in pixels; 224 for a network that runs at this size
# Images of each folder, evenly spread over the sorted names, so that an hour of video takes minutes, too.
N_IMAGES = 200
EVERY = 10  # n-th frame of a video


def check_adaptable(settings: Settings, extractor: FeatureExtractor) -> None:
    """Refuse features that have no network whose layers are known."""
    if not isinstance(extractor, AdaptableFeatures):
        known = [name for name in FEATURES if issubclass(FEATURES[name], AdaptableFeatures)]
        raise BadInputError(f"expected --adapt with the features {', '.join(known)}, got {settings.features}")


def adapt_features(
    run: RunFolder, bags: Sequence[Bag], settings: Settings, extractor: FeatureExtractor, progress: Progress
) -> None:
    """Give an extractor the weights in the run folder; where there are none, they are trained on the bag labels."""
    check_adaptable(settings, extractor)
    network = _make_network(settings)
    key = make_key(version=ADAPT_VERSION, features=network.get_key(), seed=settings.seed)
    path = run.model_path / f"adapted-{key}.npz"
    try:
        weights = read_arrays(path)
    except DamagedFileError:
        import_torch()  # a missing package is an error before any work
        with run.time_step("adapt"):
            weights = _train(run, bags, settings.seed, network, progress)
        write_arrays(path, False, **weights)
        _name_unfinished(run).unlink(missing_ok=True)
    extractor.set_state(weights)


def _make_network(settings: Settings) -> AdaptableFeatures:
    """The same network at the size at which it is trained, whatever the detail."""
    size = min(make_features(settings.features).size, LARGEST_SIDE)  # type: ignore[attr-defined]
    others = {name: value for name, value in settings.feature_options.items() if name not in ("size", "device")}
    return make_features(settings.features, **others, size=size)  # type: ignore[return-value]


def _train(
    run: RunFolder, bags: Sequence[Bag], seed: int, network: AdaptableFeatures, progress: Progress
) -> dict[str, np.ndarray]:
    """The new weights; epochs that were finished are not repeated after an interruption."""
    chosen = choose_bags(bags)
    digests = [(bag.digest, bag.bag_label) for bag in chosen]
    key = make_key(version=ADAPT_VERSION, images=digests, features=network.get_key(), seed=seed)
    path, name = _name_unfinished(run), np.frombuffer(key.encode(), np.uint8)
    known = read_if_whole(path) or {}
    is_same = np.array_equal(known.pop("key", name[:0]), name)
    return adapt_network(
        network.build_network(),
        _read_samples(count_along(chosen, "read images to adapt to", len(chosen), progress), network, len(chosen)),
        seed=seed,
        progress=progress,
        state=known if is_same else None,
        keep=lambda state: write_arrays(path, False, **state, key=name),
    )


def _name_unfinished(run: RunFolder) -> Path:
    return run.model_path / "adapting.npz"


def choose_bags(bags: Sequence[Bag]) -> list[Bag]:
    """At most `N_IMAGES` bags of each folder, evenly spread over those in it."""
    chosen = []
    for bag_label in (WITH, WITHOUT):
        own = [bag for bag in bags if bag.bag_label == bag_label and not bag.problem]
        count = min(len(own), N_IMAGES)
        chosen += [own[place * len(own) // count] for place in range(count)]
    return chosen


def _read_samples(bags: Iterable[Bag], network: AdaptableFeatures, n_bags: int) -> Iterator[tuple[np.ndarray, bool]]:
    """The inputs of the network, and whether they show the object; what cannot be read is left out."""
    for bag in bags:
        with contextlib.suppress(UnreadableImageError):  # reported when it is segmented
            for image in _read_images(bag, max(1, 2 * N_IMAGES // n_bags)):
                yield network.prepare(image), bag.bag_label == WITH


def _read_images(bag: Bag, most: int) -> Iterator[np.ndarray]:
    """An image, or the first frames of a video among every n-th."""
    if bag.is_video:
        yield from (frame.image for frame in itertools.islice(VideoStream(bag.path, EVERY), most))
    else:
        yield read_enough(bag.path)[0]
