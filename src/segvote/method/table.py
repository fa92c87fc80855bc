"""The segments of all images as flat arrays: the only table of the method, checked once and trusted afterwards.

Segments of an image stand together, images are numbered from 0. A *group* is what must not vote for itself: an image,
or all key frames of a video.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from segvote.errors import BadInputError

# Lab distance at which two adjacent segments count as different.
CONTRAST_WIDTH = 10.0


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
    """Segments of all images, image after image.

    Attributes
    ----------
    X : (n_segments, d)
        Features.
    images : (n_segments,) int
        Number of the image, ascending from 0.
    groups : (n_images,) int
        Number of the image's group, ascending; segments of one group do not vote for each other.
    positive : (n_images,) bool
        The image is in the *with* folder.
    areas, border, prior, centres : (n_segments,), (n_segments, 2)
        See `Geometry`; centres are NaN where they are not known.
    edges, lengths, contrasts : (m, 2), (m,), (m,)
        See `Geometry`.
    """

    X: np.ndarray
    images: np.ndarray
    groups: np.ndarray
    positive: np.ndarray
    areas: np.ndarray
    border: np.ndarray
    prior: np.ndarray
    centres: np.ndarray
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

    @cached_property
    def adjacency(self) -> sparse.csr_matrix:
        """(n_segments, n_segments) the mean over adjacent segments that look alike, see `weigh_adjacent`."""
        return weigh_adjacent(len(self), self.edges, self.lengths, self.contrasts)

    @cached_property
    def bags(self) -> np.ndarray:
        """(n_segments,) number of the group of the segment's image: in a run, an image or a video."""
        return self.groups[self.images]

    @cached_property
    def bag_offsets(self) -> np.ndarray:
        """(n_bags + 1,) where each group begins."""
        return np.searchsorted(self.bags, np.arange(self.groups[-1] + 2))

    @property
    def bag_labels(self) -> np.ndarray:
        """(n_bags,) bool: the group is in the *with* folder."""
        return self.positive[np.searchsorted(self.groups, np.arange(self.groups[-1] + 1))]

    def relabel(self, bag_labels: np.ndarray) -> SegmentTable:
        """The same segments with other labels (n_bags,) bool of the groups."""
        return replace(self, positive=np.asarray(bag_labels)[self.groups])

    def average_by_bag(self, values: np.ndarray) -> np.ndarray:
        """(n_bags,) means over the images of each group, of values (n_images,); where each has one, the values."""
        counts = np.bincount(self.groups)
        return values if (counts == 1).all() else np.bincount(self.groups, weights=values) / counts

    def get_slice(self, image: int) -> slice:
        """The segments of one image."""
        return slice(int(self.offsets[image]), int(self.offsets[image + 1]))

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """Values (n_segments,) of the segments of each *with* image."""
        return [values[self.get_slice(image)] for image in map(int, np.flatnonzero(self.positive))]

    def sum_by_image(self, values: np.ndarray) -> np.ndarray:
        """(n_images,) sums of (n_segments,) values."""
        return np.bincount(self.images, weights=values, minlength=self.n_images)

    def find_best(self, values: np.ndarray) -> np.ndarray:
        """(n_images,) highest of (n_segments,) values."""
        return np.maximum.reduceat(values, self.offsets[:-1])

    def measure_top(self, scores: np.ndarray, share: float) -> np.ndarray:
        """(n_images,) mean score of the highest-scoring `share` of each image's area."""
        order = np.lexsort((-scores, self.images))
        covered = np.cumsum(self.shares[order])
        before = covered - self.shares[order]
        before -= before[self.offsets[:-1]][self.images[order]]
        taken = np.clip(share - before, 0.0, self.shares[order])
        sums = np.bincount(self.images[order], weights=taken * scores[order], minlength=self.n_images)
        return sums / np.bincount(self.images[order], weights=taken, minlength=self.n_images)

    def smooth(self, scores: np.ndarray, part: float) -> np.ndarray:
        """(1 - l) f_i + l times the mean of the adjacent segments that look alike (the paper's second voting)."""
        return smooth_along(self.adjacency, scores, part)


def smooth_along(adjacency: sparse.csr_matrix, scores: np.ndarray, part: float) -> np.ndarray:
    """Scores (n_segments,) of which a `part` comes from adjacent segments, see `weigh_adjacent`."""
    return (1 - part) * scores + part * (adjacency @ scores)


def weigh_adjacent(n_segments: int, edges: np.ndarray, lengths: np.ndarray, contrasts: np.ndarray) -> sparse.csr_matrix:
    """Weights of adjacent segments in each other's mean: shared boundary times exp(-contrast^2 / (2 10^2)).

    Returns
    -------
    (n_segments, n_segments) sparse matrix whose rows sum to one; a segment without a neighbour has its own value.
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
    groups: np.ndarray | None = None,
) -> SegmentTable:
    """Check lengths and values.

    Parameters
    ----------
    X : (n_segments, d)
        Finite features.
    positive : (n_images,) bool or None
        Labels of the images; None: not known, of images to be predicted.
    images : (n_segments,) int
        Ascending, every number from 0 to n_images - 1 at least once.
    geometry : Geometry, optional
        Where the segments lie.
    groups : (n_images,) int, optional
        Ascending; default: every image is a group of its own.
    """
    if positive is None:
        positive = np.zeros(images[-1] + 1, dtype=bool)
    else:
        check_both_kinds(positive)
    geometry, n_segments, n_images = geometry or Geometry(), len(X), len(positive)
    if len(images) and (np.diff(images).min(initial=0) < 0 or images[0] != 0 or images[-1] != n_images - 1):
        raise BadInputError("images must be numbered in ascending order, segments of one image together; sort them")
    if groups is not None and (np.shape(groups) != (n_images,) or np.diff(groups).min(initial=0) < 0):
        raise BadInputError(f"expected {n_images} groups, one for each image, in ascending order; sort them")
    return SegmentTable(
        X=X,
        images=images,
        groups=np.arange(n_images) if groups is None else np.asarray(groups),
        positive=positive,
        areas=_check_range("areas", _fill("areas", geometry.areas, (n_segments,), 1.0), np.nextafter(0, 1), np.inf),
        border=_fill("border", geometry.border, (n_segments,), 0.0),
        prior=_check_range("prior", _fill("prior", geometry.prior, (n_segments,), 1.0), 0.0, 1.0),
        centres=_fill("centres", geometry.centres, (n_segments, 2), np.nan),
        edges=(edges := _check_edges(geometry.edges, images)),
        lengths=_fill("lengths", geometry.lengths, (len(edges),), 1.0),
        contrasts=_fill("contrasts", geometry.contrasts, (len(edges),), np.nan),
    )


def check_both_kinds(positive: np.ndarray) -> None:
    """Raise unless there are images of both folders."""
    if positive.all() or not positive.any():
        kind = "with" if positive.any() else "without"
        raise BadInputError(
            f"expected images with the object and images without it; all {len(positive)} are *{kind}* images. "
            "Add images of the other kind"
        )


def _check_edges(edges: np.ndarray | None, images: np.ndarray) -> np.ndarray:
    found = np.empty((0, 2), dtype=np.int64) if edges is None else np.asarray(edges).reshape(-1, 2)
    if len(found) and (found.min() < 0 or found.max() >= len(images)):
        raise BadInputError(f"edges must name segments 0 to {len(images) - 1}; got {found.min()} to {found.max()}")
    if len(found) and (images[found[:, 0]] != images[found[:, 1]]).any():
        raise BadInputError("edges must join segments of one image; number them over all segments")
    return found


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


def make_folds(table: SegmentTable, n_folds: int) -> np.ndarray:
    """(n_images,) number of each image's fold: both folders spread evenly, the images of a group together."""
    groups, first = np.unique(table.groups, return_index=True)
    folds = np.empty(len(groups), dtype=np.int64)
    for side in (table.positive[first], ~table.positive[first]):
        folds[side] = np.arange(side.sum()) % n_folds
    return folds[np.searchsorted(groups, table.groups)]


# Arrays as a user gives them ------------------------------------------------------------------------------------------


def encode_labels(y: np.ndarray, pos_label: object = None) -> tuple[np.ndarray, np.ndarray]:
    """The two classes, the positive one last, and which segments carry it.

    Parameters
    ----------
    y : (n_segments,)
        Labels of two classes.
    pos_label : optional
        The label of *with* images; None: the larger of two numbers, True, or ``with`` beside ``without``.
    """
    classes = np.unique(y)
    if len(classes) > 2:
        # The first sentence is the one scikit-learn's own checks look for.
        raise BadInputError(
            "Only binary classification is supported. Expected the two labels *with* and *without*; "
            f"got {len(classes)} classes. Fit one estimator per class"
        )
    if len(classes) < 2:
        raise BadInputError(
            f"expected segments of two classes, *with* and *without* the object; got {len(classes)} class(es): "
            f"{', '.join(map(str, classes[:5]))}. Add images of the missing kind"
        )
    positive = _find_positive(classes, pos_label)
    return np.array([classes[1 - positive], classes[positive]], dtype=classes.dtype), y == classes[positive]


def _find_positive(classes: np.ndarray, pos_label: object) -> int:
    names = [str(one) for one in classes]
    if pos_label is not None:
        if str(pos_label) not in names:
            raise BadInputError(f"pos_label must be one of the labels {names}; got {pos_label!r}")
        return names.index(str(pos_label))
    if set(names) == {"with", "without"}:
        return names.index("with")
    if classes.dtype.kind not in "biuf":
        raise BadInputError(f"which of the labels {names} means *with* the object? Say it with pos_label")
    return 1


def number_images(ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Names of the images in order of appearance, and (n_segments,) their numbers; segments of an image together."""
    starts = np.flatnonzero(np.concatenate([[True], ids[1:] != ids[:-1]]))
    names = ids[starts]
    if len(np.unique(names)) < len(names):
        raise BadInputError("segments of one image must stand together; sort X, y and images by image")
    return names, np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(ids))))


def label_images(labels: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """(n_images,) bool, from the labels (n_segments,) bool of the segments, of which those of an image agree."""
    counts, sizes = np.bincount(numbers, weights=labels), np.bincount(numbers)
    mixed = np.flatnonzero((counts > 0) & (counts < sizes))
    if len(mixed):
        raise BadInputError(
            f"an image is *with* or *without*, so all its segments share one label; image {mixed[0]} has both. "
            "Give the image's label to all its segments"
        )
    return counts > 0


def check_user_labels(user_labels: np.ndarray | None, n_segments: int) -> np.ndarray:
    """(n_segments,) int8: -1 unknown, 0 background, 1 object; all unknown for None."""
    if user_labels is None:
        return np.full(n_segments, -1, dtype=np.int8)
    user_labels = np.asarray(user_labels)
    if user_labels.shape != (n_segments,) or not np.isin(user_labels, (-1, 0, 1)).all():
        raise BadInputError("user labels must be -1 (unknown), 0 (background) or 1 (object) for every segment")
    return user_labels.astype(np.int8)


def apply_labels(selected: np.ndarray, user_labels: np.ndarray) -> np.ndarray:
    """The selection (n_segments,) in which user labels hold."""
    return np.where(user_labels >= 0, user_labels == 1, selected)
