"""eKDE that works: the paper's votes among other bags, with an adaptive bandwidth, renormalised instead of collapsing.

One round of the paper's iteration with equal bandwidths is ``w <- M w``: run to the end it says that nothing is object.
Its *direction*, though, converges, to the places where a walk over the votes that has never met a *without* segment
ends up. That direction is what is computed here, by power iteration: one sparse product per step.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from segvote.errors import BadInputError
from segvote.kernels import build_vote_graph, estimate_lists, search_neighbours
from segvote.voters.base import N_NEIGHBORS, BaseVoter
from segvote.voters.segments import Segments, check_segments, encode_tags
from segvote.voters.walk import Round, find_typical, leave_out, walk

__all__ = ["EKDE"]


class EKDE(BaseVoter):
    """Expectation kernel density estimation, robust form (the default voter).

    Every segment hears its `n_neighbors` nearest segments of other bags, *with* and *without* together, with a
    bandwidth of its own. ``w <- g * (M w)``, divided by its largest value, `n_steps` times from ``w = 1`` on *with* and
    0 on *without* segments. The score is the last vote less the threshold: every neighbour j adds
    ``M_ij (w_j - threshold)``.

    Parameters
    ----------
    n_neighbors
        How many segments each one hears.
    n_steps
        Rounds of voting.
    n_correction_steps
        Of these rounds, the last ones that hear a person's corrections: enough to reach what is like them, too few to
        lead the rest of the run elsewhere.

    Attributes
    ----------
    graph_
        (n_segments, n_segments) sparse: the votes M, rows sum to one.
    recall_
        Part of the true neighbours that the search found: 1 up to some 25,000 segments, measured beyond.

    References
    ----------
    Wang, Li, Lu: Weakly supervised segment annotation via expectation kernel density estimation. arXiv 1812.06228.
    """

    def __init__(self, n_neighbors: int = N_NEIGHBORS, n_steps: int = 60, n_correction_steps: int = 12) -> None:
        self.n_neighbors = n_neighbors
        self.n_steps = n_steps
        self.n_correction_steps = n_correction_steps

    def _learn(self, segments: Segments) -> np.ndarray:
        neighbours = self._hear_neighbours(segments)
        self.graph_, self.recall_ = neighbours.build_graph(), neighbours.recall
        del neighbours
        self._forget_steps(segments)
        return self._count(segments)

    def _forget_steps(self, segments: Segments) -> None:
        """All bags have their say, nobody is elected, no round has been counted."""
        self._muted = np.zeros(len(segments), dtype=bool)
        self._elected: np.ndarray | None = None
        self._last_survival = segments.survival  # of the vote that the scores are
        self._early_weights: np.ndarray | None = None

    @property
    def n_heard(self) -> int:
        return self.n_neighbors

    def _count(self, segments: Segments) -> np.ndarray:
        """All rounds, those before corrections are heard only where they are not known yet; or the elected alone."""
        if self._elected is not None:
            return self._count_elected(segments, self._elected)
        if self._early_weights is None:
            tags = segments.bag_tags[segments.bags]
            nothing_said = replace(segments, positive=tags, fixed=np.full(len(segments), -1, dtype=np.int8))
            self._iterate(nothing_said, np.where(tags, 1.0, 0.0), self.n_steps - self._n_last_steps)
            self._early_weights = self._votes_weights
        votes = self._iterate(segments, self._early_weights, self._n_last_steps)
        self.n_iter_ = self.n_steps
        return votes

    def _count_elected(self, segments: Segments, elected: np.ndarray) -> np.ndarray:
        self._votes_weights = np.where(segments.fixed >= 0, segments.fixed == 1, elected).astype(float)
        self._gain = 1.0
        return self._hear(self._votes_weights, self._find_silent(segments))

    def _hear(self, weights: np.ndarray, silent: np.ndarray) -> np.ndarray:
        """What everybody hears of these weights, of one vote or of several in columns."""
        survival = self._last_survival if weights.ndim == 1 else self._last_survival[:, None]
        return self._scale_votes(survival, silent) * (self.graph_ @ weights)

    def estimate_arrays(self, n_segments: int, n_dims: int) -> tuple[int, int]:
        """Bytes of what a fit makes beside the features: arrays that may lie on disk; what it holds while it learns."""
        # Distance and number of each neighbour; beside them first what is searched, then their votes and numbers.
        found, votes = 16 * self.n_neighbors * n_segments, 12 * self.n_neighbors * n_segments
        codes, held = estimate_lists(n_segments, n_dims)
        return found + max(votes, codes), held

    @property
    def _n_last_steps(self) -> int:
        return min(self.n_correction_steps, self.n_steps)

    def _build_graph(self, X: np.ndarray, bags: np.ndarray, segments: Segments) -> sparse.csr_matrix:
        squared, indices = search_neighbours(X, segments.X, self.n_neighbors, bags, segments.bags)
        return leave_out(build_vote_graph(squared, indices, len(segments)), self._find_silent(segments))

    def _iterate(self, segments: Segments, start: np.ndarray, n_steps: int) -> np.ndarray:
        """Vote `n_steps` times; sets what the last voters weighed and returns the votes of every segment."""
        free = segments.positive & (segments.fixed < 0)
        scale = self._scale_votes(segments.survival, self._find_silent(segments))
        rounds = Round(self.graph_, scale, free, segments.fixed == 1, find_typical(start))
        votes, self._votes_weights, gain = walk(rounds, start, n_steps)
        self._gain = float(gain)
        return votes

    def _find_silent(self, segments: Segments) -> np.ndarray:
        """(n_segments,) bool: who has no say; what a person said of a segment is heard in any bag."""
        return self._muted & (segments.fixed < 0)

    def _scale_votes(self, survival: np.ndarray, silent: np.ndarray) -> np.ndarray:
        """What the votes for each segment are multiplied with: those that are left sum to one again."""
        if not silent.any():
            return survival
        heard = self.graph_ @ (~silent).astype(float)
        return survival * np.divide(1.0, heard, out=np.zeros_like(heard), where=heard > 0)

    def _weigh(self, raw: np.ndarray, segments: Segments) -> np.ndarray:
        weights = np.where(segments.positive, np.clip(raw, 0.0, 1.0), 0.0)
        return np.where(segments.fixed >= 0, segments.fixed, weights)

    def _posterior(self, raw: np.ndarray) -> np.ndarray:
        # A / (A + B) of eq. 17, with the threshold standing for the votes against.
        return raw / np.maximum(raw + self.threshold_, np.finfo(float).tiny)

    def _score(self, X: np.ndarray, bags: np.ndarray, survival: np.ndarray) -> np.ndarray:
        graph = self._build_graph(X, bags, self._segments)
        return survival * (graph @ self._votes_weights) * self._gain

    def _list_votes(self, x: np.ndarray, bag: int, survival: float) -> tuple[np.ndarray, np.ndarray, float]:
        return self._weigh_row(self._build_graph(x[None, :], np.array([bag]), self._segments), survival)

    def _list_training_votes(self, segment: int) -> tuple[np.ndarray, np.ndarray, float]:
        # The very neighbours that were heard: a search of a large set need not find them again.
        row = leave_out(self.graph_[[segment]], self._find_silent(self._segments))
        return self._weigh_row(row, self._last_survival[segment])

    def _weigh_row(self, row: sparse.csr_matrix, survival: float) -> tuple[np.ndarray, np.ndarray, float]:
        amounts = row.data * (survival * self._gain * self._votes_weights[row.indices] - self.threshold_)
        # A segment that hears nobody still has to reach the threshold.
        return row.indices.astype(np.int64), amounts, -self.threshold_ * (1 - row.data.sum())

    def score_held_out(self, folds: np.ndarray) -> np.ndarray:
        """Score every training segment as if its bag had never been seen.

        ``scores_`` leaves a segment's own bag out of those it hears, but the weights of the others were voted with the
        bag among them: a *without* bag has already talked down what it looks like. Here each group of bags is taken out
        of the vote as a whole, and heard by what the others then say.

        Parameters
        ----------
        folds
            (n_bags,) number of the group that each bag, in the order of its name, is taken out with.

        Returns
        -------
        (n_segments,) scores, on the scale of ``scores_``.
        """
        out = np.equal.outer(np.asarray(folds), np.unique(folds))[self._segments.bags]
        return (self._vote_without(out) * out).sum(axis=1) - self.threshold_

    def _vote_without(self, out: np.ndarray) -> np.ndarray:
        """Votes (n_segments, n_groups) for every segment when those marked in `out` (of that shape) have no say."""
        segments = self._segments
        said = np.where(out, -1, segments.fixed[:, None])
        scale = self._scale_votes(segments.survival[:, None], out | self._find_silent(segments)[:, None])
        tags = segments.bag_tags[segments.bags][:, None] & ~out
        first = Round(self.graph_, scale, tags)
        early = walk(first, np.where(tags, 1.0, 0.0), self.n_steps - self._n_last_steps)[1]
        free, typical = segments.positive[:, None] & ~out & (said < 0), np.apply_along_axis(find_typical, 0, early)
        votes = walk(Round(self.graph_, scale, free, said == 1, typical), early, self._n_last_steps)[0]
        if self._elected is None:
            return votes
        chosen = np.where(said >= 0, said == 1, self._elect_alike(votes, self._elected)) & ~out
        return self._hear(chosen.astype(float), out | self._find_silent(segments)[:, None])

    def _elect_alike(self, votes: np.ndarray, elected: np.ndarray) -> np.ndarray:
        """By other votes (n_segments, n_groups), as many of the best of each bag as were elected."""
        bags = self._segments.bags
        counts, starts = np.bincount(bags, weights=elected), np.concatenate([[0], np.cumsum(np.bincount(bags))])
        chosen = np.zeros(votes.shape, dtype=bool)
        for column, alike in zip(votes.T, chosen.T, strict=True):
            order = np.lexsort((-column, bags))
            alike[order] = np.arange(len(order)) - starts[bags[order]] < counts[bags[order]]
        return chosen

    def get_state(self) -> dict[str, np.ndarray]:
        """Return what scoring unseen segments needs beside the training segments, as arrays by name."""
        check_is_fitted(self)
        return {
            "weights": self._votes_weights,
            "gain": np.array([self._gain]),
            "threshold": np.array([self.threshold_]),
            "muted": self._find_silent(self._segments).astype(np.uint8),
            "elected": np.array([self._elected is not None], dtype=np.uint8),
        }

    def set_state(self, X: np.ndarray, y: np.ndarray, bags: np.ndarray, state: dict[str, np.ndarray]) -> EKDE:
        """Take over what another voter learned from the same segments; scores unseen segments, knows no ``scores_``.

        Parameters
        ----------
        X, y, bags
            As given to `fit`.
        state
            Of `get_state`.
        """
        self.classes_, tags = encode_tags(y)
        self._segments = check_segments(X, tags, bags, None, None)
        self._bag_names, self.n_features_in_ = np.unique(bags), X.shape[1]
        self._muted = np.asarray(state.get("muted", np.zeros(len(X))), dtype=bool)
        self._votes_weights = np.asarray(state["weights"], dtype=float)
        self._elected = self._votes_weights > 0 if np.any(state.get("elected", 0)) else None
        self._gain, self.threshold_ = float(state["gain"][0]), float(state["threshold"][0])
        return self

    def revote(self, fixed: np.ndarray, y: np.ndarray | None = None) -> EKDE:
        """Vote again with other corrections or tags, as `fit` would: the same scores to the last bit.

        The graph, which is nearly all the work of `fit`, stays as it is; so do the rounds before corrections are
        heard, unless the tags change.

        Parameters
        ----------
        fixed
            (n_segments,) int8: -1 unknown, 0 background, 1 object.
        y
            (n_segments,) bool: other tags of the bags, copied to their segments; default: those of the last vote. With
            other tags all bags have their say again, see `mute`, and nobody is elected, see `elect`.
        """
        old = self._segments
        segments = check_segments(old.X, old.bag_tags[old.bags] if y is None else y, old.bags, old.survival, fixed)
        if not np.array_equal(segments.bag_tags, old.bag_tags):
            self._forget_steps(segments)
        return self._count_again(segments)

    def mute(self, bags: np.ndarray) -> EKDE:
        """Vote again without the say of some *without* bags: what they are like is no longer talked down.

        Parameters
        ----------
        bags
            (n_bags,) bool, in the order of their names.
        """
        segments = self._segments
        if np.any(bags & segments.bag_tags):
            raise BadInputError("only *without* bags can be muted; the ones given include *with* bags")
        self._forget_steps(segments)
        self._muted = np.asarray(bags)[segments.bags]
        return self._count_again(segments)

    def elect(self, chosen: np.ndarray, survival: np.ndarray | None = None) -> EKDE:
        """Let those chosen vote, each with one vote: a score is then the share of those heard that were chosen.

        The walk finds where the thing is, and ends with its most typical parts far above the others. Once it is decided
        what the thing is, all its parts count alike.

        Parameters
        ----------
        chosen
            (n_segments,) bool, of *with* bags.
        survival
            (n_segments,) background prior of this vote; default: none, for what was chosen is no background.
        """
        self._elected = np.asarray(chosen, dtype=bool)
        self._last_survival = np.ones(len(chosen)) if survival is None else survival
        return self._count_again(self._segments)

    @property
    def elected_(self) -> np.ndarray | None:
        """(n_segments,) bool: those that vote, each with one vote; None while all vote as the walk has it."""
        return self._elected

    @property
    def muted_(self) -> np.ndarray:
        """(n_bags,) bool: the bags that have no say."""
        return np.bincount(self._segments.bags, weights=self._muted) > 0

    def _count_again(self, segments: Segments) -> EKDE:
        raw = self._count(segments)
        self._segments = segments
        self.threshold_ = self._find_threshold(raw, segments)
        self.scores_, self.weights_ = raw - self.threshold_, self._weigh(raw, segments)
        return self
