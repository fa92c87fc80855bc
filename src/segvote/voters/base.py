"""The contract of every voter: scikit-learn's outside, one private idea inside; input is checked once, here.

A voter implements ``_learn(segments)``, which returns the score of every training segment by other bags only,
and ``_score(X, bags, prior)``, the same decision function for segments never seen. The base class checks input, sets
the threshold and gives `predict`, `predict_proba` and `explain` their common meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from segvote.errors import BadInputError
from segvote.kernels import Neighbours, otsu_threshold
from segvote.method.table import encode_labels
from segvote.method.vote import Explanation, group_by_bag

SMALLEST = 1e-15  # the largest feature must reach this: its square is still far from the end of single precision

# A bag id no training segment has: nothing is left out for segments of an unknown bag.
NO_BAG = -1

# Training segments, what each adds to the score of one segment (signed), and what no segment is answerable for.
Votes = tuple[np.ndarray, np.ndarray, float]


class BaseVoter(BaseEstimator):
    """Base of all voters.

    Attributes
    ----------
    classes_
        The two labels, the one that means *with* last.
    scores_
        (n_segments,) score f of every training segment, own bag left out; above 0 means object.
    weights_
        (n_segments,) soft label in [0, 1]; 0 on segments of *without* bags.
    threshold_
        What was subtracted from the raw votes so that 0 divides object from background.
    n_iter_
        Number of rounds of voting.
    """

    # Whether features keep their lengths instead of blocks of length one, by what was measured for each voter
    # (docs/voters.md): where little is seen a vector is short, and made long it is noise.
    wants_lengths: ClassVar[bool] = False

    # Bags, priors and corrections go along wherever scikit-learn's metadata routing is on.
    __metadata_request__fit = {"bags": True, "prior": True, "user_labels": True}  # noqa: RUF012

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # Not a classifier of segments, whose labels are unknown, but two labels are all that it takes.
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        bags: np.ndarray | None = None,
        prior: np.ndarray | None = None,
        user_labels: np.ndarray | None = None,
    ) -> BaseVoter:
        """Let the segments vote.

        Parameters
        ----------
        X
            (n_segments, d) features.
        y
            (n_segments,) the bag's label copied to its segments: {0, 1}, {-1, 1}, bool, or two strings.
        bags
            (n_segments,) bag ids; default: every segment is a bag of its own.
        prior
            (n_segments,) background prior in [0, 1]; default 1.
        user_labels
            (n_segments,) corrections by the user: -1 unknown, 0 background, 1 object.
        """
        X, y = validate_data(self, X, y, dtype=(np.float64, np.float32))
        _check_scale(X)
        check_classification_targets(y)
        self.classes_, labels = encode_labels(y)
        segments = check_segments(X, labels, bags, prior, user_labels)
        self._bag_names = np.unique(bags) if bags is not None else np.arange(len(X))
        self.n_iter_ = 1
        raw = self._learn(segments)
        self._segments = segments
        self.threshold_ = self._find_threshold(raw, segments)
        self.scores_ = raw - self.threshold_
        self.weights_ = self._weigh(raw, segments)
        return self

    @property
    def n_searched(self) -> int:
        """How many of the nearest segments of other bags a fit asks for; 0: it can do nothing with them."""
        return 0

    def take_neighbours(self, neighbours: Neighbours) -> BaseVoter:
        """Give the next `fit` the `n_searched` neighbours of its segments, that are known already."""
        self._taken = neighbours
        return self

    @property
    def has_neighbours(self) -> bool:
        """Whether the next `fit` was given neighbours that are known already."""
        return "_taken" in self.__dict__

    def _find_neighbours(self, segments: Segments, n_neighbors: int) -> Neighbours:
        """Those taken, once; else those searched."""
        taken: Neighbours | None = self.__dict__.pop("_taken", None)
        if taken is None:
            return Neighbours.search(segments.X, n_neighbors, segments.bags)
        if len(taken) != len(segments):
            raise BadInputError(f"the neighbours taken are of {len(taken)} segments; got {len(segments)}")
        return taken

    def _learn(self, segments: Segments) -> np.ndarray:
        """Votes for every training segment, own bag left out; the voter keeps what `_score` needs."""
        raise NotImplementedError

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Votes for segments never seen; `bags` are training bag numbers to leave out, or NO_BAG."""
        raise NotImplementedError

    def _find_threshold(self, raw: np.ndarray, segments: Segments) -> float:
        return otsu_threshold(raw)

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


def _check_scale(X: np.ndarray) -> None:
    """Refuse features whose squared distances vanish in single precision; all zero is all right."""
    largest = max(float(X.max(initial=0)), -float(X.min(initial=0)))
    if 0 < largest < SMALLEST:
        raise BadInputError(
            f"features of at most {largest:.1e} are too small to tell apart; multiply them, or scale them"
        )


@dataclass(frozen=True)
class Segments:
    """Segments of all bags.

    Attributes
    ----------
    X
        (n_segments, d) features.
    positive
        (n_segments,) bool: the segment belongs to P, the segments that may be object. These are the segments of *with*
        bags, less those with the user label background, plus those with the user label object anywhere.
    bags
        (n_segments,) int: bag ids 0 .. n_bags-1.
    prior
        (n_segments,) in [0, 1]: background prior, the factor g of the walk.
    user_labels
        (n_segments,) int8: -1 unknown, 0 background, 1 object.
    bag_labels
        (n_bags,) bool: the bag is *with*.
    """

    X: np.ndarray
    positive: np.ndarray
    bags: np.ndarray
    prior: np.ndarray
    user_labels: np.ndarray
    bag_labels: np.ndarray

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
    bag_labels = _check_bag_labels(codes, labels, bags)
    prior = np.ones(n_segments) if prior is None else _check_length("prior", prior, X).astype(float)
    if not ((prior >= 0) & (prior <= 1)).all():
        raise BadInputError("prior must lie in [0, 1] for every segment; clip it or give None")
    user_labels = (
        np.full(n_segments, -1, dtype=np.int8) if user_labels is None else _check_length("user_labels", user_labels, X)
    )
    if not np.isin(user_labels, (-1, 0, 1)).all():
        raise BadInputError("user_labels must be -1 (unknown), 0 (background) or 1 (object) for every segment")
    positive = np.where(user_labels < 0, labels, user_labels == 1)
    return Segments(X, positive, codes, prior, user_labels.astype(np.int8), bag_labels)


def _check_length(name: str, values: np.ndarray, X: np.ndarray) -> np.ndarray:
    values = np.asarray(values)
    if values.shape != (len(X),):
        raise BadInputError(f"{name} must have one value per segment, shape ({len(X)},); got shape {values.shape}")
    return values


def _check_bag_labels(codes: np.ndarray, labels: np.ndarray, bags: np.ndarray | None) -> np.ndarray:
    n_with = np.bincount(codes, weights=labels)
    n_all = np.bincount(codes)
    mixed = np.flatnonzero((n_with > 0) & (n_with < n_all))
    if len(mixed):
        name = np.unique(np.asarray(bags))[mixed[0]]
        raise BadInputError(
            f"a bag is *with* or *without*, so all its segments share one label; bag {name!r} has both. "
            "Give y per bag and copy it to the bag's segments"
        )
    return n_with > 0
