"""Names of the output files of bags, and removal of stale ones.

Masks, heat maps, films and tracks of a bag share a stem and differ in their endings; the masks of a video's frames lie
in a folder named after its stem. No two bags may share a file, and no file may have the name of a folder, also on file
systems that ignore case and the spelling of accents.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from segvote.inputs.bags import Bag
from segvote.io.names import N_KEPT, fold_name

ENDINGS = (".png", ".jpg", ".mp4", ".cvat.xml", ".timeline.json")
# Bytes of the last part of a stem: file systems allow 255, of which an ending takes some.
MAX_BYTES = 235
# Folders in which every file belongs to one bag, by its stem.
FOLDERS = ("masks", "heatmaps", "films", "tracks")


def name_stems(names: Sequence[str], videos: Collection[str] = ()) -> dict[str, str]:
    """Bag name to the stem of its output files: the name without its extension, where no other bag has it.

    Bags that collide get their whole name, and if that is taken, a number; the order of the names does not matter.
    """
    tries = dict.fromkeys(names, 0)
    while True:
        stems = {name: _propose(name, n_tries) for name, n_tries in tries.items()}
        colliding = _find_colliding(stems, videos)
        if not colliding:
            return stems
        for name in colliding:
            tries[name] += 1


def name_bags(bags: Sequence[Bag]) -> dict[str, str]:
    """Bag name to the stem of its output files; see `name_stems`."""
    return name_stems([bag.name for bag in bags], {bag.name for bag in bags if bag.is_video})


def name_frames(names: Sequence[str]) -> list[str]:
    """The same for the frames of one video, in their order: 7.png and 7.jpg are two frames."""
    stems = name_stems(list(dict.fromkeys(names)))
    return [stems[name] for name in names]


def _propose(name: str, n_tries: int) -> str:
    """The stem to try next: without extension, whole, then with a hash of the name and the number of tries."""
    path = PurePosixPath(name)
    stem = str(path.with_suffix("")) if n_tries == 0 else name
    last = PurePosixPath(stem).name
    if n_tries < 2 and len(os.fsencode(last)) <= MAX_BYTES:
        return stem
    number = hashlib.sha256(os.fsencode(f"{n_tries} {name}")).hexdigest()[:10]
    return str(path.with_name(f"{last[:N_KEPT]}~{number}"))


def _find_colliding(stems: Mapping[str, str], videos: Collection[str]) -> list[str]:
    """Names of the bags that need another stem."""
    plain = {name: fold_name(stem) for name, stem in stems.items()}
    count = Counter(plain.values())
    above = {str(parent) for stem in plain.values() for parent in PurePosixPath(stem).parents}
    folders = above | {plain[name] for name in videos if name in plain}
    return [
        name
        for name, stem in plain.items()
        if count[stem] > 1 or any(stem + ending in folders for ending in ENDINGS) or (name in videos and stem in above)
    ]


def remove_stale(folder: Path, stems: Iterable[str]) -> None:
    """Delete the output files of bags that are gone; segments and features stay.

    The stems are those of all bags of a run folder, or of the folder of `predict`.
    """
    known = set(stems)
    for top in (folder / name for name in FOLDERS):
        for path in [path for path in top.rglob("*") if path.is_file()]:
            ending = next((one for one in ENDINGS if path.name.endswith(one)), None)
            stem = PurePosixPath(path.relative_to(top).as_posix().removesuffix(ending or ""))
            if ending and not any(str(one) in known for one in (stem, *stem.parents)):  # frames lie below a stem
                path.unlink(missing_ok=True)
        for parent, _, _ in os.walk(top, topdown=False):
            if parent != str(top) and not os.listdir(parent):
                os.rmdir(parent)
