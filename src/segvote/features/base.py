"""Base class of feature extractors, and the join of several.

An extractor is a plain object that a process pool can copy. Its vectors consist of blocks, which `normalise` puts on
one scale, because that needs all segments of a run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from segvote.errors import BadInputError, DamagedFileError
from segvote.numerics.rounding import round_numbers


class FeatureExtractor(ABC):
    """Extracts features of the segments of an image."""

    blocks: tuple[int, ...]  # sizes of the blocks of the vector; their sum is `n_dims`
    # Whether channels are standardised over all segments of a run before each block is L2-normalised: for all blocks,
    # or one value for each.
    standardise: bool | tuple[bool, ...] = True
    needs_fit: bool = False  # whether `fit` must see the run's images before `extract`

    @property
    def n_dims(self) -> int:
        return sum(self.blocks)

    def fit(self, images: Iterable[np.ndarray], rng: np.random.Generator) -> Self:
        """Learn codebooks from (h, w, 3) uint8 images; most extractors have nothing to learn."""
        return self

    @abstractmethod
    def extract(self, image: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """(n_segments, n_dims) float32: features of the segments of one image, not yet standardised.

        The image is (H, W, 3) uint8 RGB of any size; labels are (h, w) integers 0 .. n-1, where h, w need not be H, W.
        """

    @abstractmethod
    def get_key(self) -> dict[str, Any]:
        """Return the parameters of the extractor for JSON; equal keys and states give equal vectors."""

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the arrays that `fit` learned, by name."""
        return {}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Set the arrays of `get_state`."""
        if state:
            raise DamagedFileError(f"{type(self).__name__} learns nothing, yet a state was stored: {', '.join(state)}")


def check_outputs(features: np.ndarray, image: str, name: str) -> np.ndarray:
    """Features (n_segments, n_dims) as float32, rounded; an error where a user's network gives NaN or infinity."""
    with np.errstate(over="ignore"):
        values = features.astype(np.float32)
    rounded = round_numbers(values)
    if not (np.isfinite(values) & np.isfinite(rounded)).all():
        raise BadInputError(f"{image}: the features {name} of it are not finite numbers; check that network")
    return rounded


class JoinedFeatures(FeatureExtractor):
    """Concatenates the vectors of extractors; every block gets length one, so each counts the same."""

    def __init__(self, parts: Sequence[FeatureExtractor]) -> None:
        self.parts = tuple(parts)
        self.blocks = tuple(size for part in self.parts for size in part.blocks)
        self.standardise = tuple(bool(part.standardise) for part in self.parts for _ in part.blocks)
        self.needs_fit = any(part.needs_fit for part in self.parts)

    def fit(self, images: Iterable[np.ndarray], rng: np.random.Generator) -> Self:
        for part in self.parts:
            if part.needs_fit:
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
