"""Overlays: a picture under its heat map or its mask, for people to look at."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from segvote.io.atomic import write_bytes

__all__ = ["blend_heat", "blend_mask", "encode_jpeg", "write_jpeg"]

# Dark blue, teal, yellow, red: warm means likely, as in the paper's figure; readable without telling red from green.
COLOURS = np.array([[20, 24, 82], [30, 110, 140], [248, 211, 80], [214, 40, 40]], dtype=np.float64)
STOPS = np.array([0.0, 0.42, 0.62, 1.0])
SHADOW = np.float32(0.35)  # how much colour is left where the picture is black
GLOW = np.float32(70)  # what a white pixel adds to the coldest colour, so that things can be told in the dark blue
OUTLINE = (255, 255, 255)


RAMP = np.column_stack([np.interp(np.linspace(0, 1, 256), STOPS, channel) for channel in COLOURS.T])
RAMP = RAMP.round().astype(np.float32)


def blend_heat(image: np.ndarray, heat: np.ndarray) -> np.ndarray:
    """Paint the picture's light and shade in the colours of the heat map.

    Shading instead of mixing: a white cup that is certainly the object comes out red as in the legend, not pink.

    Parameters
    ----------
    image
        (h, w, 3) uint8.
    heat
        (h, w) in [0, 1].
    """
    # Heat and light each have 256 values: every colour that can come out is worked out once.
    degrees = (heat * 255).round().astype(np.uint8)
    light = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    pairs = degrees.astype(np.intp) * 256 + light.astype(np.intp)
    return SHADES.reshape(-1, 3).take(pairs, axis=0)


def _list_shades() -> np.ndarray:
    """(256 degrees of heat, 256 of light, 3) uint8."""
    light = (np.arange(256, dtype=np.float32) / 255)[None, :, None]
    cold = 1 - (np.arange(256, dtype=np.float32) / 255)[:, None, None]
    shaded = RAMP[:, None] * (SHADOW + (1 - SHADOW) * light) + GLOW * light * cold
    return np.clip(shaded, 0, 255).astype(np.uint8)


SHADES = _list_shades()


def blend_mask(image: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Darken everything but the mask, and draw its outline."""
    faded = (image * 0.25 + 20).astype(np.uint8)
    shown = np.where(mask[..., None], image, faded)
    outlines, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(shown, outlines, -1, OUTLINE, 1)
    return shown


def encode_jpeg(image: np.ndarray, quality: int = 85) -> bytes:
    """(h, w, 3) uint8 to JPEG bytes."""
    buffer = BytesIO()
    Image.fromarray(image).save(buffer, format="JPEG", quality=quality)
    return buffer.getvalue()


def write_jpeg(path: Path, image: np.ndarray, quality: int = 85) -> None:
    """Write (h, w, 3) uint8 as JPEG, whole or not at all; a picture for people, so not flushed to the disk at once."""
    write_bytes(path, encode_jpeg(image, quality), durable=False)
