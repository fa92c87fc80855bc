"""Picture formats by extension, and views: one page of a file, or a window of its values.

Some formats are always read, some by a plugin of Pillow; others are named as skipped. A view is written into the file's
name, before the extension, as in ``stack[002;w=percentile].tif``: the path alone selects the page and the window. If
a file with that very name exists, it is read whole.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")  # never EPS and the like, which start other programs
IMAGE_EXTENSIONS = frozenset({".bmp", ".gif", ".jfif", ".jpe", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
N_NAMED = 6  # kinds of other files that are named

# Formats that Pillow reads with a plugin, or not at all: their extensions, and advice.
OTHER_FORMATS = {
    "HEIF": (frozenset({".heic", ".heif", ".hif"}), "`pip install pillow-heif` reads them"),
    "AVIF": (frozenset({".avif"}), "`pip install 'Pillow>=11.3'` reads them"),
    "camera RAW": (
        frozenset({".arw", ".cr2", ".cr3", ".dng", ".nef", ".orf", ".pef", ".raf", ".raw", ".rw2", ".srw"}),
        "convert them to TIFF or JPEG",
    ),
}


@functools.cache
def _register(name: str) -> bool:
    """Whether Pillow reads one of the other formats; the plugin is loaded."""
    from PIL import Image, features  # not with the names of formats, which the list of commands needs

    if name == "HEIF" and importlib.util.find_spec("pillow_heif") is not None:
        importlib.import_module("pillow_heif").register_heif_opener()
        return name in Image.OPEN
    return name == "AVIF" and "avif" in features.modules and bool(features.check("avif"))


@functools.cache
def list_formats() -> tuple[str, ...]:
    """Pillow's names of the readable formats."""
    return (*FORMATS, *filter(_register, OTHER_FORMATS))


@functools.cache
def list_readable_extensions() -> frozenset[str]:
    """Extensions of the readable formats, in lower case."""
    return IMAGE_EXTENSIONS.union(*(OTHER_FORMATS[name][0] for name in OTHER_FORMATS if _register(name)))


def count_extensions(folder: Path) -> Counter[str]:
    """Extension, in lower case, to the number of files below a folder that have it; hidden ones do not count."""
    counts: Counter[str] = Counter()
    for _, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        counts.update(os.path.splitext(name)[1].lower() for name in files if not name.startswith("."))
    return counts


def describe_skipped(counts: Mapping[str, int]) -> dict[str, str]:
    """Map each known format that is not read here to a sentence: number of files, advice."""
    hints = {}
    for name, (extensions, advice) in OTHER_FORMATS.items():
        n_files = sum(counts.get(extension, 0) for extension in extensions)
        if n_files and not _register(name):
            hints[name] = f"{n_files} {name} {'file' if n_files == 1 else 'files'} skipped; {advice}"
    return hints


def describe_found(counts: Mapping[str, int]) -> str:
    """Describe the files of a folder that has no images."""
    if not counts:
        return "it is empty"
    kinds = [f"{count} {extension or 'without extension'}" for extension, count in Counter(counts).most_common(N_NAMED)]
    more = f" and {len(counts) - N_NAMED} more kinds" if len(counts) > N_NAMED else ""
    return "; ".join([f"found {', '.join(kinds)}{more}", *describe_skipped(counts).values()])


# Views ----------------------------------------------------------------------------------------------------------------

PAGES = ("first", "all")  # of a TIFF stack: the first, or every page is an image of its own
BITS, PERCENTILE = "bits", "percentile"
# Of values with more than 8 bits: those in use, 12 or 16, keep the upper eight; or from the 0.5th to the 99.5th
# percentile of every image and channel.
WINDOWS = (BITS, PERCENTILE)
TIFF_EXTENSIONS = (".tif", ".tiff")
ANIMATED_EXTENSIONS = (".gif", ".png", ".webp")

_VIEW = re.compile(rf"(?P<stem>.+)\[(?P<page>\d+)?(?:;?w=(?P<window>{PERCENTILE}))?\]")


@dataclass(frozen=True)
class PictureView:
    """A page of a file and a window of its values."""

    page: str = ""  # number of a page as it is written in the name, from 0, with leading zeros; empty: the first
    window: str = BITS  # a name of `WINDOWS`

    def __str__(self) -> str:
        return ";".join(filter(None, [self.page, "" if self.window == BITS else f"w={self.window}"]))

    @property
    def number(self) -> int:
        """Number of the page, from 0."""
        return int(self.page or 0)


def name_view(path: Path, view: PictureView) -> Path:
    """The path of a view of a file."""
    return path.with_name(f"{path.stem}[{view}]{path.suffix}") if str(view) else path


def choose_window(path: Path, window: str) -> Path:
    """The path by which a file, or a page of it, is read with a window."""
    source, view = split_view(path)
    return name_view(source, PictureView(view.page, window))


def split_view(path: Path) -> tuple[Path, PictureView]:
    """File and view of a path."""
    return (path, PictureView()) if path.exists() else split_name(path)


def split_name(path: Path) -> tuple[Path, PictureView]:
    """As `split_view`, for a name that need not be that of a file here."""
    view = _VIEW.fullmatch(path.stem)
    if view is None or view["page"] is view["window"] is None:
        return path, PictureView()
    return path.with_name(view["stem"] + path.suffix), PictureView(view["page"] or "", view["window"] or BITS)
