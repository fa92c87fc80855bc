"""Features: an image and its label map in, one vector per segment out."""

from segvote.registry import Registry

__all__ = ["FEATURES"]

FEATURES = Registry(
    "feature",
    {},
)
