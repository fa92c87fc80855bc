"""mi-SVM and MI-SVM: a support vector machine that guesses, trains, and guesses again.

mi-SVM guesses a label for every segment of a *with* bag and sees to it that each such bag keeps one object (the argmax
rule). MI-SVM guesses one witness per *with* bag and ignores its other segments. Kernel machines are quadratic or worse
in the number of segments: above `max_exact` of them the kernel is replaced by its Nyström map on evenly spaced
landmarks, and the machine by a linear one.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.svm import SVC

from segvote.voters.mil.learning_bags import Bags, BagVoter, spread_out
from segvote.voters.mil.linear_machine import fit_linear_machine
from segvote.voters.segments import Segments
from segvote.voters.standard import learn_standard

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
        self._C, self._gamma, self._is_exact = C, gamma, landmarks is None
        self.support: np.ndarray | None = None
        self._answer: np.ndarray | None = None
        if landmarks is not None:
            self.points = landmarks
            self._root = _invert_root(self._measure(landmarks, landmarks))

    def map(self, X: np.ndarray) -> np.ndarray:
        """The points as `fit` and `vote_mapped` want them; done once, however often they are asked about."""
        if self._is_exact:
            return X
        return np.concatenate([self._measure(X[rows], self.points) @ self._root for rows in _split(len(X))])

    def fit(self, mapped: np.ndarray, labels: np.ndarray) -> _Machine:
        if self._is_exact:
            model = SVC(C=self._C, gamma=self._gamma, class_weight="balanced").fit(mapped, labels)
            self.support, self.points, self.amounts = model.support_, mapped[model.support_], model.dual_coef_[0]
            self.intercept = float(model.intercept_[0])
        else:
            self._answer = fit_linear_machine(mapped, labels, self._C, start=self._answer)
            self.amounts, self.intercept = self._root @ self._answer[:-1], float(self._answer[-1])
        return self

    def vote_mapped(self, mapped: np.ndarray) -> np.ndarray:
        return self.vote(mapped) if self._answer is None else mapped @ self._answer[:-1] + self.intercept

    def vote(self, X: np.ndarray) -> np.ndarray:
        return np.concatenate([self.list_votes(X[rows]).sum(axis=1) for rows in _split(len(X))]) + self.intercept

    def list_votes(self, X: np.ndarray) -> np.ndarray:
        """(n, n_points) what every point adds."""
        return self._measure(X, self.points) * self.amounts

    def _measure(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return np.exp(-self._gamma * cdist(left, right, "sqeuclidean"))


def _split(length: int) -> list[slice]:
    return [slice(start, start + QUERIES_PER_BLOCK) for start in range(0, length, QUERIES_PER_BLOCK)]


def _invert_root(kernel: np.ndarray) -> np.ndarray:
    """The pseudo-inverse of the square root of a kernel matrix."""
    values, vectors = np.linalg.eigh(kernel)
    strong = values > WEAK_DIRECTION * values[-1]
    return (vectors[:, strong] / np.sqrt(values[strong])) @ vectors[:, strong].T


class _GuessingSVM(BagVoter):
    """Guess, train and guess again; the subclass says what a guess is and which examples it makes."""

    wants_lengths = True

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

    def _fit_bags(self, bags: Bags) -> None:
        self._standard = learn_standard(bags.X)
        points = self._standard.apply(bags.X)
        self.gamma_ = WIDTH / points.shape[1] if self.gamma is None else float(self.gamma)
        landmark_rows = spread_out(len(points), self.n_landmarks) if len(points) > self.max_exact else None
        self._machine = _Machine(self.C, self.gamma_, None if landmark_rows is None else points[landmark_rows])
        learned = self._guess_and_train(points, bags)
        self._voter_rows = bags.rows[learned[self._machine.support] if landmark_rows is None else landmark_rows]

    def _guess_and_train(self, points: np.ndarray, bags: Bags) -> np.ndarray:
        """Take turns until the guess comes back; returns the rows trained on last."""
        mapped, seen = self._machine.map(points), set()
        guess = self._guess_first(points, mapped, bags)
        for n_iter in range(1, max(self.max_iter, 1) + 1):
            rows, labels = self._list_examples(guess, bags)
            self._machine.fit(mapped[rows], labels)
            self.n_iter_ = n_iter
            seen.add(guess.tobytes())
            guess = self._guess(self._machine.vote_mapped(mapped), bags)
            if guess.tobytes() in seen:
                break
        return rows

    def _guess_first(self, points: np.ndarray, mapped: np.ndarray, bags: Bags) -> np.ndarray:
        raise NotImplementedError

    def _guess(self, votes: np.ndarray, bags: Bags) -> np.ndarray:
        raise NotImplementedError

    def _list_examples(self, guess: np.ndarray, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
        """Rows to train on and their labels."""
        raise NotImplementedError

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return self._machine.vote(self._standard.apply(X))

    def _find_threshold(self, raw: np.ndarray, segments: Segments) -> float:
        return 0.0

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> tuple[np.ndarray, np.ndarray, float]:
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

    def _guess_first(self, points: np.ndarray, mapped: np.ndarray, bags: Bags) -> np.ndarray:
        return bags.positive

    def _guess(self, votes: np.ndarray, bags: Bags) -> np.ndarray:
        return guess_labels(votes, bags)

    def _list_examples(self, guess: np.ndarray, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
        return np.arange(len(guess)), guess


def guess_labels(votes: np.ndarray, bags: Bags) -> np.ndarray:
    """(n,) bool: *with* segments with a vote above 0, and the best one of a *with* bag that has none."""
    labels = bags.positive & (votes > 0)
    best = bags.find_best(votes)
    labels[best[bags.labels]] = True
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

    def _guess_first(self, points: np.ndarray, mapped: np.ndarray, bags: Bags) -> np.ndarray:
        self._machine.fit(self._machine.map(bags.mean(points)), bags.labels)
        return self._guess(self._machine.vote_mapped(mapped), bags)

    def _guess(self, votes: np.ndarray, bags: Bags) -> np.ndarray:
        return bags.find_best(votes)[bags.labels]

    def _list_examples(self, guess: np.ndarray, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
        rows = np.concatenate([guess, np.flatnonzero(~bags.positive)])
        return rows, np.arange(len(rows)) < len(guess)
