"""mi-SVM and MI-SVM: a support vector machine trained in turns with a guess of the labels.

mi-SVM guesses a label for every segment of a *with* bag, at least one object in each (the argmax rule). MI-SVM guesses
one witness per *with* bag and ignores its other segments. Kernel machines are quadratic or worse in the number of
segments: above `max_exact` of them the kernel is replaced by its Nyström map on evenly spaced landmarks, and the
machine by a linear one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from sklearn.svm import SVC
from sklearn.utils import gen_batches

from segvote.numerics.spread import spread_evenly
from segvote.voters.bags import Bags, BagVoter, Standard
from segvote.voters.prototypes import QUERIES_PER_BLOCK, Prototypes, PrototypeVoter, measure_kernel

# The kernel's gamma times the number of features. With one instead, the machine remembers every segment of a *with*
# bag, and the guess confirms itself.
WIDTH = 0.2
# Directions of the landmarks' kernel weaker than this part of the strongest are noise.
WEAK_DIRECTION = 1e-10
# Radius of the linear machine's steps: large, because its loss is convex and nearly quadratic.
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
        values, vectors = np.linalg.eigh(measure_kernel(landmarks, landmarks, gamma))
        strong = values > WEAK_DIRECTION * values[-1]
        # The pseudo-inverse of the square root of the landmarks' kernel matrix.
        self._root = (vectors[:, strong] / np.sqrt(values[strong])) @ vectors[:, strong].T
        self._C = C
        self.prototypes = Prototypes(landmarks, np.zeros(len(rows)), rows, gamma)
        self._answer: np.ndarray | None = None

    def map(self, X: np.ndarray) -> np.ndarray:
        """The points as `fit` and `vote` want them."""
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


@dataclass(eq=False, repr=False)
class _GuessingSVM(PrototypeVoter, BagVoter):
    """Guess, train and guess again (Andrews 2002); the subclass defines the guess and the examples made of it."""

    wants_lengths = True
    zero = 0.0

    C: float = 10.0  # inverse strength of the regularisation
    gamma: float | None = None  # of exp(-gamma |x - v|^2) on standardised features; None: 0.2 / n_features
    max_iter: int = 20  # turns at most; a guess that comes back ends them
    max_exact: int = 2000  # up to this many segments the machine is exact
    n_landmarks: int = 300  # segments the Nyström map is built on beyond that

    def _fit_bags(self, bags: Bags) -> None:
        self._standard = Standard.learn(bags.X)
        points = self._standard.apply(bags.X)
        self.gamma_ = WIDTH / points.shape[1] if self.gamma is None else float(self.gamma)
        self._machine: _ExactMachine | _MappedMachine = _ExactMachine(self.C, self.gamma_)
        if len(points) > self.max_exact:
            rows = spread_evenly(len(points), self.n_landmarks)
            self._machine = _MappedMachine(self.C, self.gamma_, points[rows], rows)
        self._take_turns(points, bags)
        prototypes = self._machine.prototypes
        self.prototypes_ = replace(prototypes, rows=bags.rows[prototypes.rows])

    def _take_turns(self, points: np.ndarray, bags: Bags) -> None:
        """Train and guess until a guess comes back."""
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


class MiSVM(_GuessingSVM):
    """mi-SVM: labels of all segments of *with* bags are guessed."""

    def _guess_first(self, points: np.ndarray, mapped: np.ndarray, bags: Bags) -> np.ndarray:
        return bags.positive

    def _guess(self, votes: np.ndarray, bags: Bags) -> np.ndarray:
        """(n,) bool: *with* segments with a vote above 0, and the best one of a *with* bag that has none."""
        labels = bags.positive & (votes > 0)
        labels[bags.find_best(votes)[bags.labels]] = True
        return labels

    def _list_examples(self, guess: np.ndarray, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
        return np.arange(len(guess)), guess


class BagMISVM(_GuessingSVM):
    """MI-SVM: one witness per *with* bag against all segments of *without* bags.

    The first witnesses are those of a machine trained on the means of the bags.
    """

    def _guess_first(self, points: np.ndarray, mapped: np.ndarray, bags: Bags) -> np.ndarray:
        self._machine.fit(self._machine.map(bags.mean(points)), bags.labels, np.arange(len(bags)))
        return self._guess(self._machine.vote(mapped), bags)

    def _guess(self, votes: np.ndarray, bags: Bags) -> np.ndarray:
        return bags.find_best(votes)[bags.labels]

    def _list_examples(self, guess: np.ndarray, bags: Bags) -> tuple[np.ndarray, np.ndarray]:
        rows = np.concatenate([guess, np.flatnonzero(~bags.positive)])
        return rows, np.arange(len(rows)) < len(guess)


def fit_linear_machine(X: np.ndarray, labels: np.ndarray, C: float, start: np.ndarray | None = None) -> np.ndarray:
    """Slopes (d,) and intercept in one vector (d + 1,), of a linear SVM with squared hinge loss and balanced labels.

    ``1/2 |w|^2 + sum_i c_i max(0, 1 - y_i (x_i, 1) . w)^2`` is descended by Newton steps, ten times as fast as by
    scikit-learn's `LinearSVC`. `start` is an earlier answer, for other labels perhaps.
    """
    rows, signs = np.column_stack([X, np.ones(len(X))]), np.where(labels, 1.0, -1.0)
    costs = C * len(labels) / (2 * np.where(labels, labels.sum(), (~labels).sum()))

    def measure(w: np.ndarray) -> tuple[float, np.ndarray]:
        gaps = np.maximum(0, 1 - signs * (rows @ w))
        return float(0.5 * w @ w + costs @ gaps**2), w - (2 * costs * gaps * signs) @ rows

    def measure_curvature(w: np.ndarray) -> np.ndarray:
        wrong = np.flatnonzero(signs * (rows @ w) < 1)
        scaled = rows[wrong] * np.sqrt(2 * costs[wrong])[:, None]
        return np.eye(len(w)) + scaled.T @ scaled

    zero = np.zeros(rows.shape[1])
    options = {
        "initial_trust_radius": LONGEST_STEP / 10,
        "max_trust_radius": LONGEST_STEP,
        "maxiter": MAX_STEPS,
        "gtol": SMALL_GRADIENT * float(np.linalg.norm(measure(zero)[1])),
    }
    first = zero if start is None else start
    return minimize(measure, first, jac=True, hess=measure_curvature, method="trust-exact", options=options).x
