"""The alternatives of a vote in a run folder: other things that *with* images share, each with a letter.

``votes/alternatives.npz`` holds their selections, scores and thresholds before corrections. `A` is the vote itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_uppercase

import numpy as np

from segvote.errors import BadInputError, DamagedFileError
from segvote.io.arrays import read_arrays, write_arrays
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder

# Confidence levels at which the user is asked to choose an alternative.
ASKED_LEVELS = ("low", "fair")
NAMES = {"selected", "scores", "thresholds", "support"}


@dataclass(frozen=True)
class Alternatives:
    """Selections of several votes on the same segments, the default first."""

    selected: np.ndarray  # (n_alternatives, n_segments) bool
    scores: np.ndarray  # (n_alternatives, n_segments)
    thresholds: np.ndarray  # (n_alternatives, n_bags) score above which segments are object
    support: np.ndarray  # (n_alternatives,) how well each is supported, see `segvote.method.alternatives`

    def __len__(self) -> int:
        return len(self.support)


NO_ALTERNATIVES = Alternatives(np.empty((0, 0), bool), np.empty((0, 0)), np.empty((0, 0)), np.empty(0))


def write_alternatives(folder: RunFolder, alternatives: Alternatives) -> None:
    """Write the alternatives of a vote; where there are none, those of an earlier vote are deleted."""
    path = folder.alternatives_path
    if not len(alternatives):
        path.unlink(missing_ok=True)
        return
    packed = np.packbits(alternatives.selected, axis=1)
    others = {name: getattr(alternatives, name) for name in sorted(NAMES - {"selected"})}
    write_arrays(path, False, selected=packed, **others)


def read_alternatives(run: Run) -> Alternatives:
    """The alternatives of a run; none for a voter other than the method."""
    path, n_segments = run.folder.alternatives_path, int(run.offsets[-1])
    if not path.is_file():
        return NO_ALTERNATIVES
    arrays = read_arrays(path)
    n_alternatives = len(arrays.get("support", ()))
    shapes = {
        "selected": (n_alternatives, (n_segments + 7) // 8),
        "scores": (n_alternatives, n_segments),
        "thresholds": (n_alternatives, len(run)),
        "support": (n_alternatives,),
    }
    if arrays.keys() != NAMES or any(arrays[name].shape != shape for name, shape in shapes.items()):
        raise DamagedFileError(f"{path} does not belong to this run.json; annotate again")
    if arrays["selected"].dtype != np.uint8 or n_alternatives > len(ascii_uppercase):
        raise DamagedFileError(f"{path} does not hold alternatives of a vote; annotate again")
    selected = np.unpackbits(arrays.pop("selected"), axis=1, count=n_segments).astype(bool)
    return Alternatives(selected, **arrays)


def name_alternative(number: int) -> str:
    """The letter of an alternative by its number, 0 for A."""
    return ascii_uppercase[number]


def parse_alternative(which: str | int) -> int:
    """Number of an alternative, 0 for A, by its letter or its place in the list from 1."""
    text = str(which).strip().upper()
    if len(text) == 1 and text in ascii_uppercase:
        return ascii_uppercase.index(text)
    if text.isdecimal() and 1 <= int(text) <= len(ascii_uppercase):
        return int(text) - 1
    raise BadInputError(f"expected the letter of an alternative, such as B; got {str(which)!r:.40}; see the report")


def check_alternative(number: int, n_alternatives: int) -> int:
    """Refuse the number of an alternative that a run does not have; returns it."""
    if 0 <= number < n_alternatives:
        return number
    if not n_alternatives:
        raise BadInputError("this run has no alternatives: only the method, voter ekde, lists them; annotate again")
    if n_alternatives == 1:
        raise BadInputError("this run has no alternatives but A: nothing else repeats; correct it in `segvote review`")
    got = name_alternative(number) if 0 <= number < len(ascii_uppercase) else number
    raise BadInputError(
        f"expected an alternative from A to {name_alternative(n_alternatives - 1)}; got {got}; see the report"
    )
