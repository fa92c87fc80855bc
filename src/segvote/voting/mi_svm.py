"""mi-SVM and MI-SVM: a support vector machine that guesses, trains, and guesses again.

mi-SVM guesses a label for every segment of a *with* bag and sees to it that each such bag keeps one object (the argmax
rule). MI-SVM guesses one witness per *with* bag and ignores its other segments. Kernel machines are quadratic or worse
in the number of segments: above `max_exact` of them the kernel is replaced by its Nyström map on evenly spaced
landmarks, and the machine by a linear one.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.svm import SVC, LinearSVC

from segvote.voting.learning_bags import Bags, BagVoter, spread_out
from segvote.voting.segments import Segments
from segvote.voting.standard import learn_standard

__all__ = ["BagMISVM", "MiSVM"]

QUERIES_PER_BLOCK = 2048
# The kernel's gamma times the number of features. A kernel as narrow as one over them remembers every segment of a
# *with* bag, and the guess confirms itself.
WIDTH = 0.2
# Directions of the landmarks' kernel weaker than this part of the strongest are noise.
WEAK_DIRECTION = 1e-10


class _Machine:
    """A Gaussian SVM, exact or on a Nyström map. Its votes are ``sum_k amounts_k k(x, t_k) + intercept``."""

    def __init__(self, C: float, gamma: float, landmarks: np.ndarray | None) -> None:
        self._C, self._gamma, self._landmarks = C, gamma, landmarks
        self.support: np.ndarray | None = None
        if landmarks is not None:
            self.points = landmarks
            self._root = _invert_root(self._measure(landmarks, landmarks))

    def fit(self, X: np.ndarray, labels: np.ndarray) -> _Machine:
        if self._landmarks is None:
            model = SVC(C=self._C, gamma=self._gamma, class_weight="balanced").fit(X, labels)
            self.support, self.points, self.amounts = model.support_, X[model.support_], model.dual_coef_[0]
        else:
            model = LinearSVC(C=self._C, dual=False, class_weight="balanced", max_iter=10_000).fit(self._map(X), labels)
            self.amounts = self._root @ model.coef_[0]
        self.intercept = float(model.intercept_[0])
        return self

    def _map(self, X: np.ndarray) -> np.ndarray:
        blocks = range(0, len(X), QUERIES_PER_BLOCK)
        to_landmarks = [self._measure(X[start : start + QUERIES_PER_BLOCK], self.points) for start in blocks]
        return np.concatenate([part @ self._root for part in to_landmarks])

    def _measure(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.exp(-self._gamma * cdist(left, right, "sqeuclidean"))

    def list_votes(self, X: np.ndarray) -> np.ndarray:
        """(n, n_points) what every point adds."""
        return self._measure(X, self.points) * self.amounts

    def vote(self, X: np.ndarray) -> np.ndarray:
        blocks = range(0, len(X), QUERIES_PER_BLOCK)
        parts = [self.list_votes(X[start : start + QUERIES_PER_BLOCK]).sum(axis=1) for start in blocks]
        return np.concatenate(parts) + self.intercept


def _invert_root(kernel: np.ndarray) -> np.ndarray:
    """The pseudo-inverse of the square root of a kernel matrix."""
    values, vectors = np.linalg.eigh(kernel)
    strong = values > WEAK_DIRECTION * values[-1]
    return (vectors[:, strong] / np.sqrt(values[strong])) @ vectors[:, strong].T


class _GuessingSVM(BagVoter):
    C: float
    gamma: float | None
    max_iter: int
    max_exact: int
    n_landmarks: int

    def _fit_bags(self, bags: Bags) -> None:
        self._standard = learn_standard(bags.X)
        points = self._standard.apply(bags.X)
        self.gamma_ = WIDTH / points.shape[1] if self.gamma is None else float(self.gamma)
        landmark_rows = spread_out(len(points), self.n_landmarks) if len(points) > self.max_exact else None
        landmarks = None if landmark_rows is None else points[landmark_rows]
        self._machine = _Machine(self.C, self.gamma_, landmarks)
        learned = self._guess_and_train(points, bags)
        self._voter_rows = bags.rows[learned[self._machine.support] if landmark_rows is None else landmark_rows]

    def _guess_and_train(self, points: np.ndarray, bags: Bags) -> np.ndarray:
        """Take turns until the guess comes back; returns the rows trained on last."""
        raise NotImplementedError

    def _score(self, X: np.ndarray, bags: np.ndarray, survival: np.ndarray) -> np.ndarray:
        return self._machine.vote(self._standard.apply(X))

    def _find_threshold(self, raw: np.ndarray, segments: Segments) -> float:
        return 0.0

    def _list_votes(self, x: np.ndarray, bag: int, survival: float) -> tuple[np.ndarray, np.ndarray, float]:
        amounts = self._machine.list_votes(self._standard.apply(x[None, :]))[0]
        return self._voter_rows, amounts, self._machine.intercept


class MiSVM(_GuessingSVM):
    """mi-SVM: labels of all segments of *with* bags are guessed.

    Parameters
    ----------
    C
        Inverse strength of the regularisation.
    gamma
        Of the kernel ``exp(-gamma |x - v|^2)`` on standardised features; None: 0.2 over the number of features.
    max_iter
        Turns at most; a guess that comes back ends them.
    max_exact
        Up to this many segments the machine is exact.
    n_landmarks
        Segments the Nyström map is built on beyond that.

    References
    ----------
    Andrews, Tsochantaridis, Hofmann: Support vector machines for multiple-instance learning. NIPS 2002.
    """

    def __init__(
        self,
        C: float = 10.0,
        gamma: float | None = None,
        max_iter: int = 20,
        max_exact: int = 2000,
        n_landmarks: int = 300,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.max_iter = max_iter
        self.max_exact = max_exact
        self.n_landmarks = n_landmarks

    def _guess_and_train(self, points: np.ndarray, bags: Bags) -> np.ndarray:
        labels, seen = bags.positive, set()
        for n_iter in range(1, max(self.max_iter, 1) + 1):
            self._machine.fit(points, labels)
            self.n_iter_ = n_iter
            seen.add(labels.tobytes())
            labels = guess_labels(self._machine.vote(points), bags)
            if labels.tobytes() in seen:
                break
        return np.arange(len(points))


def guess_labels(votes: np.ndarray, bags: Bags) -> np.ndarray:
    """(n,) bool: *with* segments with a vote above 0, and the best one of a *with* bag that has none."""
    labels = bags.positive & (votes > 0)
    best = bags.find_best(votes)
    labels[best[bags.tags]] = True
    return labels


class BagMISVM(_GuessingSVM):
    """MI-SVM: one witness per *with* bag against all segments of *without* bags.

    The first witnesses are those of a machine trained on the means of the bags.

    Parameters
    ----------
    C, gamma, max_iter, max_exact, n_landmarks
        As for `MiSVM`.

    References
    ----------
    Andrews, Tsochantaridis, Hofmann: Support vector machines for multiple-instance learning. NIPS 2002.
    """

    def __init__(
        self,
        C: float = 10.0,
        gamma: float | None = None,
        max_iter: int = 20,
        max_exact: int = 2000,
        n_landmarks: int = 300,
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.max_iter = max_iter
        self.max_exact = max_exact
        self.n_landmarks = n_landmarks

    def _guess_and_train(self, points: np.ndarray, bags: Bags) -> np.ndarray:
        negatives, seen = np.flatnonzero(~bags.positive), set()
        self._machine.fit(bags.mean(points), bags.tags)
        witnesses = bags.find_best(self._machine.vote(points))[bags.tags]
        for n_iter in range(1, max(self.max_iter, 1) + 1):
            rows = np.concatenate([witnesses, negatives])
            self._machine.fit(points[rows], np.arange(len(rows)) < len(witnesses))
            self.n_iter_ = n_iter
            seen.add(witnesses.tobytes())
            witnesses = bags.find_best(self._machine.vote(points))[bags.tags]
            if witnesses.tobytes() in seen:
                break
        return rows
