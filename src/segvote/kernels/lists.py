"""Voters in inverted lists (IVF), so that a search looks at few of them and measures fewer.

A squared distance is estimated from the leading principal components and the full lengths, ``|q|^2 + |v|^2 - 2 q'v'``:
what the components leave out of two points is taken to be at right angles. Points are kept in such a form that one
matrix product gives the estimates of many pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from segvote.kernels.workspace import SharedArray, Workspace, list_blocks

__all__ = ["Lists", "centre_points", "estimate_lists", "make_lists", "measure_lengths"]

N_COMPONENTS = 192
# Of these, the leading ones by which voters are put into lists, and how long that is learned.
LISTING_COMPONENTS, LISTING_ROUNDS = 64, 3
# Points from which components are learned.
COMPONENT_POINTS = 8192
# Times the root of the number of voters: the lists. More are shorter, and cost more to choose from.
LISTS_PER_ROOT = 4
# Voters of which a list is learned; of fewer it would be guessed.
TRAINING_PER_LIST = 32
# Read, or looked at, at once.
POINTS_AT_ONCE = 8192


@dataclass(frozen=True)
class Lists:
    """Voters, put into lists.

    Attributes
    ----------
    centre, axes
        (d,) float64 mean of the voters; (d, n_components) float32 directions of their components.
    codes
        (n_voters, n_components + 2) float32, list by list: minus twice the components, the squared length, 1.
    numbers
        (n_voters,) int64: which voter each row of codes is.
    starts
        (n_lists + 1,) int64: where each list begins. None is empty.
    means
        (n_lists, n_components + 1) float32: of the codes of each list, its members' spread about it counted half.
    """

    centre: SharedArray
    axes: SharedArray
    codes: SharedArray
    numbers: SharedArray
    starts: SharedArray
    means: SharedArray

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.starts.array)

    def ask(self, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows (n_queries, n_components + 2) whose products with codes are estimates less |q|^2, plus the last column
        (0); and |q|^2."""
        points = centre_points(queries, self.centre.array)
        asked = np.zeros((len(queries), self.codes.array.shape[1]), dtype=np.float32)
        asked[:, :-2], asked[:, -2] = points @ self.axes.array, 1
        return asked, measure_lengths(points)

    def rate(self, asked: np.ndarray) -> np.ndarray:
        """(n_lists, n_queries): how far, about, the nearer members of each list are, as a square less |q|^2."""
        return self.means.array @ asked[:, :-1].T

    def rank(self, number: int) -> np.ndarray:
        """(n_lists,) the lists, those first that are nearest to one of them."""
        means = self.means.array
        return np.argsort(means[:, -1] - means[:, :-1] @ means[number, :-1] / 2, kind="stable")

    def find_homes(self, queries: np.ndarray) -> np.ndarray:
        """(n_queries,) the list each is nearest to."""
        blocks = list_blocks(len(queries), POINTS_AT_ONCE)
        return np.concatenate([self.rate(self.ask(queries[rows])[0]).argmin(axis=0) for rows in blocks])

    def get_homes(self) -> np.ndarray:
        """(n_voters,) the list each is in."""
        homes = np.empty(len(self.numbers.array), dtype=np.int64)
        homes[self.numbers.array] = np.repeat(np.arange(len(self.means.array)), self.sizes)
        return homes

    def take(self, lists: np.ndarray) -> np.ndarray:
        """Rows of codes of these lists, one after the other."""
        starts = self.starts.array
        return np.concatenate([np.arange(starts[one], starts[one + 1]) for one in lists])


def make_lists(voters: np.ndarray, workspace: Workspace) -> Lists:
    """Put voters (n_voters, d) into lists; they may be mapped from a file, and are read a few at a time."""
    centre = voters.mean(axis=0, dtype=np.float64)
    axes = _find_axes(voters, centre)
    chosen = _choose_lists(voters, centre, np.ascontiguousarray(axes[:, :LISTING_COMPONENTS]))
    numbers = np.argsort(chosen, kind="stable")
    starts = np.flatnonzero(np.diff(chosen[numbers], prepend=-1, append=-1))
    codes = _encode(voters, centre, axes, numbers, workspace)
    shared = (workspace.share(array) for array in (centre, axes, codes, numbers, starts, _average(codes, starts)))
    return Lists(*shared)


def _find_axes(voters: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """(d, n_components) directions in which voters differ most."""
    # Not a random draw: the same sample on every machine.
    sample = centre_points(voters[:: max(1, len(voters) // COMPONENT_POINTS)], centre)
    axes = np.linalg.eigh(sample.T @ sample)[1]
    return np.ascontiguousarray(axes[:, ::-1][:, :N_COMPONENTS], dtype=np.float32)


def _choose_lists(voters: np.ndarray, centre: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """(n_voters,) the list of each, by its components along the axes."""
    import faiss

    sample = voters[:: _find_step(len(voters))]
    means = faiss.Kmeans(axes.shape[1], _count_lists(len(voters)), niter=LISTING_ROUNDS, min_points_per_centroid=1)
    means.train(np.concatenate(list(_project(sample, centre, axes))))
    return np.concatenate([means.index.search(points, 1)[1][:, 0] for points in _project(voters, centre, axes)])


def _project(voters: np.ndarray, centre: np.ndarray, axes: np.ndarray) -> Iterator[np.ndarray]:
    """Components of the voters along some axes, a few voters at a time."""
    for rows in list_blocks(len(voters), POINTS_AT_ONCE):
        yield centre_points(voters[rows], centre) @ axes


def _encode(
    voters: np.ndarray, centre: np.ndarray, axes: np.ndarray, numbers: np.ndarray, workspace: Workspace
) -> np.ndarray:
    codes = workspace.make_array((len(voters), axes.shape[1] + 2), np.float32)
    # Voters in their order, which may be that of a file; codes wherever their lists are.
    places = np.empty(len(numbers), dtype=np.int64)
    places[numbers] = np.arange(len(numbers))
    for rows in list_blocks(len(voters), POINTS_AT_ONCE):
        points = centre_points(voters[rows], centre)
        columns = [-2 * (points @ axes), measure_lengths(points)[:, None], np.ones((len(points), 1), dtype=np.float32)]
        codes[places[rows]] = np.hstack(columns)
    return codes


def _average(codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """(n_lists, n_components + 1) what a search takes a list for."""
    means = np.add.reduceat(codes[:, :-1], starts[:-1], axis=0) / np.diff(starts)[:, None].astype(np.float32)
    # Of the mean of squared lengths, what is not the length of the mean is spread. A wide list has members nearer than
    # its mean; counted half, spread finds most neighbours in fewest lists.
    length = measure_lengths(means[:, :-1]) / 4
    means[:, -1] = (means[:, -1] + length) / 2
    return means


def measure_lengths(points: np.ndarray) -> np.ndarray:
    """(n,) squared."""
    return np.einsum("ij,ij->i", points, points)


def centre_points(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Points about a centre in float32."""
    # Of float64 points the centre may be all but the last digits: it goes before they do. Float32 has no more to lose.
    kind = np.float32 if points.dtype == np.float32 else np.float64
    out = np.empty(points.shape, dtype=np.float32)
    return np.subtract(points, centre, out=out, dtype=kind, casting="same_kind")


def estimate_lists(n_voters: int, n_dims: int) -> tuple[int, int]:
    """Bytes of the codes, which may lie on disk; of what is held beside them, or while they are learned."""
    n_components = min(n_dims, N_COMPONENTS)
    # Numbers, places and lists of all voters; the components of the sample, of which faiss makes a copy.
    learned = 8 * LISTING_COMPONENTS * -(-n_voters // _find_step(n_voters))
    return 4 * (n_components + 2) * n_voters, 32 * n_voters + learned


def _find_step(n_voters: int) -> int:
    """Every so many voters are learned from."""
    return max(1, n_voters // (TRAINING_PER_LIST * _count_lists(n_voters)))


def _count_lists(n_voters: int) -> int:
    """A power of two, about so many times the root, of lists long enough to be learned."""
    wanted = min(LISTS_PER_ROOT * np.sqrt(n_voters), n_voters / TRAINING_PER_LIST)
    return 1 << max(2, int(np.log2(max(wanted, 1)) + 0.5))
