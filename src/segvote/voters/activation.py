"""Activation maps of a network, read at every segment; of the labels only the mean of the *without* segments is used.

Both systems were made for maps behind a rectifier, whose zero means that nothing is seen. Ours are standardised over
the segments of a run, so activation is the part of a channel above its mean over the *without* segments.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from segvote.errors import BadInputError
from segvote.voters.base import BaseVoter, Segments


class AggregationMap(BaseVoter):
    """The aggregation map of selective convolutional descriptor aggregation (Wei 2017), our reading of it on segments.

    ``A(x) = sum_c max(0, x_c - m_c)``, m_c the mean of channel c over the *without* segments (0 in the original, whose
    channels come from a rectifier). A segment is object where A exceeds its mean over the *with* bags. The rule as
    published, the mean of each image and its largest connected component only, is the own rule of `segvote compare`.
    """

    wants_lengths = True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # No target is given: of the labels only the positions of the negatives are used.
        tags.classifier_tags.poor_score = True
        return tags

    def _learn(self, segments: Segments) -> None:
        self._background = segments.X[~segments.positive].mean(axis=0, dtype=np.float64)

    def _find_threshold(self, raw: np.ndarray, segments: Segments) -> float:
        return float(raw[segments.bag_labels[segments.bags]].mean())

    def _activate(self, X: np.ndarray) -> np.ndarray:
        return np.maximum(X.astype(np.float64) - self._background, 0.0)

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return self._activate(X).sum(axis=1)


@dataclass(eq=False, repr=False)
class ActivationMask(AggregationMap):
    """Foreground by the activations of several layers, each with the same weight (Saleh 2018), our reading.

    The score is the mean over layers of the mean activation of the layer's channels, which are on one scale already.
    The original fuses the fourth and the fifth group of layers of VGG-16, with weights that we have not seen, and
    smooths with a dense CRF; here `annotate` draws masks by a graph cut along superpixels.
    """

    blocks: tuple[int, ...] | None = None  # channels of each layer, in order (40, 112, 320 for lite0); None: one layer

    def _learn(self, segments: Segments) -> None:
        n_dims = segments.X.shape[1]
        sizes = np.array([n_dims] if self.blocks is None else self.blocks, dtype=np.int64)
        if sizes.sum() != n_dims or (sizes < 1).any():
            raise BadInputError(f"blocks must be sizes that sum to the {n_dims} features; got {self.blocks}")
        self._sizes = sizes
        super()._learn(segments)

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        starts = np.cumsum(self._sizes) - self._sizes
        return (np.add.reduceat(self._activate(X), starts, axis=1) / self._sizes).mean(axis=1)
