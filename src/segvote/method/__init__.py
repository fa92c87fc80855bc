"""The method: finds the segments that images with an object share, and images without it lack. Arrays in and out."""

from typing import TYPE_CHECKING, Any

from segvote.method.decide import DECISIONS

if TYPE_CHECKING:
    from segvote.method.estimator import SegmentAnnotator
    from segvote.method.hypotheses import VoteParams
    from segvote.method.table import Geometry, SegmentTable
    from segvote.method.vote import Vote

__all__ = ["DECISIONS", "Geometry", "SegmentAnnotator", "SegmentTable", "Vote", "VoteParams"]

# scikit-learn takes most of a second to import: loaded when an estimator is made.
_HOMES = {
    "Geometry": "table",
    "SegmentAnnotator": "estimator",
    "SegmentTable": "table",
    "Vote": "vote",
    "VoteParams": "hypotheses",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
