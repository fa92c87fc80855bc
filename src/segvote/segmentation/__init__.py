"""Segmenters: an image in, a label map and its tree out."""

from segvote.registry import Registry

__all__ = ["SEGMENTERS"]

SEGMENTERS = Registry(
    "segmenter",
    {},
)
