"""A run for other Python tools: a dataset of the package supervision, HTML for a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from segvote.errors import MissingPartError, SegvoteError
from segvote.io.exports.base import measure_box
from segvote.io.images import resize_image, resize_labels
from segvote.io.overlays import blend_mask, encode_jpeg, format_data_uri
from segvote.types import WITH, Annotation, Part

if TYPE_CHECKING:
    from segvote.run.run import Run


def make_supervision_dataset(annotations: Iterable[Annotation], labels: Sequence[str]) -> Any:
    """A ``supervision.DetectionDataset``: pictures read when asked for, masks, boxes, scores and class numbers.

    Labels are the names of the classes in the order of their numbers, from 0. Frames of film files have no picture of
    their own and are left out.
    """
    try:
        import supervision
    except ImportError as error:
        raise MissingPartError(f"supervision cannot be imported ({error}); pip install supervision") from error
    names = list(labels)
    found = {
        str(one.image_path): _make_detections(supervision, one.parts, names)
        for one in annotations
        if one.image_path is not None
    }
    return supervision.DetectionDataset(classes=names, images=list(found), annotations=found)


def _make_detections(supervision: Any, parts: Sequence[Part], names: list[str]) -> Any:
    if not parts:
        return supervision.Detections.empty()
    boxes = np.array([measure_box(part.mask) for part in parts], dtype=np.float64)
    boxes[:, 2:] += boxes[:, :2] - 1  # corners, both of them pixels of the object, as supervision measures masks
    return supervision.Detections(
        xyxy=boxes,
        mask=np.stack([part.mask for part in parts]),
        confidence=np.array([part.score for part in parts], dtype=np.float64),
        class_id=np.array([names.index(part.label) for part in parts]),
    )


N_PICTURES = 8
PICTURE_SIZE = 160


def format_run(run: Run) -> str:
    """HTML of a finished run: its counts and the masks with the least uncertainty.

    A picture that is not where it was is left out.
    """
    chosen = [index for index, bag in enumerate(run.bags) if bag.bag_label == WITH]
    surest = sorted(chosen, key=lambda index: run.bags[index].uncertainty)[:N_PICTURES]
    pictures = "".join(_format_picture(run, index) for index in surest)
    counts = f"{len(chosen)} with, {len(run) - len(chosen)} without, voter {run.settings.voter}"
    return f"<div><p><b>{escape(str(run.folder.path))}</b>: {escape(counts)}</p>{pictures}</div>"


def _format_picture(run: Run, index: int) -> str:
    try:
        picture = resize_image(run.read_image(index), PICTURE_SIZE)
        mask = resize_labels(run.read_mask(index), picture.shape[:2])  # type: ignore[arg-type]
    except (SegvoteError, OSError):
        return ""
    source, name = format_data_uri(encode_jpeg(blend_mask(picture, mask))), escape(run.bags[index].name, quote=True)
    return f'<img src="{source}" alt="{name}" title="{name}" style="margin: 2px">'
