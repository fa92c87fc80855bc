"""From decided segments to the mask of one image: regions along superpixels, or lines by local contrast."""

from segvote.masks.drawing import (
    WAYS,
    Decided,
    Drawing,
    apply_user_labels,
    check_way,
    draw_mask,
    scale_heat,
)
from segvote.masks.sharpen import Superpixels

__all__ = [
    "WAYS",
    "Decided",
    "Drawing",
    "Superpixels",
    "apply_user_labels",
    "check_way",
    "draw_mask",
    "scale_heat",
]
