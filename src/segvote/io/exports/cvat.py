"""CVAT 1.1: ``annotations.xml`` with a ``<mask>`` (or ``<polygon>``) per object; for a video, the track of an outline.

CVAT follows outlines through a video, not masks; the masks themselves are in the run's ``masks`` folder.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import cv2
import numpy as np

from segvote.io.encodings.polygons import list_outlines
from segvote.io.encodings.rle import count_runs
from segvote.io.exports.base import ExportOptions, list_parts, measure_box, place_image
from segvote.io.files import atomic_path, explain_failure, open_scratch
from segvote.io.names import check_name
from segvote.types import Annotation, Part

# Images ---------------------------------------------------------------------------------------------------------------

HEAD = '<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n  <version>1.1</version>\n'
# Characters that XML 1.0 cannot hold.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_cvat(annotations: Iterable[Annotation], folder: Path, options: ExportOptions) -> Path:
    """Write ``annotations.xml``, which is returned, and the pictures under ``images/``."""
    path = folder / "annotations.xml"
    # The number of images stands in front but is known at the end.
    with open_scratch() as scratch, explain_failure(scratch), (scratch / "body").open("w+", encoding="utf-8") as body:
        n_images = 0
        for n_images, annotation in enumerate(annotations, start=1):
            body.writelines(_format_image(annotation, n_images - 1, options))
            place_image(annotation, folder / "images" / check_name(annotation.name), options)
        body.seek(0)
        with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.write(HEAD + _format_meta(options.labels, n_images))
            shutil.copyfileobj(body, file)
            file.write("</annotations>\n")
    return path


def _format_meta(names: tuple[str, ...], n_images: int) -> str:
    attribute = (
        "<attributes><attribute><name>score</name><mutable>False</mutable><input_type>text</input_type>"
        "<default_value></default_value><values></values></attribute></attributes>"
    )
    labels = "".join(f"<label><name>{escape(_clean(name))}</name>{attribute}</label>\n" for name in names)
    return (
        f"  <meta><task><name>segvote</name><size>{n_images}</size><mode>annotation</mode><overlap>0</overlap>"
        f"<labels>\n{labels}</labels></task></meta>\n"
    )


def _format_image(annotation: Annotation, number: int, options: ExportOptions) -> Iterator[str]:
    name = quoteattr(_clean(annotation.name))
    yield f'  <image id="{number}" name={name} width="{annotation.width}" height="{annotation.height}">\n'
    for order, part in enumerate(list_parts(annotation, options)):
        common = f'label={quoteattr(_clean(part.label))} source="auto" occluded="0" z_order="{order}"'
        score = f'<attribute name="score">{float(part.score)!r}</attribute>'
        tag = "polygon" if options.polygons else "mask"
        for geometry in _format_outlines(part) if options.polygons else [_format_mask(part)]:
            yield f"    <{tag} {common} {geometry}>{score}</{tag}>\n"
    yield "  </image>\n"


def _format_mask(part: Part) -> str:
    """Row-major run lengths of the crop, starting with background."""
    left, top, width, height = measure_box(part.mask)
    counts = count_runs(part.mask[top : top + height, left : left + width].ravel())
    place = f'left="{left}" top="{top}" width="{width}" height="{height}"'
    return f'rle="{", ".join(map(str, counts.tolist()))}" {place}'


def _format_outlines(part: Part) -> list[str]:
    rings = [ring.tolist() for ring in list_outlines(part.mask)]
    return [f'points="{";".join(f"{x:.2f},{y:.2f}" for x, y in ring)}"' for ring in rings]


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("?", text)


# Videos ---------------------------------------------------------------------------------------------------------------


def _outline_largest(mask: np.ndarray) -> str:
    """Points of the outline of the largest 8-connected region, of its largest 4-connected part; none without one."""
    if not mask.any():
        return ""
    left, top, width, height = measure_box(mask)
    inside = mask[top : top + height, left : left + width].astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(inside, connectivity=8)
    largest = labels == 1 + stats[1:, cv2.CC_STAT_AREA].argmax()
    ring = max(list_outlines(largest), key=len) + (left, top)
    return ";".join(f"{x}.00,{y}.00" for x, y in ring.tolist())


@contextlib.contextmanager
def open_track_file(
    path: Path, name: str, label: str, size: tuple[int, int]
) -> Iterator[Callable[[int, np.ndarray], None]]:
    """Write the track of one video, whole or not at all; `size` is (height, width) of its frames.

    Gives a function that takes the number and the (h, w) bool mask of each frame, in order.
    """
    height, width = size
    last = ""
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n", errors="replace") as file:

        def add(frame: int, mask: np.ndarray) -> None:
            nonlocal last
            points = _outline_largest(mask)
            last = points or last
            if last:  # a track cannot begin outside the picture
                file.write(
                    f'    <polygon frame="{frame}" keyframe="1" outside="{int(not points)}" occluded="0" '
                    f'points="{last}" z_order="0"></polygon>\n'
                )

        file.write(
            f"{HEAD}  <meta><task><name>{escape(name)}</name><mode>interpolation</mode><overlap>0</overlap>"
            f"<labels><label><name>{escape(label)}</name><attributes></attributes></label></labels>"
            f"<original_size><width>{width}</width><height>{height}</height></original_size></task></meta>\n"
            f'  <track id="0" label={quoteattr(label)} source="auto">\n'
        )
        yield add
        file.write("  </track>\n</annotations>\n")
