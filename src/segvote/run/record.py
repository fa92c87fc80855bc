"""Contents of `run.json`: settings, inputs, versions, and the name of the result."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from segvote import __version__
from segvote.masks import Drawing
from segvote.run.corrections import Corrections
from segvote.run.run_folder import make_key
from segvote.run.segmented_image import SegmentedImage
from segvote.run.settings import Settings

# Raised when the meaning of an array of a model changes; a reader refuses what it does not know.
MODEL_VERSION = 6
# Raised when the same corrections lead to other masks.
CORRECTIONS_VERSION = 6
# Packages whose version may change a mask.
DECIDING_PACKAGES = (
    "numpy", "scipy", "scikit-learn", "scikit-image", "higra", "faiss-cpu", "onnxruntime", "opencv-python-headless",
    "Pillow",
)  # fmt: skip


def make_result_key(settings: Settings, segmented: Sequence[SegmentedImage], corrections: Corrections) -> str:
    """Name of a run's result: all that decides it. Corrections that were all undone leave no trace."""
    bags = [(one.bag.name, one.features_key) for one in segmented]
    corrected = {"corrections": corrections.digest, "corrected": CORRECTIONS_VERSION} if corrections.digest else {}
    return make_key(version=__version__, model=MODEL_VERSION, settings=settings.to_dict(), bags=bags, **corrected)


def describe_search(recall: float | None) -> dict[str, Any]:
    """How a voter searched neighbours, and which part of them it found; empty if it searched none."""
    if recall is None:
        return {}
    return {"neighbours": "exact" if recall == 1 else "approximate", "recall": round(float(recall), 4)}


def make_record(
    inputs: dict[str, str],
    settings: Settings,
    key: str,
    complete: bool,
    bags: Sequence = (),
    problems: Sequence = (),
    search: dict[str, Any] | None = None,
    confidence: dict[str, Any] | None = None,
    drawing: Drawing | None = None,
    extent: int = 0,
) -> dict[str, Any]:
    """The content of ``run.json``."""
    return {
        "segvote": __version__,
        "versions": list_versions(),
        "inputs": inputs,
        "settings": settings.to_dict(),
        "key": key,
        "complete": complete,
        "bags": list(bags),
        "problems": list(problems),
        **({"search": search} if search else {}),
        **({"confidence": confidence} if confidence else {}),
        **({"drawing": {"way": drawing.way, "reason": drawing.reason}} if drawing else {}),
        **({"extent": extent} if extent else {}),
    }


def list_versions() -> dict[str, str]:
    """Versions of everything that may change a mask."""
    return {"python": platform.python_version(), **{package: _find_version(package) for package in DECIDING_PACKAGES}}


@cache  # a process keeps what it has loaded, and to read it takes as long as to write a mask
def _find_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
