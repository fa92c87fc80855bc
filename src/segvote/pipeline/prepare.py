"""Before the vote, for all bags: settings checked, features fitted where they learn, segments, features."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from segvote.errors import BadInputError, DamagedFileError, UnreadableImageError
from segvote.features import FeatureExtractor, make_features
from segvote.features.networks.sam import Sam
from segvote.inputs.bags import Bag, Problem, Source, list_bags
from segvote.io.arrays import read_arrays, write_arrays
from segvote.io.images import read_image
from segvote.io.video.reading import VideoStream
from segvote.masks import OBJECTS, WAYS
from segvote.method.threshold import DECISIONS
from segvote.pipeline.adapt import adapt_features, check_adaptable
from segvote.pipeline.extract import BagExtractor, extract_source, make_segments_key
from segvote.pipeline.video.extract import report_key_frames
from segvote.pipeline.workers import Resources, run_on_all
from segvote.progress import Progress, count_along
from segvote.registry import check_known
from segvote.run.run_folder import RunFolder, make_key
from segvote.segmentation import SEGMENTERS
from segvote.settings import Settings
from segvote.types import WITH, WITHOUT
from segvote.voters import METHOD, VOTERS
from segvote.voters.options import check_options

EXTRACT = "segment and extract features"
# Every n-th frame of a video is used to learn words.
LEARNED_EVERY = 10


def check_names(settings: Settings) -> FeatureExtractor:
    """Refuse unknown names, and settings that exclude each other; returns the extractor of features."""
    check_known(settings.voter, (METHOD, *VOTERS), "voter")
    if settings.voter_options:  # without, there is nothing to refuse, and scikit-learn takes a second to import
        check_options(settings.voter, settings.voter_options)
        if settings.voter != METHOD:
            VOTERS[settings.voter](**settings.voter_options)
    if settings.unsure and settings.voter != METHOD:
        raise BadInputError(f"expected --voter {METHOD} with --unsure, got {settings.voter}; leave one of them out")
    if settings.finish and settings.voter == METHOD:
        raise BadInputError(f"expected a voter with --finish, got {METHOD}, which has these steps already")
    if settings.second_voting and settings.voter == METHOD:
        raise BadInputError(f"expected a voter with --second-voting, got {METHOD}, which smooths in its own way")
    DECISIONS.check(settings.decision)
    check_known(settings.draw, WAYS, "way of drawing")
    check_known(settings.objects, OBJECTS, "kind of objects")
    if settings.refine:
        Sam(settings.refine)
    SEGMENTERS.check(settings.segmenter)
    extractor = make_features(settings.features, **settings.feature_options)
    if settings.adapt:
        check_adaptable(settings, extractor)
    return extractor


def extract_bags(
    run: RunFolder,
    bags: Sequence[Bag],
    settings: Settings,
    extractor: FeatureExtractor,
    resources: Resources,
    label_maps: Path | None = None,
    is_fitted: bool = False,
) -> list[Bag]:
    """Segments and features of all bags, in their order; those in the run folder are used again.

    An extractor that learns from the images is fitted to them first, unless `is_fitted`; `label_maps` is a folder of
    the user's own segments.
    """
    if not is_fitted:
        learn = adapt_features if settings.adapt else learn_words
        learn(run, bags, settings, extractor, resources.progress)
    bag_extractor = BagExtractor(run, settings, extractor, name_state(extractor), label_maps)
    find = bag_extractor.find if resources.tasks is None else partial(_find_extracted, bag_extractor)
    known = {bag.name: found for bag in bags if (found := find(bag))}
    missing = [bag for bag in bags if bag.name not in known]
    if not missing:
        return list(known.values())
    videos = [make_segments_key(bag, settings) for bag in missing if bag.is_video and not bag.problem]
    with run.time_step("extract"), report_key_frames(bag_extractor, videos, resources.progress):
        for one in run_on_all(bag_extractor, missing, resources, EXTRACT):
            known[one.name] = one
    return [known[bag.name] for bag in bags]


def list_and_extract(
    run: RunFolder,
    with_folder: Path,
    without_folder: Path,
    settings: Settings,
    extractor: FeatureExtractor,
    resources: Resources,
    label_maps: Path | None = None,
) -> list[Bag]:
    """As `list_bags` of folders in a store, by tasks that extract segments and features while they have the image.

    Features that learn from all images are extracted afterwards.
    """
    bag_extractor = (
        None if extractor.needs_fit or settings.adapt else BagExtractor(run, settings, extractor, "", label_maps)
    )
    task = partial(extract_source, settings, bag_extractor)

    def extract(sources: Sequence[Source]) -> Iterator[list[Bag]]:
        return run_on_all(task, sources, resources, EXTRACT)

    with run.time_step("extract"):
        return list_bags(with_folder, without_folder, settings, extract)


def list_extracted(run: RunFolder, bags: Sequence[Bag]) -> list[Path]:
    """The files of the segments and features of bags."""
    paths = [(run.segments_path(bag.segments_key), run.features_path(bag.features_key)) for bag in bags]
    return [path for pair in paths for path in pair]


def _find_extracted(extractor: BagExtractor, bag: Bag) -> Bag | None:
    """A bag of a store that was extracted by the same settings, or that cannot be read."""
    is_done = bag.features_key and bag.features_key == extractor.name_features(bag.segments_key)
    return bag if bag.problem or is_done else None


def learn_words(
    run: RunFolder, bags: Sequence[Bag], settings: Settings, extractor: FeatureExtractor, progress: Progress
) -> None:
    """Fit an extractor with a codebook to the images; one that is in the run folder is used again."""
    if not extractor.needs_fit:
        return
    digests = [bag.digest for bag in bags if not bag.problem]
    key = make_key(features=extractor.get_key(), images=digests, seed=settings.seed)
    path = run.features_path(f"words-{key}")
    try:
        extractor.set_state(read_arrays(path))
    except DamagedFileError:
        images = count_along(_read_all(bags), "learn words", len(bags), progress)
        extractor.fit(images, np.random.default_rng(settings.seed))
        write_arrays(path, False, **extractor.get_state())


def name_state(extractor: FeatureExtractor) -> str:
    """Key of what an extractor learned; empty where that is nothing."""
    state = extractor.get_state()
    digests = {name: hashlib.sha256(array.tobytes()).hexdigest() for name, array in state.items()}
    return make_key(**digests) if digests else ""


def _read_all(bags: Sequence[Bag]) -> Iterator[np.ndarray]:
    for bag in bags:
        try:
            if bag.is_video:
                yield from (frame.image for frame in VideoStream(bag.path, LEARNED_EVERY))
            elif not bag.problem:
                yield read_image(bag.path)
        except UnreadableImageError:
            continue  # reported when it is segmented


def keep_readable(segmented: Sequence[Bag], strict: bool) -> list[Bag]:
    """Images that could be read, at least one of each kind; with `strict` an unreadable image is an error."""
    check_strict(segmented, strict)
    good = keep_good(segmented)
    for bag_label in (WITH, WITHOUT):
        if not any(one.bag_label == bag_label for one in good):
            bad = (one.problem for one in segmented if one.problem and one.bag_label == bag_label)
            reason = next(bad, "there is none")
            raise BadInputError(f"no *{bag_label}* image is left that can be read; the first reason: {reason}")
    return good


def keep_good(segmented: Sequence[Bag]) -> list[Bag]:
    """Images that could be read."""
    return [one for one in segmented if not one.problem]


def check_strict(segmented: Sequence[Bag], strict: bool) -> None:
    """Raise for the first image that could not be read, if `strict`."""
    bad = [one for one in segmented if one.problem]
    if bad and strict:
        raise UnreadableImageError(
            f"{len(bad)} of {len(segmented)} images cannot be read, and --strict is on: {bad[0].problem}"
        )


def list_problems(segmented: Sequence[Bag]) -> list[Problem]:
    """Name and reason of each bag that was left out, wholly or in part."""
    return [Problem(one.name, one.problem or one.warning) for one in segmented if one.problem or one.warning]
