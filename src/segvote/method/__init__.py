"""The method: segments of images with and without an object to which of them are the object. Arrays in, arrays out."""

from segvote.method.annotator import Result, SegmentAnnotator
from segvote.method.decide import DECISIONS
from segvote.method.table import Geometry, SegmentTable

__all__ = ["DECISIONS", "Geometry", "Result", "SegmentAnnotator", "SegmentTable"]
