"""The segments of all images as flat arrays: what the method works on, checked once and trusted afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from segvote.errors import BadInputError

N_FOLDS = 5  # groups in which images are left out of the vote


@dataclass(frozen=True)
class Geometry:
    """Where the segments lie in their images; whatever is None is not known and not used.

    Attributes
    ----------
    areas : (n_segments,) float, optional
        In pixels; default 1.
    border : (n_segments,) float, optional
        Length of boundary on the border of the image, in pixels; default 0.
    edges : (m, 2) int, optional
        Pairs of adjacent segments of the same image, numbered over all segments, each pair once.
    lengths : (m,) float, optional
        Length of their shared boundary in pixels; default 1.
    contrasts : (m,) float, optional
        Distance of their mean Lab colours; NaN where it is not known.
    prior : (n_segments,) float, optional
        A background prior in [0, 1] from elsewhere, such as motion; 1 says nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from segvote import Geometry
    >>> Geometry(areas=np.array([120.0, 80.0]), edges=np.array([[0, 1]])).border is None
    True
    """

    areas: np.ndarray | None = None
    border: np.ndarray | None = None
    edges: np.ndarray | None = None
    lengths: np.ndarray | None = None
    contrasts: np.ndarray | None = None
    prior: np.ndarray | None = None


@dataclass(frozen=True)
class SegmentTable:
    """Segments of all images, image after image.

    Attributes
    ----------
    X : (n_segments, d)
        Features.
    images : (n_segments,) int
        Number of the image, ascending from 0.
    positive : (n_images,) bool
        The image is in the *with* folder.
    areas, border, prior : (n_segments,)
        See `Geometry`.
    edges, lengths, contrasts : (m, 2), (m,), (m,)
        See `Geometry`.
    """

    X: np.ndarray
    images: np.ndarray
    positive: np.ndarray
    areas: np.ndarray
    border: np.ndarray
    prior: np.ndarray
    edges: np.ndarray
    lengths: np.ndarray
    contrasts: np.ndarray

    def __len__(self) -> int:
        return len(self.images)

    @property
    def n_images(self) -> int:
        return len(self.positive)

    @cached_property
    def offsets(self) -> np.ndarray:
        """(n_images + 1,) where each image begins."""
        return np.concatenate([[0], np.cumsum(np.bincount(self.images, minlength=self.n_images))])

    @cached_property
    def shares(self) -> np.ndarray:
        """(n_segments,) part of the image that each segment covers."""
        return self.areas / np.bincount(self.images, weights=self.areas)[self.images]

    @cached_property
    def is_candidate(self) -> np.ndarray:
        """(n_segments,) bool: the segment may be object, because its image is in the *with* folder."""
        return self.positive[self.images]

    def get_slice(self, image: int) -> slice:
        """The segments of one image."""
        return slice(int(self.offsets[image]), int(self.offsets[image + 1]))

    def sum_by_image(self, values: np.ndarray) -> np.ndarray:
        """(n_images,) sums of (n_segments,) values."""
        return np.bincount(self.images, weights=values, minlength=self.n_images)

    def find_best(self, values: np.ndarray) -> np.ndarray:
        """(n_images,) highest of (n_segments,) values."""
        return np.maximum.reduceat(values, self.offsets[:-1])

    @cached_property
    def adjacency(self) -> sparse.csr_matrix:
        """(n_segments, n_segments) the mean over adjacent segments that look alike, see `weigh_adjacent`."""
        return weigh_adjacent(len(self), self.edges, self.lengths, self.contrasts)


# Lab distance at which two adjacent segments count as different.
ALIKE = 10.0


def weigh_adjacent(n_segments: int, edges: np.ndarray, lengths: np.ndarray, contrasts: np.ndarray) -> sparse.csr_matrix:
    """Weights of adjacent segments in each other's mean: shared boundary times exp(-contrast^2 / (2 10^2)).

    Returns
    -------
    (n_segments, n_segments) sparse matrix whose rows sum to one; a segment without a neighbour has its own value.
    """
    weights = lengths * np.exp(-(np.nan_to_num(contrasts) ** 2) / (2 * ALIKE**2))
    rows, columns = np.concatenate([edges, edges[:, ::-1]]).T.reshape(2, -1)
    sums = np.bincount(rows, weights=np.tile(weights, 2), minlength=n_segments)
    alone = np.flatnonzero(sums <= 0)
    data = np.concatenate([np.tile(weights, 2) / np.where(sums > 0, sums, 1.0)[rows], np.ones(len(alone))])
    places = np.concatenate([rows, alone]), np.concatenate([columns, alone])
    return sparse.csr_matrix((data, places), shape=(n_segments, n_segments))


def make_table(X: np.ndarray, positive: np.ndarray, images: np.ndarray, geometry: Geometry | None) -> SegmentTable:
    """Check lengths and values.

    Parameters
    ----------
    X : (n_segments, d)
        Finite features.
    positive : (n_images,) bool
        Labels of the images.
    images : (n_segments,) int
        Ascending, every number from 0 to n_images - 1 at least once.
    geometry : Geometry, optional
        Where the segments lie.
    """
    geometry, n_segments = geometry or Geometry(), len(X)
    if positive.all() or not positive.any():
        kind = "with" if positive.any() else "without"
        raise BadInputError(
            f"expected images with the object and images without it; all {len(positive)} are *{kind}* images. "
            "Add images of the other kind"
        )
    if len(images) and (np.diff(images).min(initial=0) < 0 or images[0] != 0 or images[-1] != len(positive) - 1):
        raise BadInputError("images must be numbered in ascending order, segments of one image together; sort them")
    edges = np.empty((0, 2), dtype=np.int64) if geometry.edges is None else np.asarray(geometry.edges).reshape(-1, 2)
    if len(edges) and (edges.min() < 0 or edges.max() >= n_segments):
        raise BadInputError(f"edges must name segments 0 to {n_segments - 1}; got {edges.min()} to {edges.max()}")
    if len(edges) and (images[edges[:, 0]] != images[edges[:, 1]]).any():
        raise BadInputError("edges must join segments of one image; number them over all segments")
    prior = _fill("prior", geometry.prior, n_segments, 1.0)
    if ((prior < 0) | (prior > 1)).any():
        raise BadInputError("prior must lie in [0, 1] for every segment; clip it or give None")
    areas = _fill("areas", geometry.areas, n_segments, 1.0)
    if (areas <= 0).any():
        raise BadInputError("areas must be above 0; leave empty segments out")
    return SegmentTable(
        X=X,
        images=images,
        positive=positive,
        areas=areas,
        border=_fill("border", geometry.border, n_segments, 0.0),
        prior=prior,
        edges=edges,
        lengths=_fill("lengths", geometry.lengths, len(edges), 1.0),
        contrasts=_fill("contrasts", geometry.contrasts, len(edges), np.nan),
    )


def _fill(name: str, values: np.ndarray | None, n: int, default: float) -> np.ndarray:
    if values is None:
        return np.full(n, default)
    values = np.asarray(values, dtype=np.float64)
    if values.shape != (n,):
        raise BadInputError(f"expected {n} {name}, one each; got shape {values.shape}")
    return values


def make_folds(positive: np.ndarray, n_folds: int) -> np.ndarray:
    """(n_images,) number of each image's group: both kinds spread evenly, neighbours by name in different groups."""
    folds = np.empty(len(positive), dtype=np.int64)
    for side in (positive, ~positive):
        folds[side] = np.arange(side.sum()) % n_folds
    return folds
