"""segvote: two folders to masks.

Segments of images that show an object and of images that do not vote for and against each other; the segments that win
are the object. The names below are imported when first used, so that ``import segvote`` stays quick.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "EXPORTS": "segvote.io",
    "FEATURES": "segvote.features",
    "Geometry": "segvote.method.table",
    "ImageMask": "segvote.steps.in_memory",
    "OpenedRun": "segvote._api.opened",
    "Run": "segvote.run.run",
    "SEGMENTERS": "segvote.segmentation",
    "SegmentAnnotator": "segvote.method.estimator",
    "Settings": "segvote.run.settings",
    "VOTERS": "segvote.voters",
    "annotate": "segvote._api",
    "annotate_classes": "segvote._api",
    "annotate_images": "segvote.steps.in_memory",
    "compare": "segvote._api.comparing",
    "evaluate": "segvote.evaluation.evaluate",
    "export": "segvote.steps.export",
    "load_run": "segvote._api.opened",
    "open_review": "segvote._api.opened",
    "predict": "segvote.steps.predict",
    "set_extent": "segvote._api",
    "update": "segvote._api",
}

__all__ = sorted([*_PUBLIC, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'segvote' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
