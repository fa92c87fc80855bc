"""One index mask per image from the masks of several classes: where they overlap, the higher weight wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import numpy as np
from PIL import Image

from segvote.io.exports.index_pictures import make_voc_palette
from segvote.io.files import write_bytes
from segvote.io.images import resize_labels
from segvote.io.masks import encode_png
from segvote.run.classes import list_joined
from segvote.run.corrections import read_corrections
from segvote.run.output_names import name_frames
from segvote.run.record import ClassRecord
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.run.strokes import Canvas
from segvote.types import Annotation


def join_masks(masks: np.ndarray, sureness: np.ndarray, numbers: Sequence[int]) -> np.ndarray:
    """(h, w) uint8 number of the class at each pixel, 0 for none, from masks (n_classes, h, w) bool.

    Where masks overlap, the class of the highest sureness, (n_classes, h, w) or (n_classes, 1, 1), wins; of equals the
    first.
    """
    highest = np.where(masks, sureness, -np.inf).argmax(axis=0)
    return np.where(masks.any(axis=0), np.array(numbers)[highest], 0).astype(np.uint8)


def write_index(folder: RunFolder, runs: Mapping[str, Run], index: int, record: ClassRecord) -> list[Annotation]:
    """Write the index mask of image `index`, or of a video and its frames; returns its annotations, with overlaps.

    `runs` are those of the classes, in the order of their numbers.
    """
    _write(folder.mask_path(record.stem), _join_image(runs, index, record))
    annotations = list(list_joined(runs, index, record.name))
    if record.n_frames:
        frames = name_frames([PurePosixPath(annotation.name).name for annotation in annotations])
        for frame, annotation in zip(frames, annotations, strict=True):
            _write(folder.mask_path(f"{record.stem}/{frame}"), _join_parts(list(runs), annotation))
    return annotations


def _join_image(runs: Mapping[str, Run], index: int, record: ClassRecord) -> np.ndarray:
    """Segment by segment the class with the higher weight; a class whose pixels the user painted wins them."""
    found = [(number, run) for number, run in enumerate(runs.values(), 1) if run.bags[index].has_mask]
    size = (record.height, record.width)
    if not found:
        return np.zeros(size, np.uint8)
    masks = np.stack([run.read_mask(index) for _, run in found])
    labels = resize_labels(found[0][1].read_segments(index)["labels"], size)
    weights = np.stack([_weigh_pixels(run, index, labels) for _, run in found])
    return join_masks(masks, weights, [number for number, _ in found])


def _join_parts(names: list[str], annotation: Annotation) -> np.ndarray:
    """In a frame of a video the class with the higher score."""
    if not annotation.parts:
        return np.zeros((annotation.height, annotation.width), np.uint8)
    masks = np.stack([part.mask for part in annotation.parts])
    scores = np.array([part.score for part in annotation.parts])[:, None, None]
    return join_masks(masks, scores, [names.index(part.label) + 1 for part in annotation.parts])


def _write(path: Path, indices: np.ndarray) -> None:
    picture = Image.fromarray(indices)
    picture.putpalette(make_voc_palette().ravel().tolist())
    write_bytes(path, encode_png(picture), durable=False)


def _weigh_pixels(run: Run, index: int, labels: np.ndarray) -> np.ndarray:
    """(h, w) weights of a class at the pixels of an image; infinite where the user painted."""
    weights = run.votes["weights"][run.get_slice(index)][labels]
    strokes = read_corrections(run.folder).strokes.get(run.bags[index].digest, [])
    painted = Canvas(labels.shape, strokes).exact
    return np.where(painted, np.inf, weights)
