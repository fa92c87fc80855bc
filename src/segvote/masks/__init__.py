"""From decided segments to the mask of one image: regions along superpixels, or lines by local contrast."""

from segvote.masks.drawing import (
    WAYS,
    Drawing,
    apply_user_labels,
    draw_mask,
    scale_heat,
)
from segvote.masks.objects import OBJECTS
from segvote.masks.sharpen import Superpixels

__all__ = [
    "OBJECTS",
    "WAYS",
    "Drawing",
    "Superpixels",
    "apply_user_labels",
    "draw_mask",
    "scale_heat",
]
