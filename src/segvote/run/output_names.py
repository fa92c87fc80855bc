"""What the output files of a bag are called: like the bag, and never like those of another; and which are stale.

Masks, heat maps, films and tracks of a bag have one stem with different endings; the masks of a video's frames lie in
a folder called like its stem. Two bags must not share a file, and no file of one may be called like a folder that
another needs, on file systems that do not tell upper from lower case, or one way to write an accent from the other,
neither.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from segvote.io.names import N_KEPT, fold_name

ENDINGS = (".png", ".jpg", ".mp4", ".cvat.xml", ".timeline.json")
# Bytes of the last part of a stem: file systems allow 255, of which an ending takes some.
MAX_BYTES = 235
# Folders in which every file belongs to one bag, by its stem.
FOLDERS = ("masks", "heatmaps", "films", "tracks")


def name_stems(names: Sequence[str], videos: Collection[str] = ()) -> dict[str, str]:
    """Bag name to the stem of its output files: without the extension, where no other bag has it.

    A bag that would meet another has its whole name for a stem, and if that is taken, a number besides; the order of
    the names does not matter. `videos` are those that are videos.
    """
    tries = dict.fromkeys(names, 0)
    while True:
        stems = {name: _propose(name, n_tries) for name, n_tries in tries.items()}
        meeting = _find_meeting(stems, videos)
        if not meeting:
            return stems
        for name in meeting:
            tries[name] += 1


def name_frames(names: Sequence[str]) -> list[str]:
    """The same for the frames of one video, in their order: 7.png and 7.jpg are two frames."""
    stems = name_stems(list(dict.fromkeys(names)))
    return [stems[name] for name in names]


def _propose(name: str, n_tries: int) -> str:
    """The stem to try next: without extension, whole, and then with a number made of the name, ever another one."""
    path = PurePosixPath(name)
    stem = str(path.with_suffix("")) if n_tries == 0 else name
    last = PurePosixPath(stem).name
    if n_tries < 2 and len(os.fsencode(last)) <= MAX_BYTES:
        return stem
    number = hashlib.sha256(os.fsencode(f"{n_tries} {name}")).hexdigest()[:10]
    return str(path.with_name(f"{last[:N_KEPT]}~{number}"))


def _find_meeting(stems: Mapping[str, str], videos: Collection[str]) -> list[str]:
    """Names of the bags that have to look for another stem."""
    plain = {name: fold_name(stem) for name, stem in stems.items()}
    count = Counter(plain.values())
    above = set(_list_folders(plain.values()))
    folders = above | {plain[name] for name in videos if name in plain}
    return [
        name
        for name, stem in plain.items()
        if count[stem] > 1 or any(stem + ending in folders for ending in ENDINGS) or (name in videos and stem in above)
    ]


def _list_folders(stems: Iterable[str]) -> Iterable[str]:
    return (str(parent) for stem in stems for parent in PurePosixPath(stem).parents)


def remove_stale(folder: Path, stems: Iterable[str]) -> int:
    """Delete the pictures of bags that are gone; segments and features stay, an image may come back.

    The stems are those of all bags of a run folder, or of the folder of `predict`; below a video's stem lie its frames.
    Returns how many files were deleted.
    """
    known = set(stems)
    stale = [path for name in FOLDERS for path, stem in _list_files(folder / name) if not _belongs(stem, known)]
    for path in stale:
        path.unlink(missing_ok=True)
    for name in FOLDERS:
        _remove_empty(folder / name)
    return len(stale)


def _list_files(folder: Path) -> Iterable[tuple[Path, str]]:
    """Files that segvote could have written, with the stem they were written for."""
    for path in folder.rglob("*"):
        ending = next((one for one in ENDINGS if path.name.endswith(one)), None)
        if ending and path.is_file():
            yield path, path.relative_to(folder).as_posix().removesuffix(ending)


def _belongs(stem: str, known: set[str]) -> bool:
    return stem in known or any(parent.as_posix() in known for parent in PurePosixPath(stem).parents)


def _remove_empty(folder: Path) -> None:
    for parent, _, _ in os.walk(folder, topdown=False):
        if parent != str(folder) and not os.listdir(parent):
            os.rmdir(parent)
