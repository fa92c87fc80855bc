"""The outline of a mask at the resolution of the photograph, in a band around the outline at working size.

Pixels farther from the coarse outline keep its decision. In the band, a guided filter decides (He, Sun, Tang 2013; at
two resolutions, He and Sun 2015): around each pixel of the working size the mask is fitted by a linear function of the
colours, which is then evaluated on the colours of the photograph. Where colours do not tell the two sides apart, the
function is nearly constant and the outline stays where it was. The fit sees the band alone, so that its time grows with
the length of the outline and not with the photograph.
"""

from __future__ import annotations

import cv2
import numpy as np

from segvote.masks.lines import measure_depth

# Half the width of the band, in pixels at working size.
REACH = 4.0
# Colours are compared within a Gaussian of this width, in pixels at working size, ...
NEARBY = 3.0
# ... and differences below the root of this variance, in Lab, are noise.
NOISE = 10.0


def refine_outline(lab: np.ndarray, coarse: np.ndarray) -> np.ndarray:
    """(H, W) bool: a mask (h, w) redrawn at the size of the photograph, (H, W, 3) float32 in Lab."""
    if coarse.all() or not coarse.any():
        return np.full(lab.shape[:2], coarse.any())
    signed = measure_signed_distance(coarse)
    depth = _enlarge(signed, lab.shape[:2])
    inside, is_near = depth > 0, np.abs(depth) < REACH
    small = cv2.resize(lab, coarse.shape[::-1], interpolation=cv2.INTER_AREA)
    # Enlarging reads one pixel beyond the band.
    lines = _enlarge(fit_colours(small, coarse, np.abs(signed) < REACH + 2), lab.shape[:2])[is_near]
    inside[is_near] = np.einsum("ij,ij->i", lines[:, :3], lab[is_near]) + lines[:, 3] > 0.5
    return inside


def measure_signed_distance(mask: np.ndarray) -> np.ndarray:
    """(h, w) float32 distance from the outline of a mask: above 0 inside, half a pixel beside the outline.

    The image's edge is no outline.
    """
    return np.where(mask, measure_depth(mask) - 0.5, 0.5 - measure_depth(~mask))


def fit_colours(lab: np.ndarray, mask: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """(h, w, 4) float32: three slopes and the intercept by which colours nearby predict a mask; 0 where not chosen.

    Least squares, weighted by a Gaussian around each chosen pixel (h, w), with `NOISE` added to the variances.
    """
    # Small numbers lose less when their squares are taken from each other.
    centre = lab.reshape(-1, 3).mean(axis=0)
    colours, values = lab - centre, mask.astype(np.float32)
    means, mean = _average(colours)[chosen], _average(values)[chosen]
    covariances = np.empty((len(mean), 3, 3))
    for one in range(3):
        products = _average(colours * colours[..., one : one + 1])[chosen]
        covariances[:, one] = products - means * means[:, one : one + 1]
    joint = _average(colours * values[..., None])[chosen] - means * mean[:, None]
    slopes = np.linalg.solve(covariances + NOISE * np.eye(3), joint[..., None])[..., 0]
    lines = np.zeros((*mask.shape, 4), dtype=np.float32)
    lines[chosen] = np.column_stack([slopes, mean - (slopes * (means + centre)).sum(axis=1)])
    return lines


def _average(values: np.ndarray) -> np.ndarray:
    return cv2.GaussianBlur(values, (0, 0), NEARBY)


def _enlarge(values: np.ndarray, size: tuple[int, ...]) -> np.ndarray:
    return cv2.resize(values, size[::-1], interpolation=cv2.INTER_LINEAR)
