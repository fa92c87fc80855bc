"""A video as one bag: its key frames are segmented and their features extracted as for images, then joined.

Of a long video `MOST` key frames vote, so that memory does not grow with its length. Each segment of another key frame
has the score and the user label of the voting segment with the nearest features.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from segvote.features import fit_standardiser
from segvote.inputs.bags import Bag
from segvote.io.arrays import read_arrays, read_if_whole, write_arrays
from segvote.io.overlays import write_jpeg
from segvote.io.video.reading import VideoStream, make_thumbnail, measure_likeness, read_ahead, read_frames
from segvote.numerics import search_neighbours
from segvote.numerics.spread import spread_evenly
from segvote.pipeline.video.tubes import SUPERVOXELS, segment_tubes
from segvote.progress import Progress, watch
from segvote.run.features import read_features, write_features
from segvote.run.run_folder import RunFolder
from segvote.run.videos import get_poster_path, name_key_frame
from segvote.segmentation.hierarchy import join_trees

if TYPE_CHECKING:
    from segvote.pipeline.extract import BagExtractor

VIDEO_VERSION = 5  # raised when key frames are chosen or joined in another way
EVERY = 8  # frames from one key frame to the next, at most
LEAST = 5  # key frames of a video, where it has as many frames
MOST = 20  # key frames of a video that vote
CHANGED = 0.5  # correlation of thumbnails below which a frame differs from the last key frame
POSTER_QUALITY = 95
JOINED = ("areas", "border", "centres", "colours", "lengths")
GEOMETRY = (*JOINED, "edges", "parents", "altitudes", "shape", "tubes")


def extract_video(extractor: BagExtractor, bag: Bag, key: str) -> Bag:
    """Segments, stored under `key`, and features of one video; key frames in the run folder are used again."""
    run, settings = extractor.run, extractor.settings
    frames = read_if_whole(run.segments_path(key))
    is_done = frames is not None and is_whole(run, key, frames)
    if frames is None:
        frames = survey_video(VideoStream(bag.path, settings.every, settings.fps or None, small=True))
        write_arrays(run.segments_path(key), False, **frames)
    if settings.segmenter == SUPERVOXELS:
        segment_tubes(extractor, bag, key, frames)
    joined = {**frames, **_extract_key_frames(extractor, bag, key, frames["key_indices"].tolist())}
    if not is_done:
        poster = int(frames["poster"])
        write_jpeg(get_poster_path(run, key), next(read_frames(bag.path, [poster])).image, POSTER_QUALITY)
        labels = read_arrays(run.segments_path(name_key_frame(key, poster)), ("labels",))["labels"]
        start = joined["starts"][np.searchsorted(frames["key_indices"], poster)]
        joined = {**joined, "labels": (labels + start).astype(np.int32)}
        write_arrays(run.segments_path(key), compress=True, **joined)
    return extractor.sum_up(bag, key, joined)


def is_whole(run: RunFolder, key: str, segments: Mapping[str, np.ndarray]) -> bool:
    """Whether the segments are joined, and the poster and all key frames of a video are in the run folder."""
    paths = [run.segments_path(name_key_frame(key, index)) for index in segments["key_indices"]]
    return "areas" in segments and all(path.is_file() for path in (get_poster_path(run, key), *paths))


def report_key_frames(extractor: BagExtractor, keys: Sequence[str], progress: Progress) -> AbstractContextManager[None]:
    """While videos are extracted, by the keys of their segments, report how many of their key frames are done."""

    def count() -> tuple[int, int]:
        run, done, totals = extractor.run, 0, list[int]()
        for key in keys:
            survey, features = read_if_whole(run.segments_path(key), ("key_indices",)), extractor.name_features(key)
            if survey is not None:
                totals.append(len(survey["key_indices"]))
                parts = run.features_path(name_key_frame(features, 0)).parent.glob("[0-9]*")
                done += totals[-1] if run.features_path(features).is_file() else len([*parts])
        # Videos that are not surveyed yet count as the mean of the others.
        return done, round(sum(totals) * len(keys) / max(len(totals), 1))

    return watch("key frames", count, progress) if keys else nullcontext()


def survey_video(stream: VideoStream) -> dict[str, np.ndarray]:
    """Go through a video once and choose its key frames; a frame leaves 256 bytes in memory.

    Returns the numbers in the source of all frames (*frame_indices*), of the key frames (*key_indices*) and of a key
    frame in the middle that votes, which pages show (*poster*); and the parts that could not be read (*problem*).
    """
    frames = [(frame.index, make_thumbnail(frame.image)) for frame in read_ahead(stream)]
    indices, thumbnails = zip(*frames, strict=True)
    keys = np.array(indices)[choose_key_frames(thumbnails)]
    return {
        "frame_indices": np.array(indices),
        "key_indices": keys,
        "poster": keys[(voters := choose_voters(len(keys)))[len(voters) // 2]],
        "problem": np.array(stream.problem),
    }


def choose_key_frames(thumbnails: Sequence[np.ndarray]) -> np.ndarray:
    """Ascending places of key frames: evenly spaced, first and last included, and each unlike the key frame before."""
    n_frames = len(thumbnails)
    n_even = min(n_frames, max(LEAST, 1 + int(np.ceil((n_frames - 1) / EVERY))))
    even = set(spread_evenly(n_frames, n_even).tolist())
    keys = [0]
    for place in range(1, n_frames):
        if place in even or measure_likeness(thumbnails[place], thumbnails[keys[-1]]) < CHANGED:
            keys.append(place)
    return np.array(keys)


def choose_voters(n_keys: int) -> list[int]:
    """Numbers of the key frames that vote: all, or `MOST` of them, evenly spread."""
    return spread_evenly(n_keys, MOST).tolist()


def _extract_key_frames(extractor: BagExtractor, bag: Bag, key: str, indices: Sequence[int]) -> dict[str, np.ndarray]:
    """Segments and features of each key frame as of an image; returns the segments, see `join_key_frames`."""
    run, features_key = extractor.run, extractor.name_features(key)
    for frame in read_ahead(read_frames(bag.path, indices)):
        read, name = partial(_get_frame, frame.image), f"{bag.name}, frame {frame.index}"
        segments = extractor.segment(name_key_frame(key, frame.index), read)
        extractor.extract(name_key_frame(features_key, frame.index), segments["labels"], read, name)
    paths = [run.features_path(name_key_frame(features_key, index)) for index in indices]
    if read_if_whole(run.features_path(features_key)) is None:
        write_features(run.features_path(features_key), *_join_features(extractor, paths))
    shutil.rmtree(paths[0].parent, ignore_errors=True)
    return join_key_frames([run.segments_path(name_key_frame(key, index)) for index in indices])


def _get_frame(image: np.ndarray, size: int) -> tuple[np.ndarray, tuple[int, int]]:
    """A `Reader` of a frame in memory, which gives it at its own size."""
    return image, (image.shape[0], image.shape[1])


def _join_features(extractor: BagExtractor, paths: Sequence[Path]) -> tuple[np.ndarray, np.ndarray]:
    """(n, d) features of key frames that vote; (m,) nearest of these of each segment of the others."""
    voters, matches = choose_voters(len(paths)), [np.zeros(0, np.int32)]
    features = np.concatenate([read_features(paths[number]) for number in voters])
    scale = fit_standardiser([features], extractor.extractor.blocks, extractor.extractor.standardise)
    scaled = scale.apply(features)
    for number in sorted({*range(len(paths))} - {*voters}):
        nearest = search_neighbours(scale.apply(read_features(paths[number])), scaled, 1)
        matches.append(nearest.indices[:, 0].astype(np.int32))
    return features, np.concatenate(matches)


def join_key_frames(paths: Sequence[Path]) -> dict[str, np.ndarray]:
    """Segments of the key frames that vote one after the other, numbered over all of them.

    Files of all key frames are as those of images. The result has the same arrays without label maps, the number of the
    key frame of each segment as `frames`, and the number of the first segment of each key frame as `starts`; segments
    of key frames that do not vote are numbered behind those that do.
    """
    counts, voters = [len(read_arrays(path, ("areas",))["areas"]) for path in paths], choose_voters(len(paths))
    parts, starts = [read_arrays(paths[number], GEOMETRY) for number in voters], np.empty(len(paths), np.int64)
    order = [*voters, *sorted({*range(len(paths))} - {*voters})]
    starts[order] = np.cumsum([0, *(counts[number] for number in order[:-1])])
    parents, altitudes = join_trees([(part["parents"], part["altitudes"]) for part in parts])
    joined = (*JOINED, "tubes") if "tubes" in parts[0] else JOINED
    return {
        **{name: np.concatenate([part[name] for part in parts]) for name in joined},
        "edges": np.concatenate([part["edges"] + start for part, start in zip(parts, starts[voters], strict=True)]),
        "parents": parents,
        "altitudes": altitudes,
        "frames": np.repeat(np.array(voters, np.int32), [counts[number] for number in voters]),
        "starts": starts,
        "shape": parts[0]["shape"],
    }
