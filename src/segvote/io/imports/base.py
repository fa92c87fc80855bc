"""Common parts of the importers: validation, limits, the cleaning and matching of names, the joining of shapes.

Files are untrusted: each format has a declared schema, a name can never lead outside a folder, and anything but a mask
or a polygon is rejected by name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np

from segvote.errors import BadInputError
from segvote.io.decoding import MAX_PIXELS
from segvote.io.encodings.polygons import rasterise
from segvote.io.names import encode_name
from segvote.io.tables import convert_record
from segvote.limits import check_budget
from segvote.types import Annotation, Part

Kind = TypeVar("Kind")

_UPLOAD_PREFIX = re.compile(r"^[0-9a-f]{8}-")  # Label Studio puts it before the name of every uploaded file


def clean_name(address: str) -> str:
    """An image name below some folder, from a path or an address of any kind: never absolute, never with ``..``."""
    path = re.sub(r"^[A-Za-z]:(?=[\\/])", "", _find_path(address).replace("\0", "")).replace("\\", "/")
    steps = [step for step in path.split("/") if step not in ("", ".", "..")]
    if not steps:
        raise BadInputError(f"expected the name of an image, got {address!r:.60}; export the file again")
    return encode_name("/".join(steps))


def _find_path(address: str) -> str:
    """The path within a web address or an address of Label Studio's local files; a plain path is its own."""
    try:
        parts = urlsplit(address)
        place = parse_qs(parts.query).get("d")
    except ValueError:  # a file name that only looks like an address
        return address
    if place:
        return place[0]
    return unquote(parts.path) if "://" in address else address


class NameIndex:
    """Names of known images, for many look-ups of imported ones."""

    def __init__(self, known: Iterable[str]) -> None:
        self._names = set(known)
        self._by_last: dict[str, list[str]] = {}  # names that end in each other have the same last step
        for name in self._names:
            self._by_last.setdefault(name.rpartition("/")[2], []).append(name)

    def match(self, name: str) -> str | None:
        """The known image of an imported name; None where no image matches, or several.

        Tools drop folders in front, put others there, or add a prefix to an upload: it is the name itself if it is
        known, else the only known one whose path ends in this one or the other way round.
        """
        if name in self._names:
            return name
        uploaded, n_prefixes = _UPLOAD_PREFIX.subn("", name.rpartition("/")[2])
        for wanted in (name, uploaded)[: 1 + n_prefixes]:
            others = self._by_last.get(wanted.rpartition("/")[2], ())
            ends = (f"/{wanted}".endswith(f"/{other}") or f"/{other}".endswith(f"/{wanted}") for other in others)
            matches = [other for other, is_end in zip(others, ends, strict=True) if is_end]
            if len(matches) == 1:
                return matches[0]
        return None


def read_schema(data: Any, kind: type[Kind], where: str, strict: bool = True) -> Kind:
    """Validate parsed data against a schema; see `segvote.io.tables.convert_record`."""
    return convert_record(data, kind, where, BadInputError, "export the file again", strict)


def fill_polygons(rings: Iterable[Any], height: int, width: int, where: str) -> np.ndarray:
    """(height, width) bool: the union of closed rings, each a list of points or a flat list x, y, x, y, …"""
    mask = np.zeros((height, width), bool)
    for ring in rings:
        points = np.array(ring, dtype=np.float64)
        if points.size % 2:
            raise BadInputError(f"{where}: a polygon needs pairs of numbers, got {points.size}; export it again")
        mask |= rasterise([points.reshape(-1, 2)], height, width)
    return mask


def join_shapes(
    name: str, height: int, width: int, shapes: Iterable[tuple[str, np.ndarray, float | None]], where: str
) -> Annotation:
    """The annotation of an image: its shapes (label, (height, width) bool mask, score) joined to one part per label.

    Shapes are joined as they come: a thousand need the memory of one. A part has the highest score of its shapes; a
    shape without one counts as 1.
    """
    if height * width > MAX_PIXELS:
        raise BadInputError(f"{where}: {width} x {height} pixels are more than {MAX_PIXELS}; make the image smaller")
    masks: dict[str, np.ndarray] = {}
    scores: dict[str, list[float]] = {}
    for label, mask, score in shapes:
        if label not in masks:
            check_budget((len(masks) + 1) * mask.size, f"{where}, {len(masks) + 1} labels")
            masks[label], scores[label] = np.zeros((height, width), bool), []
        masks[label] |= mask
        scores[label].append(1.0 if score is None else score)
    parts = tuple(Part(label, mask, max(scores[label])) for label, mask in masks.items())
    return Annotation(name, height, width, parts)
