"""CVAT for images 1.1: masks and polygons of ``annotations.xml``, read as a stream.

Untrusted XML can grow without bound or read other files through its document type; CVAT writes none,
so a file that declares one is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat

import numpy as np
from msgspec import Struct

from segvote.errors import BadInputError, SegvoteError
from segvote.io.encodings.rle import fill_runs
from segvote.io.files import open_regular
from segvote.io.imports.base import PartJoiner, check_size, clean_name, fill_polygons, read_schema
from segvote.io.tables import Count, Finite, Size
from segvote.types import Annotation

_CHUNK = 1 << 20
_REFUSED = {"box", "cuboid", "ellipse", "points", "polyline", "skeleton", "track"}


def read_cvat_xml(path: Path | str) -> Iterator[Annotation]:
    """Images of a "CVAT for images 1.1" file in their order, those without annotation too."""
    builder = _Builder(str(path))
    try:
        with open_regular(path) as file:
            yield from _parse(file, builder)
    except SegvoteError:
        raise
    except (expat.ExpatError, LookupError, ValueError) as error:  # the latter two for unknown encodings
        raise BadInputError(f"{path}: expected XML, but {error}; export the file again") from error
    except OSError as error:
        raise BadInputError(f"{path}: cannot be read ({error.strerror}); check the name") from error


def _parse(file: BinaryIO, builder: _Builder) -> Iterator[Annotation]:
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = builder.refuse_document_type
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.add_text
    while chunk := file.read(_CHUNK):
        parser.Parse(chunk, False)
        yield from builder.take()
    parser.Parse(b"", True)
    yield from builder.take()
    if not builder.has_root:
        raise BadInputError(f"{builder.where}: expected <annotations>; export it as 'CVAT for images 1.1'")


class _Image(Struct):
    name: str
    height: Size
    width: Size


class _Mask(Struct):
    left: Count
    top: Count
    width: Size
    height: Size
    rle: str  # lengths of runs along the rows of the crop, the first one background


class _Builder:
    """Collects the elements of one image after the other."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.has_root = False
        self._finished: list[Annotation] = []
        self._image: dict[str, str] | None = None
        self._joiner: PartJoiner | None = None  # from the first shape of an image on
        self._score: list[str] | None = None

    def take(self) -> list[Annotation]:
        finished, self._finished = self._finished, []
        return finished

    def refuse_document_type(self, *_: Any) -> None:
        raise BadInputError(f"{self.where}: expected plain XML, got a document type (DOCTYPE); export the file again")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.has_root |= tag == "annotations"
        if tag == "image":
            self._image, self._joiner = attributes, None
        elif tag in ("mask", "polygon") and self._image is not None:
            self._add_shape(tag, attributes)
        elif tag == "attribute" and attributes.get("name") == "score":
            self._score = []
        elif tag in _REFUSED and (self._image is not None or tag == "track"):
            raise BadInputError(
                f"{self._place()}: a <{tag}> is no mask; export 'CVAT for images' with masks or polygons"
            )

    def add_text(self, text: str) -> None:
        if self._score is not None:
            self._score.append(text)

    def end(self, tag: str) -> None:
        if tag == "attribute" and self._score is not None:
            text = "".join(self._score).strip()
            if text and self._joiner is not None:
                self._joiner.rate(self._read(text, Finite))
            self._score = None
        if tag == "image" and self._image is not None:
            height, width = self._read_size()
            parts = self._joiner.join() if self._joiner else ()
            self._finished.append(Annotation(clean_name(self._read(self._image, _Image).name), height, width, parts))
            self._image = None

    def _add_shape(self, tag: str, attributes: dict[str, str]) -> None:
        height, width = self._read_size()
        mask = (self._read_mask if tag == "mask" else self._read_polygon)(attributes, height, width)
        self._joiner = self._joiner or PartJoiner(height, width, self._place())
        self._joiner.add(attributes.get("label", ""), mask)

    def _read_mask(self, attributes: dict[str, str], height: int, width: int) -> np.ndarray:
        crop = self._read(attributes, _Mask)
        if crop.left + crop.width > width or crop.top + crop.height > height:
            raise BadInputError(f"{self._place()}: a mask reaches over the image's edge; export the file again")
        counts = self._read([count.strip() for count in crop.rle.split(",")], list[Count], ", rle of a mask")
        mask = np.zeros((height, width), bool)
        rows, columns = slice(crop.top, crop.top + crop.height), slice(crop.left, crop.left + crop.width)
        mask[rows, columns] = fill_runs(counts, crop.height * crop.width).reshape(crop.height, crop.width)
        return mask

    def _read_polygon(self, attributes: dict[str, str], height: int, width: int) -> np.ndarray:
        pairs = [pair.split(",") for pair in attributes.get("points", "").split(";")]
        points = self._read(pairs, list[tuple[Finite, Finite]], ", points of a polygon")
        return fill_polygons([points], height, width, self._place())

    def _read_size(self) -> tuple[int, int]:
        image = self._read(self._image, _Image)
        return check_size(image.height, image.width, self._place())

    def _read(self, texts: Any, kind: Any, what: str = "") -> Any:
        """Attributes and parts of them, which are texts, as values of a schema."""
        return read_schema(texts, kind, self._place() + what, strict=False)

    def _place(self) -> str:
        return f"{self.where}, {self._image.get('name')}" if self._image else self.where
