"""From decided segments to the mask of one image: heat maps, outlines along superpixels."""

from segvote.masks.drawing import scale_heat
from segvote.masks.sharpen import Superpixels, sharpen

__all__ = ["Superpixels", "scale_heat", "sharpen"]
