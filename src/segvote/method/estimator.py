"""`SegmentAnnotator`: the method behind scikit-learn's interface; arrays in, labelled segments out."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from segvote.errors import BadInputError
from segvote.method.correct import correct_vote
from segvote.method.extents import Extents, find_extents
from segvote.method.graph import search_graph
from segvote.method.hypotheses import VoteParams
from segvote.method.inputs import check_parameters, encode_labels, label_images, number_images
from segvote.method.table import Geometry, make_table
from segvote.method.tags import BagLabelled
from segvote.method.vote import Explanation, Vote, explain_vote
from segvote.method.whole_vote import vote_and_judge


class SegmentAnnotator(BagLabelled, BaseEstimator):
    """Find the object that some images contain and others do not.

    Parameters
    ----------
    n_neighbors : int
        Segments of other images that vote for each segment.
    n_steps : int
        Rounds of the walk.
    border_prior : float
        Background prior of segments on the image border, in (0, 1]; 1 switches it off.
    smoothing : float
        Part of a score that comes from adjacent segments that look alike, in [0, 1].
    exclude_mislabelled : bool
        Whether images that are likely in the wrong folder are excluded from the vote.
    decision : str
        A name of `segvote.method.threshold.DECISIONS`.
    allow_empty : bool
        Whether *with* images keep no segment where their best evidence does not exceed that of *without* images, at a
        p-value of 0.05; otherwise every one keeps at least its best.
    pos_label : int, str or bool, optional
        The label of images with the object; None: the larger of two numbers, or ``with`` beside ``without``.

    Attributes
    ----------
    classes_ : (2,)
        The two labels of images, the one that means *with* last.
    vote_ : Vote
        Its ``selection`` holds scores, thresholds and selected training segments, each voted for by other images only.
    extents_ : Extents
        Nested selections, from the most distinctive part to the whole object.
    alternatives_ : list of Vote
        The vote before corrections, and others that select something else that *with* images share.
    confidence_ : Confidence
        How far to trust the selection.

    Examples
    --------
    >>> import numpy as np
    >>> from segvote import SegmentAnnotator
    >>> rng = np.random.default_rng(0)
    >>> images = np.repeat(np.arange(20), 10)  # ten segments in each of twenty images
    >>> y = images < 10  # the first ten contain the object
    >>> X = rng.normal(0, 0.1, (200, 3))
    >>> X[y & (np.arange(200) % 10 == 0)] += [1, 0, 0]  # the first segment of each of these
    >>> annotator = SegmentAnnotator(n_neighbors=8).fit(X, y, images=images)
    >>> np.flatnonzero(annotator.vote_.selection.selected)[:3]
    array([ 0, 10, 20])

    References
    ----------
    Wang, Li, Lu: Weakly supervised segment annotation via expectation kernel density estimation. arXiv 1812.06228.
    """

    # Images, geometry and corrections go along wherever scikit-learn's metadata routing is on.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"images": True, "geometry": True, "user_labels": True}

    def __init__(
        self,
        n_neighbors: int = VoteParams.n_neighbors,
        n_steps: int = VoteParams.n_steps,
        border_prior: float = VoteParams.border_prior,
        smoothing: float = VoteParams.smoothing,
        exclude_mislabelled: bool = VoteParams.exclude_mislabelled,
        decision: str = VoteParams.decision,
        allow_empty: bool = VoteParams.allow_empty,
        pos_label: int | str | bool | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_steps = n_steps
        self.border_prior = border_prior
        self.smoothing = smoothing
        self.exclude_mislabelled = exclude_mislabelled
        self.decision = decision
        self.allow_empty = allow_empty
        self.pos_label = pos_label

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        images: np.ndarray | None = None,
        geometry: Geometry | None = None,
        user_labels: np.ndarray | None = None,
    ) -> Self:
        """Hold the vote.

        Parameters
        ----------
        X : (n_segments, d)
            Features.
        y : (n_segments,)
            The image's label, copied to its segments: {0, 1}, {-1, 1}, bool, or two strings.
        images : (n_segments,), optional
            Ids of the images, segments of one image together; default: every segment is an image of its own.
        geometry : Geometry, optional
            Where the segments lie.
        user_labels : (n_segments,), optional
            Corrections: -1 unknown, 0 background, 1 object.
        """
        check_parameters(self.get_params(deep=False))
        X, y = validate_data(self, X, y, dtype=(np.float32, np.float64))
        check_classification_targets(y)
        self.classes_, labels = encode_labels(y, self.pos_label)
        ids = np.arange(len(X)) if images is None else np.asarray(images)
        if ids.shape != (len(X),):
            raise BadInputError(f"expected one image id per segment ({len(X)}); got shape {ids.shape}")
        self._names, numbers = number_images(ids)
        table = make_table(X, label_images(labels, numbers), numbers, geometry)
        graph = search_graph(table, self.n_neighbors)
        self.alternatives_, self.confidence_ = vote_and_judge(table, graph, self._make_params())
        return self.correct(user_labels)

    def _make_params(self) -> VoteParams:
        return VoteParams(
            n_neighbors=self.n_neighbors,
            n_steps=self.n_steps,
            border_prior=self.border_prior,
            smoothing=self.smoothing,
            exclude_mislabelled=self.exclude_mislabelled,
            decision=self.decision,
            allow_empty=self.allow_empty,
        )

    def correct(self, user_labels: np.ndarray | None) -> Self:
        """Hold the vote again with corrections (n_segments,): -1 unknown, 0 background, 1 object; None: without any."""
        check_is_fitted(self, "confidence_")
        refitted, correction = correct_vote(self.alternatives_[0], user_labels)
        self.vote_: Vote = replace(refitted, selection=correction.selection)
        self.extents_: Extents = find_extents(self.vote_.table, self.vote_.selection, self.vote_.electorate.graph)
        return self

    def decision_function(self, X: np.ndarray, images: np.ndarray | None = None) -> np.ndarray:
        """(n_segments,) score of segments before smoothing; above 0 means object.

        Parameters
        ----------
        X : (n_segments, d)
            Features.
        images : (n_segments,), optional
            Ids of their images; training segments of the same image do not vote. Default: images never seen.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=(np.float32, np.float64))
        bags = None
        if images is not None:
            known = {name: number for number, name in enumerate(self._names.tolist())}
            bags = np.array([known.get(name, -1) for name in np.asarray(images).tolist()])
        scorer = self.vote_.scorer
        return scorer.score(X, scorer.build_graph(X, bags))

    def predict(self, X: np.ndarray) -> np.ndarray:
        """(n_segments,) the *with* class where the score is above 0."""
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int)]

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """(n_segments, 2) background and object; one half at the threshold of the run, as ``vote_.weights``."""
        scores = self.decision_function(X)
        posterior = self.vote_.scorer.compute_soft_labels(scores)
        return np.column_stack([1 - posterior, posterior])

    def explain(self, segment: int) -> Explanation:
        """Contributions to the score of a training segment before smoothing; amounts and constant sum to it."""
        check_is_fitted(self)
        n_segments = len(self.vote_.table)
        if not 0 <= segment < n_segments:
            raise BadInputError(f"there are {n_segments} segments, numbered from 0; got segment {segment}")
        return explain_vote(self.vote_, segment)
