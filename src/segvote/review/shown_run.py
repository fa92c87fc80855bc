"""The images of a run that the page shows: those that voted, and behind them the others that were opened.

Where a sample votes there may be a hundred thousand others. Nothing of them is in memory but their records, until one
is opened or corrected.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import numpy as np

from segvote.errors import BadInputError
from segvote.run.corrections import Corrections
from segvote.run.run import Run


class ShownRun(Run):
    """A run whose `bags` are those of the page: a bag keeps its number, and opening another one appends it.

    Attributes
    ----------
    base : Run
        The run as it is stored; `base.bags` are the first of `bags`.
    numbers : tuple of int
        The number of each bag among `base.all_bags`.
    """

    def __init__(self, run: Run) -> None:
        vars(self).update(vars(run))  # what `run` has read is not read again
        self.base = run
        self.bags = self.all_bags = list(run.bags)
        self.numbers = tuple(range(len(run)))
        self.offsets = run.offsets
        self._bag_votes: dict[int, dict[str, np.ndarray]] = {}

    @cached_property
    def votes(self) -> dict[str, np.ndarray]:
        """Those of the bags that voted."""
        return self.base.votes

    @cached_property
    def _renamed(self) -> dict[str, Path]:
        return self.base._renamed

    @cached_property
    def _others(self) -> dict[str, tuple[int, ...]]:
        """Digest to numbers of the bags that did not vote."""
        found: dict[str, tuple[int, ...]] = {}
        for number in range(len(self.base), len(self.base.all_bags)):
            digest = self.base.all_bags[number].digest
            found[digest] = (*found.get(digest, ()), number)
        return found

    def list_corrected(self, corrections: Corrections) -> list[int]:
        """Numbers, ascending, of the bags that did not vote and are corrected: they vote from now on."""
        if len(self.base) == len(self.base.all_bags):
            return []
        digests: Iterable[str] = corrections.list_images()
        return sorted(number for digest in digests for number in self._others.get(digest, ()))

    def find_shown(self, number: int) -> int:
        """Number here of the bag with a number among `base.all_bags`; -1 where it is not open."""
        if not 0 <= number < len(self.base.all_bags):
            raise BadInputError(f"expected an image from 0 to {len(self.base.all_bags) - 1}; got {number}")
        return self.numbers.index(number) if number in self.numbers else -1

    def open(self, number: int) -> None:
        """Show the bag with a number among `base.all_bags`, behind the others."""
        record = self.base.all_bags[number]
        self._bag_votes[len(self.bags)] = self.base.read_bag_votes(number)
        self.offsets = np.append(self.offsets, self.offsets[-1] + record.n_segments)
        self.numbers = (*self.numbers, number)
        self.bags = self.all_bags = [*self.bags, record]

    def read_bag_votes(self, index: int) -> dict[str, np.ndarray]:
        """As it was when the bag was opened: a vote in which it takes part replaces the file."""
        return self._bag_votes[index] if index in self._bag_votes else self.base.read_bag_votes(self.numbers[index])
