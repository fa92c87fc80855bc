"""What every feature extractor promises: an image and its label map in, one vector per segment out; and several as one.

An extractor is a plain object that a process pool can copy. Its vectors consist of blocks; putting the blocks on one
scale is the job of `normalise`, because that needs all segments of a run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

import numpy as np

from segvote.errors import BadInputError, DamagedFileError


class FeatureExtractor(ABC):
    """Extracts features of the segments of an image.

    Attributes
    ----------
    blocks
        Sizes of the blocks that the vector consists of; their sum is `n_dims`.
    standardise
        Whether the channels are standardised over all segments of a run before each block is L2-normalised: one answer,
        or one for each block.
    needs_fit
        Whether `fit` must see the run's images before `extract`.
    """

    blocks: tuple[int, ...]
    standardise: bool | tuple[bool, ...] = True
    needs_fit: bool = False

    @property
    def n_dims(self) -> int:
        return sum(self.blocks)

    def fit(self, images: Iterable[np.ndarray], rng: np.random.Generator) -> Self:
        """Learn codebooks from (h, w, 3) uint8 images; most extractors have nothing to learn."""
        return self

    @abstractmethod
    def extract(self, image: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Features of the segments of one image.

        Parameters
        ----------
        image
            (H, W, 3) uint8 RGB, of any size.
        labels
            (h, w) integers 0 .. n-1 over the same picture; h, w need not be H, W.

        Returns
        -------
        ndarray
            (n_segments, n_dims) float32, not yet standardised.
        """

    @abstractmethod
    def get_key(self) -> dict[str, Any]:
        """Return the JSON-able parameters that decide the answer; equal keys and states give equal vectors."""

    def get_state(self) -> dict[str, np.ndarray]:
        """Return what `fit` learned, as arrays by name."""
        return {}

    def set_state(self, state: dict[str, np.ndarray]) -> None:
        """Take over what another extractor of the same key has learned."""
        if state:
            raise DamagedFileError(f"{type(self).__name__} learns nothing, yet a state was stored: {', '.join(state)}")


def check_inputs(image: np.ndarray, labels: np.ndarray) -> None:
    """Refuse what is not an (H, W, 3) uint8 image and an (h, w) label map."""
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8 or image.size == 0:
        raise BadInputError(f"expected an image (h, w, 3) of uint8, got {image.shape} of {image.dtype}")
    if labels.ndim != 2 or labels.size == 0 or not np.issubdtype(labels.dtype, np.integer) or labels.min() < 0:
        raise BadInputError(f"expected a label map (h, w) of integers >= 0, got {labels.shape} of {labels.dtype}")


def check_outputs(features: np.ndarray, image: str, name: str) -> np.ndarray:
    """Features (n_segments, n_dims) as float32, if they are numbers: those of a user's network may be NaN.

    The error names the image whose they are and what computed them.
    """
    with np.errstate(over="ignore"):
        values = features.astype(np.float32)
    if not np.isfinite(values).all():
        raise BadInputError(f"{image}: the features {name} of it are not finite numbers; check that network")
    return values


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
