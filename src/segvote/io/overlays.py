"""Overlays: a picture under its heat map or its mask."""

from __future__ import annotations

import base64
from io import BytesIO
from pathlib import Path

import cv2
import numpy as np
from PIL import Image

from segvote.io.files import write_bytes

# Dark blue, teal, yellow, red: warm means likely, as in the paper's figure; safe for red-green colour blindness.
COLOURS = np.array([[20, 24, 82], [30, 110, 140], [248, 211, 80], [214, 40, 40]], dtype=np.float64)
STOPS = np.array([0.0, 0.42, 0.62, 1.0])
SHADOW = np.float32(0.35)  # share of the colour that is left where the picture is black
GLOW = np.float32(70)  # added to the coldest colour by a white pixel, so that shapes are visible in the dark blue
OUTLINE = (255, 255, 255)

RAMP = np.column_stack([np.interp(np.linspace(0, 1, 256), STOPS, channel) for channel in COLOURS.T])
RAMP = RAMP.round().astype(np.float32)


def blend_heat(image: np.ndarray, heat: np.ndarray) -> np.ndarray:
    """Paint the light and shade of a picture (h, w, 3) uint8 in the colours of its heat (h, w) in [0, 1].

    Shading instead of mixing: a white cup that is certainly the object comes out red as in the legend, not pink.
    """
    return paint_heat(cv2.cvtColor(image, cv2.COLOR_RGB2GRAY), count_degrees(heat))


def count_degrees(heat: np.ndarray) -> np.ndarray:
    """Heat in [0, 1] as uint8."""
    return (heat * 255).round().astype(np.uint8)


def paint_heat(light: np.ndarray, degrees: np.ndarray) -> np.ndarray:
    """As `blend_heat`, of a grey picture (h, w) uint8 and heat (h, w) uint8."""
    # Heat and light each have 256 values: a table holds every colour.
    pairs = degrees.astype(np.uint16) << 8 | light
    return cv2.cvtColor(PACKED_SHADES.take(pairs).view(np.uint8).reshape(*light.shape, 4), cv2.COLOR_RGBA2RGB)


def _list_shades() -> np.ndarray:
    """(256 degrees of heat, 256 of light, 3) uint8."""
    light = (np.arange(256, dtype=np.float32) / 255)[None, :, None]
    cold = 1 - (np.arange(256, dtype=np.float32) / 255)[:, None, None]
    shaded = RAMP[:, None] * (SHADOW + (1 - SHADOW) * light) + GLOW * light * cold
    return np.clip(shaded, 0, 255).astype(np.uint8)


# The four bytes of a colour are looked up as one number.
PACKED_SHADES = np.pad(_list_shades(), ((0, 0), (0, 0), (0, 1))).view(np.uint32).ravel()
FADED = (np.arange(256) * 0.25 + 20).astype(np.uint8)


def blend_mask(image: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Darken the background of a mask, and draw the mask's outline."""
    inside = mask.astype(np.uint8)
    shown = cv2.copyTo(image, inside, cv2.LUT(image, FADED))
    outlines, _ = cv2.findContours(inside, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    cv2.drawContours(shown, outlines, -1, OUTLINE, 1)
    return shown


def encode_jpeg(image: np.ndarray, quality: int = 85) -> bytes:
    """(h, w, 3) uint8 to JPEG bytes."""
    buffer = BytesIO()
    Image.fromarray(image).save(buffer, format="JPEG", quality=quality)
    return buffer.getvalue()


def format_data_uri(jpeg: bytes) -> str:
    """JPEG bytes as a data URI for a page."""
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode("ascii")


def write_jpeg(path: Path, image: np.ndarray, quality: int = 85) -> None:
    """Write (h, w, 3) uint8 as JPEG, whole or not at all; not flushed to the disk at once."""
    write_bytes(path, encode_jpeg(image, quality), durable=False)
