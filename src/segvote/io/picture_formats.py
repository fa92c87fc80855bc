"""Which picture files are read, by extension, and which part of them: a page, some channels, a window of values.

Some formats are always read, some by a plugin of Pillow; others are named as skipped. A part of a file, its view, is
written into the file's name, before the extension, as in ``stack[002;c=0,2,1].tif``: a path then says by itself what is
read, wherever it is handed to. A file that is really called so is read whole.
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

from PIL import Image, features

from segvote.errors import BadInputError

FORMATS = ("BMP", "GIF", "JPEG", "PNG", "TIFF", "WEBP")  # never EPS and the like, which start other programs
IMAGE_EXTENSIONS = frozenset({".bmp", ".gif", ".jfif", ".jpe", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"})
N_NAMED = 6  # kinds of other files that are named


@dataclass(frozen=True)
class PluginFormat:
    """A format that Pillow reads with a plugin."""

    name: str
    extensions: frozenset[str]
    module: str = ""  # what is imported to have it read; empty: there is none
    package: str = ""  # what is installed to have that

    @property
    def advice(self) -> str:
        """What to do to have it read."""
        return f"`pip install {self.package}` reads them" if self.package else "convert them to TIFF or JPEG"


PLUGIN_FORMATS = (
    PluginFormat("HEIF", frozenset({".heic", ".heif", ".hif"}), "pillow_heif", "pillow-heif"),
    PluginFormat("AVIF", frozenset({".avif"}), "pillow_avif", "pillow-avif-plugin"),
    PluginFormat(
        "camera RAW",
        frozenset({".arw", ".cr2", ".cr3", ".dng", ".nef", ".orf", ".pef", ".raf", ".raw", ".rw2", ".srw"}),
    ),
)


@functools.cache
def _register(plugin: PluginFormat) -> bool:
    """Whether Pillow reads a format, alone or by its plugin, which is then loaded."""
    if plugin.name == "AVIF" and "avif" in features.modules and features.check("avif"):
        return True
    if not plugin.module or importlib.util.find_spec(plugin.module) is None:
        return False
    module = importlib.import_module(plugin.module)
    if plugin.module == "pillow_heif":  # the other one registers itself when it is imported
        module.register_heif_opener()
    return plugin.name in Image.OPEN


@functools.cache
def list_formats() -> tuple[str, ...]:
    """Pillow's names of the formats that are read here and now."""
    return (*FORMATS, *(plugin.name for plugin in PLUGIN_FORMATS if _register(plugin)))


@functools.cache
def list_readable_extensions() -> frozenset[str]:
    """Extensions of the files that are read here and now, in small letters."""
    return IMAGE_EXTENSIONS.union(*(plugin.extensions for plugin in PLUGIN_FORMATS if _register(plugin)))


def count_extensions(folder: Path) -> Counter[str]:
    """Extension, in small letters, to the number of files below a folder that have it; hidden ones do not count."""
    found: Counter[str] = Counter()
    for _, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found.update(os.path.splitext(name)[1].lower() for name in files if not name.startswith("."))
    return found


def describe_skipped(counts: Mapping[str, int]) -> dict[str, str]:
    """Format to the sentence about its files, for every known format that is not read here: count and what to do."""
    hints = {}
    for plugin in PLUGIN_FORMATS:
        n_files = sum(counts.get(extension, 0) for extension in plugin.extensions)
        if n_files and not _register(plugin):
            hints[plugin.name] = (
                f"{n_files} {plugin.name} {'file' if n_files == 1 else 'files'} skipped; {plugin.advice}"
            )
    return hints


def describe_found(counts: Mapping[str, int]) -> str:
    """What lies in a folder that has no images."""
    if not counts:
        return "it is empty"
    kinds = [f"{count} {extension or 'without extension'}" for extension, count in Counter(counts).most_common(N_NAMED)]
    more = f" and {len(counts) - N_NAMED} more kinds" if len(counts) > N_NAMED else ""
    return "; ".join([f"found {', '.join(kinds)}{more}", *describe_skipped(counts).values()])


# Views ----------------------------------------------------------------------------------------------------------------

PAGES = ("first", "all", "max")
MAXIMUM = "max"  # the brightest value of every pixel over all pages
BITS, PERCENTILE = "bits", "percentile"
WINDOWS = (BITS, PERCENTILE)  # or LOW,HIGH
TIFF_EXTENSIONS = (".tif", ".tiff")
MOST_CHANNELS = 3  # red, green and blue

_NUMBER = r"-?\d+(?:\.\d+)?"
_RANGE = re.compile(rf"({_NUMBER}),({_NUMBER})")
_VIEW = re.compile(
    rf"(?P<stem>.+)\[(?P<page>\d+|{MAXIMUM})?(?:;?c=(?P<channels>\d+(?:,\d+)*))?"
    rf"(?:;?w=(?P<window>{PERCENTILE}|{_NUMBER},{_NUMBER}))?\]"
)


@dataclass(frozen=True)
class PictureView:
    """What of a file is read."""

    # Number of a page as it is written in the name, from 0, with leading zeros; `MAXIMUM`; empty: the first.
    page: str = ""
    # Numbers of the channels shown as red, green and blue, from 0; one alone is grey. Empty: those of the file.
    channels: tuple[int, ...] = ()
    window: str = BITS  # which values become black and white, where the file has more than 8 bits; see `Reading`

    def __str__(self) -> str:
        parts = [
            self.page,
            f"c={','.join(map(str, self.channels))}" if self.channels else "",
            "" if self.window == BITS else f"w={self.window}",
        ]
        return ";".join(filter(None, parts))


@dataclass(frozen=True)
class Reading:
    """How picture files become images, for all files of a run."""

    # Of a TIFF stack, ``first``: the first page; ``all``: every page is an image of its own; ``max``: one image, the
    # maximum over all pages.
    pages: str = "first"
    # ``"0,2,1"``: numbers of the channels, from 0, that are shown as red, green and blue; two leave blue black, one is
    # grey. An image with one channel is read as it is. Empty: colour as stored, of other files the first three.
    channels: str = ""
    # Of values with more than 8 bits, ``bits``: those in use, 12 or 16, keep the upper eight; ``percentile``: from the
    # 0.5th to the 99.5th percentile of every image and channel; ``LOW,HIGH``: these, in all images.
    window: str = BITS

    def __post_init__(self) -> None:
        if self.pages not in PAGES:
            raise BadInputError(f"pages must be one of {', '.join(PAGES)}; got {self.pages!r}")
        if self.window not in WINDOWS and find_range(self.window) is None:
            raise BadInputError(f"window must be {', '.join(WINDOWS)} or LOW,HIGH with LOW < HIGH; got {self.window!r}")
        self.list_channels()

    def list_channels(self) -> tuple[int, ...]:
        """The numbers of `channels`."""
        parts = [part.strip() for part in self.channels.split(",")] if self.channels else []
        if len(parts) > MOST_CHANNELS or not all(part.isdecimal() for part in parts):
            raise BadInputError(f"channels are one to three numbers from 0, as in 0,2,1; got {self.channels!r}")
        return tuple(int(part) for part in parts)

    def view(self, path: Path) -> Path:
        """The path by which a file, or a page of it, is read."""
        source, own = split_view(path)
        is_tiff = path.suffix.lower() in TIFF_EXTENSIONS
        page = own.page or (MAXIMUM if is_tiff and self.pages == MAXIMUM else "")
        return name_view(source, PictureView(page, self.list_channels(), self.window))


def find_range(window: str) -> tuple[float, float] | None:
    """The two numbers of ``LOW,HIGH``; None where a window is something else."""
    found = _RANGE.fullmatch(window)
    if found is None or float(found[1]) >= float(found[2]):
        return None
    return float(found[1]), float(found[2])


def name_view(path: Path, view: PictureView) -> Path:
    """The path that says what of a file is read; the file's own for all of it."""
    return path.with_name(f"{path.stem}[{view}]{path.suffix}") if str(view) else path


def split_view(path: Path) -> tuple[Path, PictureView]:
    """File and view of a path; what is no view is a file's whole name."""
    return (path, PictureView()) if path.exists() else split_name(path)


def split_name(path: Path) -> tuple[Path, PictureView]:
    """The same for a name that may be that of no file here."""
    found = _VIEW.fullmatch(path.stem)
    if found is None:
        return path, PictureView()
    channels = tuple(int(part) for part in (found["channels"] or "").split(",") if part)
    view = PictureView(found["page"] or "", channels, found["window"] or BITS)
    return (path.with_name(found["stem"] + path.suffix), view) if str(view) else (path, view)
