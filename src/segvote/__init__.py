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
    "ImageMask": "segvote.pipeline.in_memory",
    "OpenedRun": "segvote.opened_run",
    "Run": "segvote.run.run",
    "SEGMENTERS": "segvote.segmentation",
    "SegmentAnnotator": "segvote.method.estimator",
    "Settings": "segvote.settings",
    "VOTERS": "segvote.voters",
    "annotate": "segvote.api",
    "annotate_classes": "segvote.api",
    "annotate_images": "segvote.api",
    "benchmark": "segvote.api",
    "benchmark_coseg": "segvote.api",
    "choose": "segvote.api",
    "compare": "segvote.api",
    "doctor": "segvote.api",
    "evaluate": "segvote.api",
    "explain": "segvote.api",
    "export": "segvote.api",
    "import_corrections": "segvote.api",
    "load_run": "segvote.api",
    "measure": "segvote.api",
    "open_review": "segvote.api",
    "predict": "segvote.api",
    "set_extent": "segvote.api",
    "update": "segvote.api",
}

__all__ = sorted([*_PUBLIC, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'segvote' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
