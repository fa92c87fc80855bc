"""Names of files in text files, pages and other tools, which cannot hold every name that a disk can.

Inside segvote a name is the result of `os.fsdecode`: bytes that are no UTF-8 are lone surrogates. Outside, such bytes
and control characters are percent-encoded, as in URLs; other names stay as they are.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

from segvote.errors import BadInputError
from segvote.io.picture_formats import IMAGE_EXTENSIONS

PERCENT = "segvote-percent"  # an error handler for `str.encode`, `open` and standard output
MAX_STEP, MAX_PATH = 255, 4095  # bytes of a step of a path and of a path, on every usual disk
N_KEPT = 48  # letters of a step that is too long

# Characters that UTF-8, XML or a line of text cannot hold.
_ODD = "\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff"
_FIND_ODD, _FIND_ENCODED = re.compile(f"[{_ODD}]"), re.compile(f"[%{_ODD}]")

# Unicode categories: controls, formats (such as text direction), surrogates, line and paragraph separators.
_STRANGE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def encode_name(name: str) -> str:
    r"""A path as text that every format and page can hold; a step that grows too long for a disk is shortened.

    Examples
    --------
    >>> encode_name("with/caf\udce9 1%.png"), encode_name("with/café 1%.png")
    ('with/caf%E9 1%25.png', 'with/café 1%.png')
    """
    if _FIND_ODD.search(name) is None:
        return name
    steps = _FIND_ENCODED.sub(lambda match: _percent(match[0]), name).split("/")
    return "/".join(shorten_step(step, MAX_STEP) for step in steps)


def encode_names(names: Iterable[str], foldable: bool = False) -> dict[str, str]:
    """Map each of the names of a run to its `encode_name`, with a tilde where another image has that name.

    `foldable` also puts a tilde behind names that differ from another only in case or in the spelling of an accent, so
    that files of these names can lie in one folder on disks of macOS and Windows.
    """
    names = list(names)
    taken, outside_names = set(names), {}
    for name in names:
        outside = encode_name(name)
        while outside != name and outside in taken:
            outside = _add_tilde(outside)
        taken.add(outside)
        outside_names[name] = outside
    return _tell_apart(outside_names) if foldable else outside_names


def _tell_apart(outside_names: dict[str, str]) -> dict[str, str]:
    """Put a tilde behind all but the first of names that such a disk does not distinguish, folders included."""
    taken = {fold_name(str(folder)) for name in outside_names.values() for folder in PurePosixPath(name).parents}
    known = taken | {fold_name(outside) for outside in outside_names.values()}
    for name, outside in outside_names.items():
        if fold_name(outside) in taken:
            while fold_name(outside) in known:
                outside = _add_tilde(outside)
            known.add(fold_name(outside))
        taken.add(fold_name(outside))
        outside_names[name] = outside
    return outside_names


def _add_tilde(name: str) -> str:
    path = PurePosixPath(name)
    return str(path.with_name(shorten_step(f"{path.stem}~{path.suffix}", MAX_STEP)))


def fold_name(name: str) -> str:
    """A key that is equal for names that a disk of macOS or Windows does not distinguish.

    Examples
    --------
    >>> fold_name("Cafe\u0301.PNG") == fold_name("caf\u00e9.png")
    True
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def shorten_step(step: str, max_bytes: int, seed: str = "") -> str:
    """A step of a path in at most `max_bytes`: where it is longer, its beginning, a checksum and its extension."""
    if len(os.fsencode(step)) <= max_bytes:
        return step
    suffix = PurePosixPath(step).suffix
    suffix = suffix if len(suffix) <= 8 else ""
    number = hashlib.sha256(os.fsencode(f"{seed}{step}")).hexdigest()[:10]
    return f"{step[:N_KEPT]}~{number}{suffix}"


def is_path_name(text: str) -> bool:
    """Whether a system could have a file of that path."""
    try:
        path = os.fsencode(text)
    except UnicodeEncodeError:  # half a character
        return False
    return b"\0" not in path and len(path) <= MAX_PATH and all(len(step) <= MAX_STEP for step in path.split(b"/"))


_ENDINGS = {*IMAGE_EXTENSIONS, ".json", ".txt", ".xml"}
_MAX_STEM = 200  # bytes: prefixes and suffixes of formats must still fit into a file name


class FileNamer:
    """Chooses file names without extension, one per image: the image's own, made unique."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def choose_stem(self, name: str) -> str:
        """Path below the export's folder, with forward slashes and no extension, for an image name."""
        path = PurePosixPath(check_name(name))
        # A folder a.png and the file a.png of an image a.jpg cannot both exist.
        folders = [f"{part}~" if PurePosixPath(part).suffix.lower() in _ENDINGS else part for part in path.parts[:-1]]
        steps = [*(shorten_step(folder, MAX_STEP) for folder in folders), shorten_step(path.stem, _MAX_STEM, name)]
        stem = PurePosixPath(*steps).as_posix()
        if fold_name(stem) in self._taken:  # photo.jpg beside photo.png, or beside Photo.jpg on some systems
            stem = f"{stem}-{path.suffix.removeprefix('.')}"
        wanted, number = stem, 2
        while fold_name(stem) in self._taken:
            stem, number = f"{wanted}-{number}", number + 1
        self._taken.add(fold_name(stem))
        return stem

    def choose_flat_stem(self, name: str) -> str:
        """The image's own file name without extension; the path with underscores where that name is taken."""
        own = PurePosixPath(check_name(name))
        is_free = fold_name(own.stem) not in self._taken
        return self.choose_stem(own.name if is_free else name.replace("/", "_"))


def check_name(name: str) -> str:
    """The name itself, if it stays below the folder it is joined to."""
    path = PurePosixPath(name)
    leads_out = path.is_absolute() or ".." in path.parts or "\0" in name
    if os.name == "nt":  # elsewhere a colon and a backslash are ordinary letters
        leads_out |= ":" in name or "\\" in name
    if leads_out or not path.name:
        raise BadInputError(f"expected an image name below its folder, with forward slashes, got {name!r}; rename it")
    return name


def make_plain(text: object) -> str:
    r"""One line without terminal control characters, which are written as ``\n`` and ``\x1b``.

    Examples
    --------
    >>> make_plain("two\nlines")
    'two\\nlines'
    """
    return "".join(
        one.encode("unicode_escape").decode("ascii") if unicodedata.category(one) in _STRANGE else one
        for one in str(text)
    )


def _percent(text: str) -> str:
    """Percent-encode the bytes of file names that surrogates stand for, and the UTF-8 of any other letter."""
    encoded = (
        bytes([ord(letter) - 0xDC00]) if "\udc80" <= letter <= "\udcff" else letter.encode("utf-8", "surrogatepass")
        for letter in text
    )
    return "".join(f"%{byte:02X}" for byte in b"".join(encoded))


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return _percent(error.object[error.start : error.end]), error.end


codecs.register_error(PERCENT, _replace)
