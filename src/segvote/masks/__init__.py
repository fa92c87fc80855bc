"""From decided segments to the mask of one image: heat maps, outlines along superpixels."""

from segvote.masks.heat import measure_uncertainty, scale_heat
from segvote.masks.sharpen import Pieces, sharpen

__all__ = ["Pieces", "measure_uncertainty", "scale_heat", "sharpen"]
