"""One scale for all blocks of a feature vector: standardise channels over a run, then give each block length one.

Voters that compare segments want directions, so that a faint segment can be like a strong one. Voters that learn a
linear function of a bag's mean want lengths kept: a short vector, made long, is noise.

The statistics are gathered shard by shard, so a run never holds more than one bag's features for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from segvote.errors import BadInputError


@dataclass(frozen=True)
class Standardiser:
    """Means and deviations of a run's channels: 0 and 1 in blocks that are not standardised."""

    mean: np.ndarray  # (n_dims,) float64
    std: np.ndarray  # (n_dims,) float64; 0 for a channel that never changes
    blocks: tuple[int, ...]  # sizes of the blocks, sum n_dims
    has_lengths: bool = False  # blocks keep their lengths instead of getting length one

    def __post_init__(self) -> None:
        n_dims = sum(self.blocks)
        if self.mean.shape != (n_dims,) or self.std.shape != (n_dims,):
            raise BadInputError(f"expected {n_dims} means and deviations, got {self.mean.shape} and {self.std.shape}")

    def apply(self, X: np.ndarray) -> np.ndarray:
        """(n_segments, n_dims) float32 of features as an extractor gave them.

        Each block of a row has length one, unless lengths are kept, or is zero if there is nothing in it. A channel
        that never changed in the run is zero.
        """
        if X.ndim != 2 or X.shape[1] != len(self.mean):
            raise BadInputError(f"expected features of {len(self.mean)} dimensions, got shape {X.shape}")
        scale = np.divide(1.0, self.std, out=np.zeros_like(self.std), where=self.std > 0)
        # Scales of a damaged model lead beyond float32; voters reject values that are not finite.
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = ((X - self.mean) * scale).astype(np.float32)
            for block in [] if self.has_lengths else np.split(scaled, np.cumsum(self.blocks)[:-1], axis=1):
                lengths = np.linalg.norm(block, axis=1, keepdims=True)
                np.divide(block, lengths, out=block, where=lengths > 0)
        return scaled

    def get_state(self) -> dict[str, np.ndarray]:
        """Return the attributes as arrays, for a model file."""
        return {
            "mean": self.mean,
            "std": self.std,
            "blocks": np.array(self.blocks, np.int64),
            "has_lengths": np.array([self.has_lengths], np.uint8),
        }

    @classmethod
    def from_state(cls, state: dict[str, np.ndarray]) -> Standardiser:
        """Make one from the arrays of `get_state`."""
        blocks = tuple(int(size) for size in state["blocks"])
        return cls(state["mean"], state["std"], blocks, bool(np.any(state["has_lengths"])))


def fit_standardiser(
    shards: Iterable[np.ndarray],
    blocks: tuple[int, ...],
    standardise: bool | tuple[bool, ...] = True,
    has_lengths: bool = False,
) -> Standardiser:
    """Gather means and deviations over all segments of a run.

    `shards` are arrays (n_segments of one bag, n_dims), read one at a time; `blocks` and `standardise` are those of an
    extractor, `has_lengths` is a voter's ``wants_lengths``.
    """
    flags = (standardise,) * len(blocks) if isinstance(standardise, bool) else tuple(standardise)
    channels = np.repeat(flags, blocks)
    mean, std = np.zeros(len(channels)), np.ones(len(channels))
    if channels.any():
        mean[channels], std[channels] = _measure_channels(shard[:, channels] for shard in shards)
    return Standardiser(mean, std, tuple(blocks), has_lengths)


def _measure_channels(shards: Iterable[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Merge the moments of shards (Chan, Golub, LeVeque 1979), which cancels nothing, unlike sums of squares."""
    count, mean, squares, low, high = 0, np.zeros(1), np.zeros(1), np.array(np.inf), np.array(-np.inf)
    for shard in shards:
        if len(shard) == 0:
            continue
        shard = shard.astype(np.float64)
        total, shard_mean = count + len(shard), shard.mean(axis=0)
        gap = shard_mean - mean
        squares = squares + ((shard - shard_mean) ** 2).sum(axis=0) + gap**2 * (count * len(shard) / total)
        mean = mean + gap * (len(shard) / total)
        count, low, high = total, np.minimum(low, shard.min(axis=0)), np.maximum(high, shard.max(axis=0))
    # Rounding can leave a constant channel a deviation of 1e-17, which would blow its noise up to one.
    return mean, np.where(high > low, np.sqrt(squares / max(count, 1)), 0.0)
