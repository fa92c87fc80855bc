"""Diverse density and its descendants: the one point near a segment of every *with* bag and far from all negatives.

DD climbs the likelihood of `segvote.voters.mil.concepts` from many *with* segments and keeps the best end. EM-DD names
one segment per bag as the responsible one and climbs that simpler likelihood, in turns. GEM-DD (a name that the eKDE
paper uses without a formula; this is our reading, generalised EM) shares the responsibility among the segments of a bag
and takes only a few steps of the climb per turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from segvote.errors import BadInputError
from segvote.voters.mil.concepts import BagLoss, Concept, SoftLoss, climb, screen_starts
from segvote.voters.mil.learning_bags import Bags, BagVoter
from segvote.voters.standard import learn_standard

# A turn of EM that lowers the loss by less is the last.
SMALLEST_GAIN = 1e-6


class _ConceptVoter(BagVoter):
    """Finds one concept; the vote for a segment is log P of the concept there."""

    n_starts: int
    max_iter: int

    def _fit_bags(self, bags: Bags) -> None:
        if self.n_starts < 1:
            raise BadInputError(f"n_starts must be at least 1; got {self.n_starts}")
        self._standard = learn_standard(bags.X)
        scaled = replace(bags, X=self._standard.apply(bags.X))
        concepts = [self._climb_from(theta, scaled) for theta in screen_starts(scaled, self.n_starts)]
        self.concept_ = min(concepts, key=lambda concept: concept.loss)

    def _climb_from(self, theta: np.ndarray, bags: Bags) -> Concept:
        raise NotImplementedError

    def _score(self, X: np.ndarray, bags: np.ndarray, prior: np.ndarray) -> np.ndarray:
        return -self.concept_.measure(self._standard.apply(X))

    def _find_bag_threshold(self, bags: Bags) -> float:
        return float(np.log(0.5))

    def _find_threshold(self, raw: np.ndarray, segments: object) -> float:
        return float(np.log(0.5))

    def _posterior(self, raw: np.ndarray) -> np.ndarray:
        return np.exp(raw)


class DiverseDensity(_ConceptVoter):
    """Diverse density, its maximum found from many starts.

    Parameters
    ----------
    n_starts
        How many climbs; they begin at the most promising of ten times as many *with* segments.
    max_iter
        Steps of a climb at most.

    Attributes
    ----------
    concept_
        Point, scale (on standardised features) and loss of the best concept.

    References
    ----------
    Maron, Lozano-Pérez: A framework for multiple-instance learning. NIPS 1997.
    """

    def __init__(self, n_starts: int = 10, max_iter: int = 100) -> None:
        self.n_starts = n_starts
        self.max_iter = max_iter

    def _climb_from(self, theta: np.ndarray, bags: Bags) -> Concept:
        return climb(BagLoss(bags), theta, self.max_iter)


def take_turns(best: Concept, take_turn: Callable[[Concept], Concept], max_turns: int) -> Concept:
    """The concept after the last turn that made the loss smaller."""
    for _ in range(max_turns):
        found = take_turn(best)
        if not found.loss < best.loss - SMALLEST_GAIN:
            break
        best = found
    return best


class EMDiverseDensity(_ConceptVoter):
    """EM-DD: the nearest segment of every bag answers for it (E), diverse density of those alone is climbed (M).

    Parameters
    ----------
    n_starts, max_iter
        As for `DiverseDensity`; the steps are those of one M-step.
    max_turns
        Turns of E and M at most; they end when the loss falls no more.

    References
    ----------
    Zhang, Goldman: EM-DD, an improved multiple-instance learning technique. NIPS 2001.
    """

    def __init__(self, n_starts: int = 20, max_iter: int = 100, max_turns: int = 20) -> None:
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.max_turns = max_turns

    def _climb_from(self, theta: np.ndarray, bags: Bags) -> Concept:
        return take_turns(Concept.read(theta, np.inf), lambda best: self._take_turn(best, bags), self.max_turns)

    def _take_turn(self, best: Concept, bags: Bags) -> Concept:
        found = climb(BagLoss(self._choose(best, bags)), best.theta, self.max_iter)
        # The responsible segments of the next turn may cost more than those climbed with.
        return replace(found, loss=BagLoss(self._choose(found, bags))(found.theta)[0])

    def _choose(self, concept: Concept, bags: Bags) -> Bags:
        """Bags of one: the segment nearest to the concept, of *with* and of *without* bags."""
        nearest = bags.find_best(-concept.measure(bags.X))
        return Bags(bags.X[nearest], np.arange(len(bags)), bags.labels, bags.rows[nearest])


class GEMDiverseDensity(_ConceptVoter):
    """GEM-DD, our reading: responsibility shared by the segments of a bag, a few steps of the climb per turn.

    E: ``r_ij = P_ij / sum_j P_ij`` in *with* bags. M: a few steps down ``sum r_ij q_ij - sum_without log(1 - P)``, in
    which every *without* segment counts. A turn that does not raise diverse density itself is the last.

    Parameters
    ----------
    n_starts, max_iter
        As for `DiverseDensity`; the steps are those of one M-step.
    max_turns
        Turns of E and M at most.

    References
    ----------
    Named by arXiv 1812.06228; generalised EM: Dempster, Laird, Rubin, JRSS B 1977.
    """

    def __init__(self, n_starts: int = 10, max_iter: int = 5, max_turns: int = 30) -> None:
        self.n_starts = n_starts
        self.max_iter = max_iter
        self.max_turns = max_turns

    def _climb_from(self, theta: np.ndarray, bags: Bags) -> Concept:
        density = BagLoss(bags)

        def take_turn(best: Concept) -> Concept:
            found = climb(SoftLoss(bags, self._share(best, bags)), best.theta, self.max_iter)
            return replace(found, loss=density(found.theta)[0])

        return take_turns(Concept.read(theta, density(theta)[0]), take_turn, self.max_turns)

    def _share(self, concept: Concept, bags: Bags) -> np.ndarray:
        votes = -concept.measure(bags.X)
        odds = np.exp(votes - np.repeat(bags.max(votes), bags.sizes))
        return odds / np.repeat(bags.sum(odds), bags.sizes)
