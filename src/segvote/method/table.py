"""`SegmentTable`: the segments of all images as flat arrays, checked once and trusted afterwards.

Segments of an image stand together, and images are numbered from 0. A *bag* is an image, or a video whose images are
its key frames. Segments of one bag do not vote for each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from segvote.errors import BadInputError
from segvote.method.linear import Moments, sum_moments

# Lab distance at which two adjacent segments count as different.
CONTRAST_WIDTH = 10.0
# Properties of a table that are computed once and do not depend on its labels.
LABEL_FREE = ("offsets", "shares", "moments", "adjacency", "bags", "bag_offsets")


@dataclass(frozen=True)
class Geometry:
    """Where the segments lie in their images; an array that is None is not used.

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
    centres : (n_segments, 2) float, optional
        Centre of each segment, row and column, as a share of the image's height and width.
    prior : (n_segments,) float, optional
        A background prior in [0, 1] from elsewhere, such as motion; 1 is neutral.

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
    centres: np.ndarray | None = None
    prior: np.ndarray | None = None


@dataclass(frozen=True)
class SegmentTable:
    """Features, images and geometry of all segments, image after image; see `make_table` and `Geometry`."""

    X: np.ndarray  # (n_segments, d) features
    images: np.ndarray  # (n_segments,) number of the image, ascending from 0
    image_bags: np.ndarray  # (n_images,) number of the image's bag, ascending from 0
    positive: np.ndarray  # (n_images,) bool: the image is in the *with* folder
    areas: np.ndarray  # (n_segments,)
    border: np.ndarray  # (n_segments,)
    prior: np.ndarray  # (n_segments,)
    centres: np.ndarray  # (n_segments, 2), NaN where not known
    edges: np.ndarray  # (m, 2)
    lengths: np.ndarray  # (m,)
    contrasts: np.ndarray  # (m,), NaN where not known

    def __len__(self) -> int:
        return len(self.images)

    @property
    def n_images(self) -> int:
        return len(self.positive)

    @cached_property
    def offsets(self) -> np.ndarray:
        """(n_images + 1,) first segment of each image."""
        return np.searchsorted(self.images, np.arange(self.n_images + 1))

    @cached_property
    def shares(self) -> np.ndarray:
        """(n_segments,) part of its image that each segment covers."""
        return self.areas / np.bincount(self.images, weights=self.areas)[self.images]

    @cached_property
    def is_candidate(self) -> np.ndarray:
        """(n_segments,) bool: the segment may be object, because its image is in the *with* folder."""
        return self.positive[self.images]

    @cached_property
    def moments(self) -> Moments:
        """Sums over all segments, computed once: each classifier subtracts those that it leaves out.

        See `segvote.method.linear.fit_direction`.
        """
        return sum_moments(self.X)

    @cached_property
    def adjacency(self) -> sparse.csr_matrix:
        """(n_segments, n_segments) weights of adjacent segments, see `weigh_adjacent`."""
        return weigh_adjacent(len(self), self.edges, self.lengths, self.contrasts)

    @cached_property
    def bags(self) -> np.ndarray:
        """(n_segments,) number of the segment's bag."""
        return self.image_bags[self.images]

    @cached_property
    def bag_offsets(self) -> np.ndarray:
        """(n_bags + 1,) first segment of each bag."""
        return np.searchsorted(self.bags, np.arange(self.image_bags[-1] + 2))

    @property
    def bag_labels(self) -> np.ndarray:
        """(n_bags,) bool: the bag is in the *with* folder."""
        return self.positive[np.unique(self.image_bags, return_index=True)[1]]

    def relabel(self, bag_labels: np.ndarray) -> SegmentTable:
        """The same segments with other labels (n_bags,) bool."""
        return self.relabel_images(np.asarray(bag_labels)[self.image_bags])

    def relabel_images(self, positive: np.ndarray) -> SegmentTable:
        """The same segments with other labels (n_images,) bool; what depends on no label is not computed again."""
        other = replace(self, positive=positive)
        other.__dict__.update({name: vars(self)[name] for name in LABEL_FREE if name in vars(self)})
        return other

    def average_by_bag(self, values: np.ndarray) -> np.ndarray:
        """(n_bags,) means over the images of each bag of values (n_images,); the values where each bag is an image."""
        counts = np.bincount(self.image_bags)
        return values if (counts == 1).all() else np.bincount(self.image_bags, weights=values) / counts

    def get_slice(self, image: int) -> slice:
        """The segments of one image."""
        return slice(int(self.offsets[image]), int(self.offsets[image + 1]))

    def split_with(self, values: np.ndarray) -> list[np.ndarray]:
        """Values (n_segments,) of the segments of each *with* image."""
        return [values[self.get_slice(image)] for image in map(int, np.flatnonzero(self.positive))]

    def sum_by_image(self, values: np.ndarray) -> np.ndarray:
        """(n_images,) sums of values (n_segments,)."""
        return np.bincount(self.images, weights=values, minlength=self.n_images)

    def max_by_image(self, values: np.ndarray) -> np.ndarray:
        """(n_images,) highest of values (n_segments,)."""
        return np.maximum.reduceat(values, self.offsets[:-1])

    def measure_top(self, scores: np.ndarray, share: float) -> np.ndarray:
        """(n_images,) mean score of the highest-scoring `share` of each image's area."""
        order = np.lexsort((-scores, self.images))
        before = np.cumsum(self.shares[order]) - self.shares[order]
        before -= before[self.offsets[:-1]][self.images[order]]
        taken = np.clip(share - before, 0.0, self.shares[order])
        sums = np.bincount(self.images[order], weights=taken * scores[order], minlength=self.n_images)
        return sums / np.bincount(self.images[order], weights=taken, minlength=self.n_images)

    def smooth(self, scores: np.ndarray, part: float) -> np.ndarray:
        """(1 - part) f_i + part times the mean of the adjacent segments, weighted by how far they look alike.

        The paper's second voting, with weights.
        """
        return smooth_along(self.adjacency, scores, part)


def smooth_along(adjacency: sparse.csr_matrix, scores: np.ndarray, part: float) -> np.ndarray:
    """Scores (n_segments,) of which a `part` comes from adjacent segments, see `weigh_adjacent`."""
    return (1 - part) * scores + part * (adjacency @ scores)


def weigh_adjacent(n_segments: int, edges: np.ndarray, lengths: np.ndarray, contrasts: np.ndarray) -> sparse.csr_matrix:
    """(n_segments, n_segments) shared boundary times exp(-contrast^2 / (2 10^2)) of adjacent segments.

    Rows sum to one; a segment without an adjacent segment has its own value.
    """
    weights = lengths * np.exp(-(np.nan_to_num(contrasts) ** 2) / (2 * CONTRAST_WIDTH**2))
    rows, columns = np.concatenate([edges, edges[:, ::-1]]).T.reshape(2, -1)
    sums = np.bincount(rows, weights=np.tile(weights, 2), minlength=n_segments)
    alone = np.flatnonzero(sums <= 0)
    data = np.concatenate([np.tile(weights, 2) / np.where(sums > 0, sums, 1.0)[rows], np.ones(len(alone))])
    places = np.concatenate([rows, alone]), np.concatenate([columns, alone])
    return sparse.csr_matrix((data, places), shape=(n_segments, n_segments))


def make_table(
    X: np.ndarray,
    positive: np.ndarray | None,
    images: np.ndarray,
    geometry: Geometry | None = None,
    image_bags: np.ndarray | None = None,
) -> SegmentTable:
    """A `SegmentTable` of checked arrays.

    Images (n_segments,) ascend, every number from 0 to n_images - 1 at least once. Their labels `positive` (n_images,)
    are None where they are not known, of images to be predicted. Bags (n_images,) ascend from 0 without gaps; without
    them, every image is a bag.
    """
    if positive is None:
        positive = np.zeros(images[-1] + 1, dtype=bool)
    elif positive.all() or not positive.any():
        kind = "with" if positive.any() else "without"
        raise BadInputError(
            f"expected images with the object and images without it; all {len(positive)} are *{kind}* images. "
            "Add images of the other kind"
        )
    geometry, n_segments, n_images = geometry or Geometry(), len(X), len(positive)
    if len(images) and (np.diff(images).min(initial=0) < 0 or images[0] != 0 or images[-1] != n_images - 1):
        raise BadInputError("images must be numbered in ascending order, segments of one image together; sort them")
    if image_bags is not None and (np.shape(image_bags) != (n_images,) or np.diff(image_bags).min(initial=0) < 0):
        raise BadInputError(f"expected {n_images} bags, one for each image, in ascending order; sort them")
    return SegmentTable(
        X=X,
        images=images,
        image_bags=np.arange(n_images) if image_bags is None else np.asarray(image_bags),
        positive=positive,
        areas=_check_range("areas", _fill("areas", geometry.areas, (n_segments,), 1.0), np.nextafter(0, 1), np.inf),
        border=_fill("border", geometry.border, (n_segments,), 0.0),
        prior=_check_range("prior", _fill("prior", geometry.prior, (n_segments,), 1.0), 0.0, 1.0),
        centres=_fill("centres", geometry.centres, (n_segments, 2), np.nan),
        edges=(edges := _check_edges(geometry.edges, images)),
        lengths=_fill("lengths", geometry.lengths, (len(edges),), 1.0),
        contrasts=_fill("contrasts", geometry.contrasts, (len(edges),), np.nan),
    )


def _check_edges(edges: np.ndarray | None, images: np.ndarray) -> np.ndarray:
    pairs = np.empty((0, 2), dtype=np.int64) if edges is None else np.asarray(edges).reshape(-1, 2)
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(images)):
        raise BadInputError(f"edges must name segments 0 to {len(images) - 1}; got {pairs.min()} to {pairs.max()}")
    if len(pairs) and (images[pairs[:, 0]] != images[pairs[:, 1]]).any():
        raise BadInputError("edges must join segments of one image; number them over all segments")
    return pairs


def _check_range(name: str, values: np.ndarray, low: float, high: float) -> np.ndarray:
    if not ((values >= low) & (values <= high)).all():
        wanted = "above 0" if np.isinf(high) else f"in [{low:g}, {high:g}]"
        raise BadInputError(f"{name} must be {wanted} for every segment; got {values.min():g} to {values.max():g}")
    return values


def _fill(name: str, values: np.ndarray | None, shape: tuple[int, ...], default: float) -> np.ndarray:
    if values is None:
        return np.full(shape, default)
    values = np.asarray(values, dtype=np.float64)
    if values.shape != shape:
        raise BadInputError(f"expected {name} of shape {shape}, one each; got {values.shape}")
    return values
