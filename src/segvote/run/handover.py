"""Annotations as objects of other Python packages, for those who have them installed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from segvote.errors import MissingPartError
from segvote.io.exports.base import measure_box
from segvote.types import Annotation, Part


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
