"""The size of a pixel as a picture states it: resolution tags of TIFF, density of JPEG and PNG."""

from __future__ import annotations

import re
from pathlib import Path

from PIL import Image

from segvote.io.decoding import open_picture
from segvote.io.picture_formats import split_view

MM_PER_INCH = 25.4
# Densities that programs write where they know none.
PLACEHOLDERS = (72, 96)
# TIFF tags, and millimetres of their units of resolution: inch, centimetre.
X_RESOLUTION, Y_RESOLUTION, UNIT, DESCRIPTION = 282, 283, 296, 270
TIFF_UNITS = {2: MM_PER_INCH, 3: 10.0}
# Millimetres of the units that ImageJ writes into the description of a TIFF file.
IMAGEJ_UNITS = {"nm": 1e-6, "um": 1e-3, "µm": 1e-3, "\\u00b5m": 1e-3, "micron": 1e-3, "microns": 1e-3} | {
    "mm": 1.0,
    "cm": 10.0,
    "m": 1000.0,
    "inch": MM_PER_INCH,
}
# A pixel counts as square if its sides differ by less than this share.
SQUARE = 0.01


def read_pixel_size(path: Path | str) -> float | None:
    """Side of a pixel in millimetres, as the picture states it; None where it states none or pixels are not square.

    A density of 72 or 96 dots per inch counts as none, except in TIFF files.
    """
    with open_picture(split_view(Path(path))[0]) as picture:
        tags = getattr(picture, "tag_v2", None)
        sides = _read_density(picture) if tags is None else _read_tiff(dict(tags))
    if sides is None or min(sides) <= 0 or abs(sides[0] - sides[1]) > SQUARE * sides[0]:
        return None
    return float(f"{sides[0]:.6g}")


def _read_density(picture: Image.Image) -> tuple[float, float] | None:
    density = picture.info.get("dpi")
    if not density or min(density) <= 0 or round(density[0]) in PLACEHOLDERS:
        return None
    return MM_PER_INCH / float(density[0]), MM_PER_INCH / float(density[1])


def _read_tiff(tags: dict[int, object]) -> tuple[float, float] | None:
    """Pixel size by the unit of the tags, or that of ImageJ's description."""
    try:
        across, down = (float(tags[tag]) for tag in (X_RESOLUTION, Y_RESOLUTION))  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None
    unit_line = re.search(r"^unit=(\S+)", str(tags.get(DESCRIPTION, "")), re.MULTILINE)
    unit = IMAGEJ_UNITS.get(unit_line[1].lower()) if unit_line else TIFF_UNITS.get(tags.get(UNIT, 2))  # type: ignore[call-overload]
    return None if unit is None or not across > 0 or not down > 0 else (unit / across, unit / down)
