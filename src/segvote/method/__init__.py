"""The method: segments of images with and without an object to which of them are the object. Arrays in, arrays out."""

from typing import TYPE_CHECKING, Any

from segvote.method.decide import DECISIONS

if TYPE_CHECKING:
    from segvote.method.annotator import SegmentAnnotator
    from segvote.method.result import Result
    from segvote.method.table import Geometry, SegmentTable

__all__ = ["DECISIONS", "Geometry", "Result", "SegmentAnnotator", "SegmentTable"]

# scikit-learn takes most of a second to import: only who fits something waits for it.
_HOMES = {"Geometry": "table", "Result": "result", "SegmentAnnotator": "annotator", "SegmentTable": "table"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
