"""The method of segvote, whole: features and folder labels in, labelled segments out.

1. Every segment is voted for by its k nearest segments of other images (`graph`).
2. Walks over these votes find what the *with* images share and the *without* images lack, under several hypotheses
   about the background (`prior`, `walk`), weighed by how well their selections agree with themselves (`hypotheses`,
   `consistency`).
3. Images that are likely in the wrong folder are excluded from the vote, which is then held again (`mislabelled`).
4. What was selected votes once more, beside a linear classifier of selected against not selected (`linear`): the
   share of neighbours decides where objects repeat, the classifier where they vary.
5. Adjacent segments that look alike share their scores, and Otsu's threshold of each image decides (`decide`).
6. How far to trust all this: `confidence`; and, where *with* images may be without the object, which are (`support`).
7. Where that is not far, a second vote by what tells the folders apart, adopted if it is clearly better
   (`second_opinion`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from segvote.errors import BadInputError
from segvote.kernels import Neighbours, build_vote_graph, estimate_lists, otsu_threshold, search_neighbours
from segvote.method.ballot import Ballot
from segvote.method.confidence import LEVELS, UNSURE, Confidence, measure_confidence, measure_uncertainty
from segvote.method.consistency import measure_consistency
from segvote.method.decide import select_above
from segvote.method.explanation import Explanation, group_by_bag
from segvote.method.graph import N_NEIGHBORS, exclude_voters
from segvote.method.hypotheses import HYPOTHESES, Agreement, select_seeded, weigh_hypotheses
from segvote.method.inputs import check_user_labels, encode_labels, label_images, number_images
from segvote.method.likeness import Likeness
from segvote.method.linear import LinearPosterior, fit_posterior
from segvote.method.mislabelled import choose_excluded, measure_suspicion
from segvote.method.prior import measure_border_prior, measure_connectivity
from segvote.method.residual import pass_on
from segvote.method.result import Result
from segvote.method.second_opinion import (
    MARGIN,
    MOST_SEGMENTS,
    build_stretched_graph,
    contradicts,
    judge_opinion,
)
from segvote.method.support import find_unsupported
from segvote.method.table import N_FOLDS, Geometry, SegmentTable, make_folds, make_table
from segvote.method.walk import Voice, walk

# Rounds of a walk that leaves some images out: enough to rank segments.
N_HELD_OUT_STEPS = 20


class Voter(Protocol):
    """Another system that scores segments, see `segvote.voters`."""

    scores_: np.ndarray
    n_searched: int

    def take_neighbours(self, neighbours: Neighbours) -> Any: ...

    def fit(self, X: np.ndarray, y: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> Any: ...

    def decision_function(self, X: np.ndarray, bags: np.ndarray | None = None) -> np.ndarray: ...

    def explain(self, segment: int) -> Explanation: ...


class SegmentAnnotator(ClassifierMixin, BaseEstimator):
    """Find the object that some images contain and others do not.

    Parameters
    ----------
    voter : Voter, optional
        Another system to score the segments; None: the method of this package.
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
        A name of `segvote.method.decide.DECISIONS`.
    allow_empty : bool
        Whether *with* images keep no segment where their best evidence does not exceed that of *without* images, at a
        p-value of 0.05; otherwise every one keeps at least its best.
    second_opinion : bool
        Whether a vote that is not sure of itself asks for a second opinion.

    Attributes
    ----------
    classes_ : (2,)
        The two labels of images, the one that means *with* last.
    result_ : Result
        Scores, thresholds and selection of the training segments, each voted for by other images only.
    excluded_ : (n_images,) bool
        Images that did not vote.
    empty_ : (n_images,) bool
        *With* images in which nothing is supported; none unless `allow_empty`.
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
    >>> np.flatnonzero(annotator.result_.selected)[:3]
    array([ 0, 10, 20])

    References
    ----------
    Wang, Li, Lu: Weakly supervised segment annotation via expectation kernel density estimation. arXiv 1812.06228.
    """

    # Images, geometry and corrections go along wherever scikit-learn's metadata routing is on.
    __metadata_request__fit = {"images": True, "geometry": True, "user_labels": True, "neighbours": True}  # noqa: RUF012

    def __init__(
        self,
        voter: Voter | None = None,
        n_neighbors: int = N_NEIGHBORS,
        n_steps: int = 60,
        border_prior: float = 0.9,
        smoothing: float = 0.4,
        exclude_mislabelled: bool = True,
        decision: str = "otsu",
        allow_empty: bool = False,
        second_opinion: bool = True,
    ) -> None:
        self.voter = voter
        self.n_neighbors = n_neighbors
        self.n_steps = n_steps
        self.border_prior = border_prior
        self.smoothing = smoothing
        self.exclude_mislabelled = exclude_mislabelled
        self.decision = decision
        self.allow_empty = allow_empty
        self.second_opinion = second_opinion

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def fit(
        self,
        X: np.ndarray,
        y: np.ndarray,
        images: np.ndarray | None = None,
        geometry: Geometry | None = None,
        user_labels: np.ndarray | None = None,
        neighbours: Neighbours | None = None,
    ) -> Self:
        """Let the segments vote.

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
        neighbours : Neighbours, optional
            The `n_neighbors` nearest segments of other images, if they are known; else they are searched.
        """
        if self.allow_empty and self.voter is not None:
            raise BadInputError("allow_empty needs the scores of held-out images, which another voter does not give")
        X, y = validate_data(self, X, y, dtype=(np.float32, np.float64))
        check_classification_targets(y)
        self.classes_, labels = encode_labels(y)
        ids = np.arange(len(X)) if images is None else np.asarray(images)
        if ids.shape != (len(X),):
            raise BadInputError(f"expected one image id per segment ({len(X)}); got shape {ids.shape}")
        self._names, numbers = number_images(ids)
        positive = label_images(labels, numbers)
        self._table = make_table(X, positive, numbers, geometry)
        self._likeness = Likeness(self._table.X, self._table.images)
        self._fit_table(neighbours, check_user_labels(user_labels, len(X)))
        return self

    # The method ------------------------------------------------------------------------------------------------------

    def _fit_table(self, neighbours: Neighbours | None, user_labels: np.ndarray) -> None:
        table = self._table
        if self.voter is None:
            known = neighbours or Neighbours.search(table.X, self.n_neighbors, table.images)
            self.graph_: sparse.csr_matrix | None = known.build_graph()
            self.recall_: float | None = known.recall
            del known, neighbours
        self._fit_labels(user_labels)

    def _fit_labels(self, user_labels: np.ndarray) -> None:
        """All steps but the search for neighbours."""
        table = self._table
        if self.voter is None:
            self._stretched: sparse.csr_matrix | None = None
            self._connectivity = measure_connectivity(table)
            self._vote(user_labels)
        else:
            self._ask_voter()
        self._decide(user_labels)
        # Where *with* images may be without the object, the labels of the folders tell too little apart.
        may_seek = self.second_opinion and not self.allow_empty and len(table) <= MOST_SEGMENTS
        if self.voter is None and may_seek and self.confidence_.value < UNSURE:
            self._seek_second_opinion(user_labels)

    def _vote(self, user_labels: np.ndarray, seeded: bool = False) -> None:
        """Steps 2 to 4: what the hypotheses agree on, without images that are likely mislabelled."""
        table = self._table
        border = table.prior * measure_border_prior(table.border, self.border_prior)
        ballot = self._make_ballot(np.zeros(table.n_images, dtype=bool), user_labels)
        agreement = self._weigh(ballot, border)
        self.excluded_, self.suspicion_ = self._find_mislabelled(ballot, agreement)
        if self.excluded_.any():
            smaller = self._make_ballot(self.excluded_, user_labels)
            other = self._weigh(smaller, border)
            # A vote that agrees less with itself without those excluded has lost good voters.
            if other.score > agreement.score:
                ballot, agreement = smaller, other
            else:
                self.excluded_ = np.zeros(table.n_images, dtype=bool)
        self._prior = border * (1 - HYPOTHESES[agreement.best].connectivity * self._connectivity)
        self._ballot = ballot
        self.agreement_: Agreement | None = agreement
        labels = select_seeded(ballot, self.n_steps) if seeded else agreement.labels
        self._learn_evidence(ballot.revote(labels))

    def _weigh(self, ballot: Ballot, border_prior: np.ndarray) -> Agreement:
        graph = None if self._stretched is None else exclude_voters(self._stretched, ballot.excluded)
        return weigh_hypotheses(ballot, border_prior, self._connectivity, self.n_steps, graph)

    def _seek_second_opinion(self, user_labels: np.ndarray) -> None:
        """Step 7: the same vote over other neighbours takes the place of this one where it is clearly better."""
        other = self._copy()
        other._stretched = build_stretched_graph(self._table, self.n_neighbors)
        other._vote(user_labels)
        other._decide(user_labels)
        if self.is_overruled_by(other):
            self.__dict__.update(other.__dict__)

    def _copy(self) -> SegmentAnnotator:
        other = SegmentAnnotator(**self.get_params(deep=False))
        other.__dict__.update({name: value for name, value in self.__dict__.items() if name not in other.__dict__})
        return other

    @property
    def is_second_opinion(self) -> bool:
        """Whether the second opinion replaced the first."""
        return self.voter is None and self._stretched is not None

    def is_overruled_by(self, other: SegmentAnnotator) -> bool:
        """Whether another vote on the same segments selects something else, and is clearly better."""
        differs = contradicts(self._table, self.result_.selected, other.result_.selected)
        return differs and other._judge() > self._judge() + MARGIN

    def _judge(self) -> float:
        assert self.agreement_ is not None
        return judge_opinion(self._ballot, self.agreement_, self._connectivity)

    def _make_ballot(self, excluded: np.ndarray, user_labels: np.ndarray) -> Ballot:
        silent = excluded[self._table.images] & (user_labels < 0)
        graph = exclude_voters(self.graph_, silent)
        return Ballot(self._table, graph, silent, user_labels, self.smoothing)

    def _find_mislabelled(self, ballot: Ballot, agreement: Agreement) -> tuple[np.ndarray, np.ndarray]:
        """Which images are excluded, and how much each is like the other folder."""
        table = self._table
        suspicion = measure_suspicion(table, ballot.smooth(ballot.count_share(agreement.labels)))
        if not self.exclude_mislabelled:
            return np.zeros(table.n_images, dtype=bool), suspicion
        return choose_excluded(suspicion, table.positive), suspicion

    def _learn_evidence(self, selected: np.ndarray) -> None:
        """Evidence of each segment: inside * share of its neighbours selected + (1 - inside) * linear posterior."""
        ballot, table = self._ballot, self._table
        share = ballot.count_share(selected)
        self._voting = selected
        self.inside_ = measure_consistency(table, selected, share).inside
        self.posterior_: LinearPosterior = fit_posterior(table.X, selected, table.areas, ~ballot.excluded)
        self._evidence = self.inside_ * share + (1 - self.inside_) * self.posterior_.measure(table.X)

    def _ask_voter(self) -> None:
        """Scores of another system take the place of steps 1 to 4."""
        assert self.voter is not None
        table = self._table
        prior = table.prior * measure_border_prior(table.border, self.border_prior)
        self.voter.fit(table.X, table.is_candidate, bags=table.images, prior=prior)
        self.graph_, self.recall_ = getattr(self.voter, "graph_", None), getattr(self.voter, "recall_", None)
        nothing = np.zeros(len(table), dtype=bool)
        empty = sparse.csr_matrix((len(table), len(table)))
        self._ballot = Ballot(table, empty, nothing, np.full(len(table), -1, dtype=np.int8), self.smoothing)
        self.excluded_ = np.zeros(table.n_images, dtype=bool)
        self.agreement_ = None
        self._evidence = np.asarray(self.voter.scores_, dtype=np.float64)
        self.suspicion_ = measure_suspicion(table, self._ballot.smooth(self._evidence))

    def _decide(self, user_labels: np.ndarray, threshold: float | None = None) -> None:
        """Step 5 and 6: thresholds, selection, confidence; then user labels, and what is like them."""
        ballot, table = self._ballot, self._table
        scores = ballot.smooth(self._evidence)
        thresholds = ballot.select(scores, self.decision)[1]
        # Another system has a threshold of its own, at 0; here it is Otsu's of all images together.
        own = otsu_threshold(scores, table.areas) if self.voter is None else 0.0
        self.threshold_ = own if threshold is None else threshold
        thresholds = np.where(table.positive, thresholds - self.threshold_, 0.0)
        self.scores_ = scores - self.threshold_
        held_out = self.score_held_out(make_folds(table.positive, N_FOLDS)) if self.voter is None else None
        self.empty_ = self._find_empty(user_labels)
        # Nothing is above the best score, until a correction lifts it.
        self.thresholds_ = np.where(self.empty_, table.find_best(self.scores_), thresholds)
        plain = self._apply_thresholds(self.scores_)
        self.confidence_: Confidence = measure_confidence(
            ballot, self.scores_, plain, self.agreement_, held_out, self.is_second_opinion
        )
        self.result_ = self.correct(user_labels)

    def _find_empty(self, user_labels: np.ndarray) -> np.ndarray:
        """(n_images,) bool: *with* images in which nothing is supported and the user marked nothing."""
        table = self._table
        if not self.allow_empty:
            return np.zeros(table.n_images, dtype=bool)
        held_out = self.score_held_out(make_folds(table.positive, N_FOLDS), refit=True)
        shows = table.sum_by_image(user_labels == 1) > 0
        evidence = table.find_best(self._ballot.smooth(held_out))
        return find_unsupported(evidence, table.positive, ~self.excluded_ & ~shows) & ~shows

    def _apply_thresholds(self, scores: np.ndarray) -> np.ndarray:
        selected = np.zeros(len(scores), dtype=bool)
        for image in map(int, np.flatnonzero(self._table.positive)):
            part = self._table.get_slice(image)
            threshold = float(self.thresholds_[image])
            selected[part] = scores[part] > threshold if self.empty_[image] else select_above(scores[part], threshold)
        return selected

    # The user's word -------------------------------------------------------------------------------------------------

    def prepare_corrections(self) -> None:
        """Measure now what the first correction would wait for."""
        self._likeness.prepare()

    def correct(self, user_labels: np.ndarray | None, painted_shares: np.ndarray | None = None) -> Result:
        """The result with corrections: a user label holds for its segment, and moves similar segments.

        Thresholds stay where the vote left them: a correction moves what is like it, not all the rest of its image.

        Parameters
        ----------
        user_labels : (n_segments,) int8, optional
            -1 unknown, 0 background, 1 object.
        painted_shares : (n_segments,), optional
            Part of each segment that was painted object, in [0, 1], or background, in [-1, 0]: the smaller, the less it
            moves similar segments.
        """
        table, user_labels = self._table, check_user_labels(user_labels, len(self._table))
        told, residuals, scores = user_labels >= 0, None, self.scores_
        if told.any() or (painted_shares is not None and painted_shares.any()):
            votes = (scores, self.thresholds_, table.images, table.positive)
            residuals = pass_on(self._likeness, *votes, user_labels, painted_shares)
            scores = residuals.scores
        selected = np.where(told, user_labels == 1, self._apply_thresholds(scores))
        return Result(
            scores=scores,
            votes=self._evidence - self.threshold_,
            thresholds=self.thresholds_,
            selected=selected,
            weights=np.where(told, user_labels, np.where(table.is_candidate, self._soften(scores), 0.0)),
            user_labels=user_labels,
            uncertainty=measure_uncertainty(self._ballot, scores, selected, self.agreement_),
            residuals=residuals,
        )

    def teach(self, user_labels: np.ndarray | None) -> SegmentAnnotator:
        """The annotator after a vote in which corrections take part; this one where there are none.

        `correct` moves what is like a correction; here corrected segments vote with the user's label, walks that
        contradict them lose weight, and the linear classifier learns from them. Where the confidence is low the walk
        starts from them (`hypotheses.select_seeded`). Slower, and of higher mean IoU on nearly all sets measured
        (`docs/review.md`), so that ``teach(labels).correct(labels)`` is what is written.

        Parameters
        ----------
        user_labels : (n_segments,), optional
            As for `fit`.
        """
        check_is_fitted(self)
        user_labels = check_user_labels(user_labels, len(self._table))
        if self.voter is not None or not (user_labels >= 0).any():
            return self
        # Where the method trusts itself little, an object label says more than what the walks agree on.
        seeded = self.confidence_.level == LEVELS[0] and bool((user_labels == 1).any())
        # Scores with corrections stand beside those without: both have the same zero, unless all is begun anew.
        return self._vote_again(self._table.positive, user_labels, seeded, None if seeded else self.threshold_)

    def refit(self, y: np.ndarray) -> SegmentAnnotator:
        """A vote on the same segments for another object, as `fit` would hold it; neighbours are not searched again.

        Parameters
        ----------
        y : (n_images,) bool
            Labels of the images.
        """
        check_is_fitted(self)
        other = self._copy()
        other._table = replace(self._table, positive=np.asarray(y, dtype=bool))
        other._fit_labels(check_user_labels(None, len(self._table)))
        return other

    def revote(self, y: np.ndarray, user_labels: np.ndarray | None = None) -> SegmentAnnotator:
        """A new vote after images were moved, or with corrections that take part in it; an adopted opinion is kept.

        Parameters
        ----------
        y : (n_images,) bool
            Labels of the images.
        user_labels : (n_segments,), optional
            As for `fit`.
        """
        check_is_fitted(self)
        return self._vote_again(np.asarray(y, dtype=bool), check_user_labels(user_labels, len(self._table)))

    def _vote_again(
        self, positive: np.ndarray, user_labels: np.ndarray, seeded: bool = False, threshold: float | None = None
    ) -> SegmentAnnotator:
        other = self._copy()
        other._table = replace(self._table, positive=positive)
        if self.voter is None:
            if (positive != self._table.positive).any():
                other._connectivity = measure_connectivity(other._table)
            other._vote(user_labels, seeded)
        else:
            other._ask_voter()
        other._decide(user_labels, threshold)
        return other

    # Segments never seen ---------------------------------------------------------------------------------------------

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
        if self.voter is not None:
            return self.voter.decision_function(X, images)
        own = None if images is None else self._find_images(np.asarray(images))
        squared, indices = search_neighbours(X, self._table.X, self.n_neighbors, own, self._table.images)
        graph = exclude_voters(build_vote_graph(squared, indices, len(self._table)), self._ballot.excluded)
        share = graph @ self._voting.astype(np.float64)
        return self.inside_ * share + (1 - self.inside_) * self.posterior_.measure(X) - self.threshold_

    def _find_images(self, ids: np.ndarray) -> np.ndarray:
        """Numbers of training images by id; -1 for images never seen."""
        known = {name: number for number, name in enumerate(self._names.tolist())}
        return np.array([known.get(one, -1) for one in ids.tolist()])

    def smooth(self, scores: np.ndarray, adjacency: sparse.csr_matrix) -> np.ndarray:
        """Scores of segments never seen with those of their adjacent segments, see `weigh_adjacent`."""
        return (1 - self.smoothing) * scores + self.smoothing * (adjacency @ scores)

    def smooth_training(self, scores: np.ndarray) -> np.ndarray:
        """Other scores (n_segments,) of the training segments, smoothed alike."""
        return self._ballot.smooth(scores)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """(n_segments,) the *with* class where the score is above 0."""
        selected = self.decision_function(X) > 0
        return self.classes_[selected.astype(int)]

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """(n_segments, 2) background and object; one half at the typical threshold."""
        posterior = self._posterior(self.decision_function(X))
        return np.column_stack([1 - posterior, posterior])

    def _posterior(self, scores: np.ndarray) -> np.ndarray:
        """A / (A + B) of eq. 17, with the threshold standing for the votes against."""
        if self.voter is not None:
            scale = float(self.scores_.std()) or 1.0
            return 1 / (1 + np.exp(-np.clip(scores / scale, -50, 50)))
        votes = np.clip(scores + self.threshold_, 0.0, None)
        return votes / np.maximum(votes + self.threshold_, np.finfo(float).tiny)

    def _soften(self, scores: np.ndarray) -> np.ndarray:
        """Soft labels in [0, 1] of training segments: the evidence itself, which is a share and a probability."""
        return self._posterior(scores) if self.voter is not None else np.clip(scores + self.threshold_, 0.0, 1.0)

    def score_held_out(self, folds: np.ndarray, refit: bool = False) -> np.ndarray:
        """Score every training segment as if its image had never been seen.

        ``scores_`` leaves a segment's own image out of its neighbours, but the votes of the others were found with the
        image among them. Here each group of images is left out of the walk and of the neighbours.

        Parameters
        ----------
        folds : (n_images,) int
            Number of the group that each image is left out with.
        refit : bool
            Whether the linear classifier is learned again without each group. It has seen the labels of all images:
            with more features than a few hundred segments bear, images of the *with* folder score high for that alone.

        Returns
        -------
        (n_segments,) scores before smoothing, on the scale of ``scores_``.
        """
        table, ballot, scores = self._table, self._ballot, np.empty(len(self._table))
        assert self.agreement_ is not None
        balance = HYPOTHESES[self.agreement_.best].balance
        for fold in np.unique(folds):
            out = (folds == fold)[table.images]
            graph = exclude_voters(ballot.graph, out)
            labels = self._label_others(graph, out, balance)
            used = ~out & ~ballot.excluded
            linear = fit_posterior(table.X, labels, table.areas, used) if refit else self.posterior_
            share = graph[out] @ labels.astype(np.float64)
            scores[out] = self.inside_ * share + (1 - self.inside_) * linear.measure(table.X[out])
        return scores - self.threshold_

    def _label_others(self, graph: sparse.csr_matrix, out: np.ndarray, balance: float) -> np.ndarray:
        """(n_segments,) bool: what a walk selects in the images that are not left out."""
        if self._stretched is not None:
            # The walk over these votes is the opinion that was replaced.
            return self._voting & ~out
        table, voters = self._table, self._ballot.voters[~out[self._ballot.voters]]
        voice = Voice(table.images[voters], table.shares[voters], balance)
        votes = walk(graph, self._prior, voters, voice, N_HELD_OUT_STEPS)
        return _select_as_many(votes, self._voting, table) & ~out

    # Explanation and state -------------------------------------------------------------------------------------------

    def explain(self, segment: int) -> Explanation:
        """Which segments voted for a training segment before smoothing; the amounts and the constant sum to it.

        Every neighbour adds what it votes less the threshold; the constant is the linear classifier's part.
        """
        check_is_fitted(self)
        if not 0 <= segment < len(self._table):
            raise BadInputError(f"there are {len(self._table)} segments, numbered from 0; got segment {segment}")
        if self.voter is not None:
            return self.voter.explain(segment)
        row = self._ballot.graph[[segment]]
        amounts = row.data * (self.inside_ * self._voting[row.indices] - self.threshold_)
        linear = (1 - self.inside_) * float(self.posterior_.measure(self._table.X[[segment]])[0])
        constant = linear - self.threshold_ * (1 - row.data.sum())
        return group_by_bag(row.indices.astype(np.int64), amounts, self._table.images, constant)

    def get_adjacent(self, segment: int) -> sparse.csr_matrix:
        """(1, n_segments) weights of the adjacent segments in the smoothing of a training segment; they sum to one."""
        return self._table.adjacency[[segment]]

    def get_state(self) -> dict[str, np.ndarray]:
        """What scoring unseen segments needs beside the training segments, as arrays by name."""
        check_is_fitted(self)
        return {
            "voting": self._voting.astype(np.uint8),
            "excluded": self._ballot.excluded.astype(np.uint8),
            "inside": np.array([self.inside_]),
            "threshold": np.array([self.threshold_]),
            "direction": self.posterior_.direction.astype(np.float64),
            "offset": np.array([self.posterior_.offset]),
        }

    def set_state(self, X: np.ndarray, y: np.ndarray, images: np.ndarray, state: dict[str, np.ndarray]) -> Self:
        """Take over what another annotator learned from the same segments; scores unseen segments only.

        Parameters
        ----------
        X, y, images
            As given to `fit`.
        state : dict
            Of `get_state`.
        """
        self.classes_, labels = encode_labels(np.asarray(y))
        self._names, numbers = number_images(images)
        self._table = make_table(X, label_images(labels, numbers), numbers, None)
        self.n_features_in_ = X.shape[1]
        nobody, empty = np.full(len(X), -1, dtype=np.int8), sparse.csr_matrix((len(X), len(X)))
        self._ballot = Ballot(self._table, empty, state["excluded"].astype(bool), nobody, self.smoothing)
        self._voting = state["voting"].astype(bool)
        self.inside_, self.threshold_ = float(state["inside"][0]), float(state["threshold"][0])
        self.posterior_ = LinearPosterior(state["direction"], float(state["offset"][0]))
        return self

    def estimate_arrays(self, n_segments: int, n_dims: int) -> tuple[int, int]:
        """Bytes of what a fit makes beside the features: arrays that may lie on disk; what it holds while it learns."""
        found, votes = 16 * self.n_neighbors * n_segments, 12 * self.n_neighbors * n_segments
        codes, held = estimate_lists(n_segments, n_dims)
        if self.second_opinion and n_segments <= MOST_SEGMENTS:
            # Features once more, stretched, and the votes by them.
            held += 4 * n_dims * n_segments + found + votes
        # The walk's own graph, at most as large as all votes.
        return found + max(votes, codes), max(held, votes)


def _select_as_many(votes: np.ndarray, selected: np.ndarray, table: SegmentTable) -> np.ndarray:
    """By other votes (n_segments,), as many of the best of each image as were selected."""
    counts = table.sum_by_image(selected)
    order = np.lexsort((-votes, table.images))
    chosen = np.zeros(len(votes), dtype=bool)
    ranks = np.arange(len(order)) - table.offsets[table.images[order]]
    chosen[order] = ranks < counts[table.images[order]]
    return chosen
