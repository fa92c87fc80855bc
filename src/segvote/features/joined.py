"""Several extractors as one: their vectors side by side, block after block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from segvote.features.base import FeatureExtractor


class JoinedFeatures(FeatureExtractor):
    """The concatenation of extractors.

    Parameters
    ----------
    parts
        The extractors, in the order of their blocks. Every block ends up with length one, so each counts the same.
    """

    def __init__(self, parts: Sequence[FeatureExtractor]) -> None:
        self.parts = tuple(parts)
        self.blocks = tuple(size for part in self.parts for size in part.blocks)
        self.standardise = tuple(flag for part in self.parts for flag in _list_flags(part))
        self.needs_fit = any(part.needs_fit for part in self.parts)

    def fit(self, images: Iterable[np.ndarray], rng: np.random.Generator) -> Self:
        """Fit the parts that learn; each goes through `images` once, so a sequence that reads lazily saves memory."""
        learners = [part for part in self.parts if part.needs_fit]
        if len(learners) > 1 and isinstance(images, Iterator):
            images = list(images)
        for part in learners:
            part.fit(images, rng)
        return self

    def extract(self, image: np.ndarray, labels: np.ndarray) -> np.ndarray:
        return np.hstack([part.extract(image, labels) for part in self.parts])

    def get_key(self) -> dict[str, Any]:
        return {"name": "joined", "parts": [part.get_key() for part in self.parts]}

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the parts' arrays, each name preceded by the part's place: ``0.words``."""
        return {f"{i}.{key}": array for i, part in enumerate(self.parts) for key, array in part.get_state().items()}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        for i, part in enumerate(self.parts):
            prefix = f"{i}."
            part.set_state({key.removeprefix(prefix): state[key] for key in state if key.startswith(prefix)})


def _list_flags(part: FeatureExtractor) -> tuple[bool, ...]:
    if isinstance(part.standardise, bool):
        return (part.standardise,) * len(part.blocks)
    return part.standardise
