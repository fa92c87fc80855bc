"""All bags together: vote, mute, elect, vote again among neighbours, decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from segvote.kernels import Neighbours, use_workspace
from segvote.masks import scale_heat
from segvote.method import (
    Likeness,
    ResidualVotes,
    Scores,
    decide,
    learn_shift,
    pass_on,
    prefer_inside,
    select_above,
    vote_again,
)
from segvote.method.motion import prefer_moving
from segvote.run.settings import Settings
from segvote.steps.judging import choose_muted, judge_bags
from segvote.steps.redrawing import Sketch, redraw_segments
from segvote.steps.table import Table
from segvote.voters import VOTERS

__all__ = [
    "Steps",
    "Verdict",
    "decide_bags",
    "fit_voter",
    "is_elected",
    "measure_last_survival",
    "measure_survival",
    "refine_vote",
    "vote_on_tags",
]


@dataclass(frozen=True)
class Verdict:
    """What the vote said.

    Attributes
    ----------
    scores
        (n_segments,) after the second voting and a person's corrections; the scale is the voter's, 0 its global
        threshold.
    votes
        (n_segments,) the voter's own scores, before the second voting.
    weights
        (n_segments,) soft labels.
    decisions
        (n_segments,) bool; never True in a *without* bag.
    thresholds
        (n_bags,) score above which a bag's segments were taken (0 for *without* bags).
    fixed
        (n_segments,) int8: a person's corrections, -1 where there is none.
    shift
        How far the run's pictures moved all thresholds; 0 for rules that do not look at them.
    residuals
        What the corrections added to the scores; None where there are none.
    muted
        (n_bags,) bool: bags that had no say; None for a voter that hears all.
    elected
        (n_segments,) bool: those whose votes the scores are; None where nobody was elected.
    """

    scores: np.ndarray
    votes: np.ndarray
    weights: np.ndarray
    decisions: np.ndarray
    thresholds: np.ndarray
    fixed: np.ndarray
    shift: float = 0.0
    residuals: ResidualVotes | None = None
    muted: np.ndarray | None = None
    elected: np.ndarray | None = None


@dataclass(frozen=True)
class Steps:
    """What followed a first vote.

    Attributes
    ----------
    muted
        (n_bags,) bool: bags that lost their say.
    elected
        (n_segments,) bool: those that voted once more.
    """

    muted: np.ndarray
    elected: np.ndarray

    def repeat(self, voter: Any, table: Table, settings: Settings) -> Any:
        """The same steps after the same first vote."""
        if self.muted.any():
            voter.mute(self.muted)
        return voter.elect(self.elected, measure_motion(table, settings))


def fit_voter(
    table: Table, settings: Settings, neighbours: Neighbours | None = None, steps: Steps | None = None
) -> Any:
    """Let the segments vote; a person is heard after the vote, by `decide_bags`.

    Parameters
    ----------
    table, settings
        What is voted on, and how.
    neighbours
        Those the voter asks for, if they are known; else they are searched.
    steps
        What followed an earlier vote on the same segments and tags.
    """
    voter = VOTERS[settings.voter](**settings.voter_options)
    if voter.n_heard:
        voter.take_neighbours(neighbours or table.find_neighbours(voter.n_heard))
        # They are large, and of no use once it is known who hears whom.
        del neighbours
    survival = measure_survival(table, settings)
    with use_workspace(table.workspace):
        voter.fit(table.X, table.tags[table.bags], bags=table.bags, survival=survival)
        return refine_vote(voter, table, settings) if steps is None else steps.repeat(voter, table, settings)


def vote_on_tags(voter: Any, table: Table, settings: Settings) -> Any:
    """The vote of a voter fitted to the same segments when their bags had other tags: who is near whom is known."""
    if hasattr(voter, "revote"):
        voter.revote(np.full(len(table.X), -1, dtype=np.int8), table.tags[table.bags])
        return refine_vote(voter, table, settings)
    return fit_voter(table, settings)


def refine_vote(voter: Any, table: Table, settings: Settings) -> Any:
    """What follows the first vote, where the voter can: suspects lose their say, then those taken vote once more.

    Twice: those decided, and those that the pictures leave of them when their masks are redrawn.
    """
    voter = _mute_suspects(voter, table, settings)
    if settings.revote and hasattr(voter, "elect"):
        survival = measure_motion(table, settings)
        voter.elect(decide_bags(table, voter, settings).decisions, survival)
        if settings.n_superpixels and any(table.pictures):
            voter.elect(_redraw(table, decide_bags(table, voter, settings), settings.n_superpixels), survival)
    return voter


def _redraw(table: Table, verdict: Verdict, n_superpixels: int) -> np.ndarray:
    """(n_segments,) bool: the decisions as the redrawn masks have them; of bags without a picture as they are."""
    scores, decisions = table.split(verdict.scores), table.split(verdict.decisions.copy())
    low, sketches = float(verdict.scores.min()), {}
    for index in map(int, np.flatnonzero(table.tags)):
        if (picture := table.pictures[index]) is not None:
            heat = scale_heat(scores[index], float(verdict.thresholds[index]), low, float(scores[index].max()))
            sketches[index] = Sketch(picture, heat.astype(np.float32), decisions[index], n_superpixels)
    for index, redrawn in zip(sketches, redraw_segments(list(sketches.values())), strict=True):
        decisions[index][:] = redrawn
    return np.concatenate(decisions)


def _mute_suspects(voter: Any, table: Table, settings: Settings) -> Any:
    """A *without* image that shows the thing talks it down everywhere: whoever looks misplaced has no say."""
    if not (settings.exclude_mislabelled and hasattr(voter, "mute")):
        return voter
    suspects = choose_muted(judge_bags(table, voter.scores_), table.tags)
    return voter.mute(suspects) if suspects.any() else voter


def measure_survival(table: Table, settings: Settings) -> np.ndarray:
    """(n_segments,) background prior: by the border of images and frames, and by motion in videos."""
    return prefer_inside(table.border, settings.border_prior) * measure_motion(table, settings)


def measure_last_survival(table: Table, settings: Settings, voter: Any) -> np.ndarray:
    """(n_segments,) background prior of the vote that a voter's scores are: the border has no part in an election."""
    return measure_motion(table, settings) if is_elected(voter) else measure_survival(table, settings)


def is_elected(voter: Any) -> bool:
    """Whether the scores of a voter are the votes of those elected."""
    return getattr(voter, "elected_", None) is not None


def measure_motion(table: Table, settings: Settings) -> np.ndarray:
    """(n_segments,) background prior of what moves with the ground of a video; 1 in images."""
    survival = np.ones(len(table.X))
    for index, distinct in enumerate(table.motion):
        if distinct is not None:
            survival[table.offsets[index] : table.offsets[index + 1]] *= prefer_moving(distinct, settings.motion_prior)
    return survival


def decide_bags(table: Table, voter: Any, settings: Settings, fixed: np.ndarray | None = None) -> Verdict:
    """Second voting and decision; then a person's word, and what is like it."""
    scores = [
        vote_again(votes, edges, settings.second_vote)
        for votes, edges in zip(table.split(voter.scores_), table.edges, strict=True)
    ]
    chosen = np.flatnonzero(table.tags)
    bags = _collect_scores(table, scores, chosen)
    if settings.decision == "outlines":
        bags = replace(bags, shift=learn_shift(bags))
    decisions, thresholds = decide(bags, settings.decision)
    flat = [np.zeros(len(values), dtype=bool) for values in scores]
    for index, selected in zip(chosen, decisions, strict=True):
        flat[index] = selected
    selected = np.concatenate(flat)
    all_thresholds = np.zeros(len(scores))
    all_thresholds[chosen] = thresholds
    nothing_said = np.full(len(selected), -1, dtype=np.int8)
    verdict = Verdict(
        np.concatenate(scores),
        voter.scores_,
        voter.weights_,
        selected,
        all_thresholds,
        nothing_said,
        bags.shift or 0.0,
        muted=getattr(voter, "muted_", None),
        elected=getattr(voter, "elected_", None),
    )
    return verdict if fixed is None or (fixed < 0).all() else _hear_corrections(table, verdict, fixed)


def _hear_corrections(table: Table, verdict: Verdict, fixed: np.ndarray) -> Verdict:
    """Thresholds stay where the vote left them: a correction moves what is like it, not all the rest of its image."""
    likeness = table.likeness or Likeness(table.X, table.bags)
    residuals = pass_on(likeness, verdict.scores, verdict.thresholds, table.bags, table.tags, fixed)
    selected = np.zeros(len(fixed), dtype=bool)
    for index in np.flatnonzero(table.tags):
        part = slice(table.offsets[index], table.offsets[index + 1])
        selected[part] = select_above(residuals.scores[part], verdict.thresholds[index])
    is_said = fixed >= 0
    return replace(
        verdict,
        scores=residuals.scores,
        weights=np.where(is_said, fixed, verdict.weights),
        decisions=np.where(is_said, fixed == 1, selected),
        fixed=fixed,
        residuals=residuals,
    )


def _collect_scores(table: Table, scores: Sequence[np.ndarray], chosen: np.ndarray) -> Scores:
    """What is decided on, of the bags chosen."""
    areas = table.split(table.areas)
    return Scores(
        [scores[i] for i in chosen],
        [areas[i] for i in chosen],
        [table.outlines[i] for i in chosen] if table.outlines else (),
        lowest=min(float(values.min()) for values in scores),
    )
