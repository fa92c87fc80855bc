"""mi-SVM and MI-SVM: a support vector machine that guesses, trains, and guesses again.

mi-SVM guesses a label for every segment of a *with* bag and sees to it that each such bag keeps one object (the argmax
rule). MI-SVM guesses one witness per *with* bag and ignores its other segments. Kernel machines are quadratic or worse
in the number of segments: above `max_exact` of them the kernel is replaced by its Nyström map on evenly spaced
landmarks, and the machine by a linear one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import minimize
from sklearn.svm import SVC
from sklearn.utils import gen_batches

from segvote.voters.bags import Bags, BagVoter, learn_standard, spread_out
from segvote.voters.base import Segments
from segvote.voters.prototypes import QUERIES_PER_BLOCK, Prototypes, PrototypeVoter, measure_kernel

# The kernel's gamma times the number of features. A kernel as narrow as one over them remembers every segment of a
# *with* bag, and the guess confirms itself.
WIDTH = 0.2
# Directions of the landmarks' kernel weaker than this part of the strongest are noise.
WEAK_DIRECTION = 1e-10
# Steps are bounded by this; the problem is convex and nearly quadratic, so that the bound hardly ever matters.
LONGEST_STEP = 1e6
MAX_STEPS = 100
# A gradient this small beside the one at zero ends the steps.
SMALL_GRADIENT = 1e-6


class _ExactMachine:
    """A Gaussian SVM."""

    def __init__(self, C: float, gamma: float) -> None:
        self._C, self._gamma = C, gamma

    def map(self, X: np.ndarray) -> np.ndarray:
        return X

    def fit(self, X: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> _ExactMachine:
        """Train on X, whose numbers among all points are `rows`."""
        model = SVC(C=self._C, gamma=self._gamma, class_weight="balanced").fit(X, labels)
        kept, amounts = model.support_, model.dual_coef_[0]
        self.prototypes = Prototypes(X[kept], amounts, rows[kept], self._gamma, float(model.intercept_[0]))
        return self

    def vote(self, X: np.ndarray) -> np.ndarray:
        return self.prototypes.vote(X)


class _MappedMachine:
    """A linear SVM on the Nyström map of a Gaussian kernel: every point by its kernels with some landmarks."""

    def __init__(self, C: float, gamma: float, landmarks: np.ndarray, rows: np.ndarray) -> None:
        self._C, self._root = C, _invert_root(measure_kernel(landmarks, landmarks, gamma))
        self.prototypes = Prototypes(landmarks, np.zeros(len(rows)), rows, gamma)
        self._answer: np.ndarray | None = None

    def map(self, X: np.ndarray) -> np.ndarray:
        """The points as `fit` and `vote` want them; done once, however often they are asked about."""
        points, gamma = self.prototypes.points, self.prototypes.gamma
        blocks = gen_batches(len(X), QUERIES_PER_BLOCK)
        return np.concatenate([measure_kernel(X[part], points, gamma) @ self._root for part in blocks])

    def fit(self, mapped: np.ndarray, labels: np.ndarray, rows: np.ndarray) -> _MappedMachine:
        self._answer = fit_linear_machine(mapped, labels, self._C, start=self._answer)
        amounts, intercept = self._root @ self._answer[:-1], float(self._answer[-1])
        self.prototypes = replace(self.prototypes, amounts=amounts, intercept=intercept)
        return self

    def vote(self, mapped: np.ndarray) -> np.ndarray:
        assert self._answer is not None
        return mapped @ self._answer[:-1] + self.prototypes.intercept


def _invert_root(kernel: np.ndarray) -> np.ndarray:
    """The pseudo-inverse of the square root of a kernel matrix."""
    values, vectors = np.linalg.eigh(kernel)
    strong = values > WEAK_DIRECTION * values[-1]
    return (vectors[:, strong] / np.sqrt(values[strong])) @ vectors[:, strong].T


class _GuessingSVM(PrototypeVoter, BagVoter):
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
        self._machine: _ExactMachine | _MappedMachine = _ExactMachine(self.C, self.gamma_)
        if len(points) > self.max_exact:
            rows = spread_out(len(points), self.n_landmarks)
            self._machine = _MappedMachine(self.C, self.gamma_, points[rows], rows)
        self._guess_and_train(points, bags)
        found = self._machine.prototypes
        self._prototypes = replace(found, rows=bags.rows[found.rows])

    def _guess_and_train(self, points: np.ndarray, bags: Bags) -> None:
        """Take turns until the guess comes back."""
        mapped, seen = self._machine.map(points), set()
        guess = self._guess_first(points, mapped, bags)
        for n_iter in range(1, max(self.max_iter, 1) + 1):
            rows, labels = self._list_examples(guess, bags)
            self._machine.fit(mapped[rows], labels, rows)
            self.n_iter_ = n_iter
            seen.add(guess.tobytes())
            guess = self._guess(self._machine.vote(mapped), bags)
            if guess.tobytes() in seen:
                break

    def _guess_first(self, points: np.ndarray, mapped: np.ndarray, bags: Bags) -> np.ndarray:
        raise NotImplementedError

    def _guess(self, votes: np.ndarray, bags: Bags) -> np.ndarray:
        raise NotImplementedError

    def _list_examples(self, guess: np.ndarray, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
        """Rows to train on and their labels."""
        raise NotImplementedError

    def _find_threshold(self, raw: np.ndarray, segments: Segments) -> float:
        return 0.0


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
        self._machine.fit(self._machine.map(bags.mean(points)), bags.labels, np.arange(len(bags)))
        return self._guess(self._machine.vote(mapped), bags)

    def _guess(self, votes: np.ndarray, bags: Bags) -> np.ndarray:
        return bags.find_best(votes)[bags.labels]

    def _list_examples(self, guess: np.ndarray, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
        rows = np.concatenate([guess, np.flatnonzero(~bags.positive)])
        return rows, np.arange(len(rows)) < len(guess)


class SquaredHinge:
    """``1/2 |w|^2 + sum_i c_i max(0, 1 - y_i (x_i, 1) . w)^2`` with its derivatives, c_i balancing the two labels.

    Parameters
    ----------
    X
        (n, d).
    labels
        (n,) bool, both values present.
    C
        Inverse strength of the regularisation.
    """

    def __init__(self, X: np.ndarray, labels: np.ndarray, C: float) -> None:
        self.X, self.signs = X, np.where(labels, 1.0, -1.0)
        self.costs = C * len(labels) / (2 * np.where(labels, labels.sum(), (~labels).sum()))

    def measure_gaps(self, w: np.ndarray) -> np.ndarray:
        return np.maximum(0, 1 - self.signs * (self.X @ w[:-1] + w[-1]))

    def __call__(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        gaps = self.measure_gaps(w)
        pulls = 2 * self.costs * gaps * self.signs
        value = 0.5 * w @ w + (self.costs * gaps**2).sum()
        return float(value), w - np.append(pulls @ self.X, pulls.sum())

    def measure_curvature(self, w: np.ndarray) -> np.ndarray:
        """(d + 1, d + 1) second derivatives: of the rows that are not yet right by a margin of one."""
        wrong = np.flatnonzero(self.measure_gaps(w) > 0)
        weights = np.sqrt(2 * self.costs[wrong])
        rows = np.column_stack([self.X[wrong], np.ones(len(wrong))]) * weights[:, None]
        return np.eye(len(w)) + rows.T @ rows


def fit_linear_machine(X: np.ndarray, labels: np.ndarray, C: float, start: np.ndarray | None = None) -> np.ndarray:
    """Slopes (d,) and intercept in one vector (d + 1,); `start` is an earlier answer, for other labels perhaps."""
    loss = SquaredHinge(X, labels, C)
    zero = np.zeros(X.shape[1] + 1)
    found = minimize(
        loss,
        zero if start is None else start,
        jac=True,
        hess=loss.measure_curvature,
        method="trust-exact",
        options={
            "initial_trust_radius": LONGEST_STEP / 10,
            "max_trust_radius": LONGEST_STEP,
            "maxiter": MAX_STEPS,
            "gtol": SMALL_GRADIENT * float(np.linalg.norm(loss(zero)[1])),
        },
    )
    return found.x
