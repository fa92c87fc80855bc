"""The base class of voters: a scikit-learn estimator around one private idea; input is checked once, here.

A voter implements ``_learn(segments)``, which learns the state of its decision function, and ``_score(X, bags,
prior)``, the decision function for any segments; training segments of their own bags are left out. The base class sets
the threshold and gives `predict`, `predict_proba` and `explain` their common meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from segvote.errors import BadInputError
from segvote.method.inputs import encode_labels
from segvote.method.tags import BagLabelled
from segvote.method.vote import Explanation, group_by_bag
from segvote.numerics import Neighbours, otsu_threshold
from segvote.selection import make_unknown_labels

SMALLEST = 1e-15  # the largest feature must reach this: its square is still far from the end of single precision

# A bag id no training segment has: nothing is left out for segments of an unknown bag.
NO_BAG = -1

# Training segments, the signed amount that each adds to the score of one segment, and the intercept.
Votes = tuple[np.ndarray, np.ndarray, float]


class BaseVoter(BagLabelled, BaseEstimator):
    """Base of all voters.

    Attributes
    ----------
    classes_ : (2,) array
        The two labels, the one that means *with* last.
    scores_ : (n_segments,) float
        Score f of every training segment, own bag left out; above 0 means object.
    weights_ : (n_segments,) float
        Soft label in [0, 1]; 0 on segments of *without* bags.
    threshold_ : float
        Subtracted from the raw votes so that 0 divides object from background.
    n_iter_ : int
        Number of rounds of voting.
    """

    # Whether features keep their lengths instead of blocks of length one, as measured for each voter:
    # docs/research/measurements.md.
    wants_lengths: ClassVar[bool] = False
    # The votes at which object begins; None: Otsu's threshold of the training segments.
    zero: ClassVar[float | None] = None

    # For scikit-learn's metadata routing.
    __metadata_request__fit = {"bags": True, "prior": True, "user_labels": True, "neighbours": True}  # noqa: RUF012

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        bags: np.ndarray | None = None,
        prior: np.ndarray | None = None,
        user_labels: np.ndarray | None = None,
        neighbours: Neighbours | None = None,
    ) -> BaseVoter:
        """Let the segments vote.

        Parameters
        ----------
        X : (n_segments, d) float
            Features.
        y : (n_segments,) array
            The bag's label copied to its segments: {0, 1}, {-1, 1}, bool, or two strings.
        bags : (n_segments,) array, optional
            Bag ids; default: every segment is a bag of its own.
        prior : (n_segments,) float, optional
            Background prior in [0, 1]; default 1.
        user_labels : (n_segments,) int, optional
            Corrections: -1 unknown, 0 background, 1 object.
        neighbours : Neighbours, optional
            The `n_searched` neighbours of the segments, where they are known already.
        """
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32))
        largest = max(float(X.max(initial=0)), -float(X.min(initial=0)))
        if 0 < largest < SMALLEST:
            raise BadInputError(
                f"features of at most {largest:.1e} are too small to compare; multiply them, or scale them"
            )
        check_classification_targets(y)
        self.classes_, labels = encode_labels(y)
        segments = check_segments(X, labels, bags, prior, user_labels)
        if neighbours is not None and len(neighbours.indices) != len(X):
            raise BadInputError(f"neighbours are of {len(neighbours.indices)} segments; got {len(X)} segments")
        self._bag_names = np.unique(bags) if bags is not None else np.arange(len(X))
        self.n_iter_ = 1
        self._neighbours = neighbours
        self._learn(segments)
        del self._neighbours  # large, and of use for the training segments only
        self._segments = segments
        raw = self._score_training(segments)
        self.threshold_ = self._find_threshold(raw, segments)
        self.scores_ = raw - self.threshold_
        self.weights_ = self._weigh(raw, segments)
        return self

    @property
    def n_searched(self) -> int:
        """How many nearest segments of other bags `fit` searches, unless they are given; 0: none."""
        return 0

    def _learn(self, segments: Segments) -> None:
        """Learn the state that `_score` uses."""
        raise NotImplementedError

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """(n,) votes for segments; `bags` are training bag numbers to leave out, or NO_BAG."""
        raise NotImplementedError

    def _score_training(self, segments: Segments) -> np.ndarray:
        """(n_segments,) votes for the training segments."""
        return self._score(segments.X, segments.bags, segments.prior)

    def _find_threshold(self, raw: np.ndarray, segments: Segments) -> float:
        return otsu_threshold(raw) if self.zero is None else self.zero

    def _weigh(self, raw: np.ndarray, segments: Segments) -> np.ndarray:
        self._scale = float(raw.std()) or 1.0
        weights = np.where(segments.positive, self._posterior(raw), 0.0)
        return np.where(segments.user_labels >= 0, segments.user_labels, weights)

    def _posterior(self, raw: np.ndarray) -> np.ndarray:
        """(n,) probability-like value in [0, 1], one half at the threshold."""
        return expit((raw - self.threshold_) / self._scale)

    def _vote(self, X: np.ndarray, bags: np.ndarray | None, prior: np.ndarray | None) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=(np.float64, np.float32))
        prior = np.ones(len(X)) if prior is None else np.asarray(prior, dtype=float)
        return self._score(X, self._find_bags(bags, len(X)), prior)

    def _find_bags(self, bags: np.ndarray | None, n_segments: int) -> np.ndarray:
        """Training numbers of bag names; NO_BAG for bags never seen."""
        if bags is None:
            return np.full(n_segments, NO_BAG)
        bags = np.asarray(bags)
        if len(bags) != n_segments:
            raise BadInputError(f"bags must have one value per segment ({n_segments}); got {len(bags)}")
        place = np.searchsorted(self._bag_names, bags).clip(0, len(self._bag_names) - 1)
        return np.where(self._bag_names[place] == bags, place, NO_BAG)

    def decision_function(
        self, X: np.ndarray, bags: np.ndarray | None = None, prior: np.ndarray | None = None
    ) -> np.ndarray:
        """(n_segments,) score f; above 0 means object. Training segments of the same bag are left out."""
        return self._vote(X, bags, prior) - self.threshold_

    def predict(self, X: np.ndarray) -> np.ndarray:
        """(n_segments,) the *with* class where the score is above 0."""
        selected = self.decision_function(X) > 0
        return self.classes_[selected.astype(int)]

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """(n_segments, 2) posterior of the two classes (eq. 17 where the voter has one)."""
        posterior = self._posterior(self._vote(X, None, None))
        return np.column_stack([1 - posterior, posterior])

    def explain(self, segment: int | np.ndarray) -> Explanation:
        """Contributions to the score of a segment: a training segment by number, or the features of a new one.

        The amounts and the constant sum to the score.
        """
        check_is_fitted(self)
        segments = self._segments
        if isinstance(segment, (int, np.integer)):
            if not 0 <= segment < len(segments):
                raise BadInputError(f"there are {len(segments)} segments, numbered from 0; got segment {segment}")
            votes = self._list_training_votes(int(segment))
        else:
            votes = self._list_votes(np.asarray(segment, dtype=float).ravel(), NO_BAG, 1.0)
        voters, amounts, constant = votes
        return group_by_bag(voters, amounts, segments.bags, constant)

    def _list_training_votes(self, segment: int) -> Votes:
        segments = self._segments
        return self._list_votes(segments.X[segment], segments.bags[segment], segments.prior[segment])

    def _list_votes(self, x: np.ndarray, bag: int, prior: float) -> Votes:
        """Voters, their signed amounts and the constant that together make the score of one segment.

        A voter whose score is no sum over segments gives it whole, as the constant.
        """
        score = self._score(x[None, :], np.array([bag]), np.array([prior]))[0] - self.threshold_
        return np.empty(0, dtype=np.int64), np.empty(0), float(score)


@dataclass(frozen=True)
class Segments:
    """Segments of all bags."""

    X: np.ndarray  # (n_segments, d)
    # (n_segments,) bool: the segment belongs to P, the segments that may be object. These are the segments of *with*
    # bags, less those with the user label background, plus those with the user label object anywhere.
    positive: np.ndarray
    bags: np.ndarray  # (n_segments,) int: bag ids 0 .. n_bags-1
    prior: np.ndarray  # (n_segments,) in [0, 1]: background prior, the factor g of the walk
    user_labels: np.ndarray  # (n_segments,) int8: -1 unknown, 0 background, 1 object
    bag_labels: np.ndarray  # (n_bags,) bool: the bag is *with*

    def __len__(self) -> int:
        return len(self.X)

    @property
    def n_bags(self) -> int:
        return len(self.bag_labels)


def check_segments(
    X: np.ndarray,
    labels: np.ndarray,
    bags: np.ndarray | None,
    prior: np.ndarray | None,
    user_labels: np.ndarray | None,
) -> Segments:
    """Check lengths and values and give every bag a number; parameters as for `BaseVoter.fit`, labels as bool."""
    n_segments = len(X)
    codes = np.arange(n_segments) if bags is None else np.unique(_check_length("bags", bags, X), return_inverse=True)[1]
    n_with, n_all = np.bincount(codes, weights=labels), np.bincount(codes)
    mixed = np.flatnonzero((n_with > 0) & (n_with < n_all))
    if len(mixed):
        name = np.unique(np.asarray(bags))[mixed[0]]
        raise BadInputError(
            f"a bag is *with* or *without*, so all its segments share one label; bag {name!r} has both. "
            "Give y per bag and copy it to the bag's segments"
        )
    prior = np.ones(n_segments) if prior is None else _check_length("prior", prior, X).astype(float)
    if not ((prior >= 0) & (prior <= 1)).all():
        raise BadInputError("prior must lie in [0, 1] for every segment; clip it or give None")
    user_labels = (
        make_unknown_labels(n_segments) if user_labels is None else _check_length("user_labels", user_labels, X)
    )
    if not np.isin(user_labels, (-1, 0, 1)).all():
        raise BadInputError("user_labels must be -1 (unknown), 0 (background) or 1 (object) for every segment")
    positive = np.where(user_labels < 0, labels, user_labels == 1)
    return Segments(X, positive, codes, prior, user_labels.astype(np.int8), n_with > 0)


def _check_length(name: str, values: np.ndarray, X: np.ndarray) -> np.ndarray:
    values = np.asarray(values)
    if values.shape != (len(X),):
        raise BadInputError(f"{name} must have one value per segment, shape ({len(X)},); got shape {values.shape}")
    return values
