"""Accidents that happen to a table of segments; the table itself is never changed, a new one is given back.

Each takes a table, a level and a random generator, and gives the changed table and the numbers that its bags had.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from segvote.errors import BadInputError
from segvote.steps.table import Table


def flip_labels(table: Table, level: float, rng: np.random.Generator) -> tuple[Table, np.ndarray]:
    """Put this part of the bags of each kind into the other folder; at least one of each stays where it is."""
    labels = table.positive.copy()
    for kind in (True, False):
        # One order for all levels: a bag that is wrong at 5 % is wrong at 20 % too.
        members = rng.permutation(np.flatnonzero(table.positive == kind))
        wrong = members[: min(round(level * len(members)), len(members) - 1)]
        labels[wrong] = not kind
    return replace(table, positive=labels), np.arange(len(labels))


def draw_bags(table: Table, level: float, rng: np.random.Generator) -> tuple[Table, np.ndarray]:
    """Keep `level` bags of each kind."""
    kept = []
    for kind, name in ((True, "with"), (False, "without")):
        members = np.flatnonzero(table.positive == kind)
        if len(members) < level:
            raise BadInputError(f"there are only {len(members)} images {name}, fewer than {level:g}")
        kept.append(rng.permutation(members)[: int(level)])
    chosen = np.sort(np.concatenate(kept))
    return take_bags(table, chosen), chosen


def add_noise(table: Table, level: float, rng: np.random.Generator) -> tuple[Table, np.ndarray]:
    """Add Gaussian noise of `level` times each feature's standard deviation."""
    noise = rng.standard_normal(table.X.shape, dtype=np.float32)
    X = table.X + np.float32(level) * table.X.std(axis=0) * noise
    return replace(table, X=X), np.arange(len(table.positive))


def take_bags(table: Table, bags: np.ndarray) -> Table:
    """The table of some bags only, numbered anew in the order given."""
    rows = np.concatenate([np.arange(table.offsets[bag], table.offsets[bag + 1]) for bag in bags])
    counts = np.diff(table.offsets)[bags]
    return replace(
        table,
        X=table.X[rows],
        bags=np.repeat(np.arange(len(bags)), counts),
        offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        positive=table.positive[bags],
        areas=table.areas[rows],
        border=table.border[rows],
        edges=[table.edges[bag] for bag in bags],
        lengths=[table.lengths[bag] for bag in bags],
        contrasts=[table.contrasts[bag] for bag in bags],
        frames=table.frames[rows] if len(table.frames) else table.frames,
    )
