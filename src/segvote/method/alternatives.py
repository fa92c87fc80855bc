"""Other things that *with* images share: at most a handful of whole votes that differ in *what* they select.

The walk of a vote ends in what *with* images share most tightly, which need not be what a person means: the houses and
not the water, the eyes and not the cat. Segments whose neighbours lie in *with* images are clustered; each cluster that
occurs in enough images seeds a walk, and ends in a selection and a vote of its own. Everything is read from the graph
of the vote. Votes are compared by `score_support`, without masks.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from scipy import sparse

from segvote.method.consistency import measure_consistency, measure_outline_contrast, measure_overlap
from segvote.method.hypotheses import Electorate, select_walked
from segvote.method.table import SegmentTable
from segvote.method.vote import Vote, fit_vote
from segvote.method.walk import walk_from_seeds
from segvote.numerics.clusters import find_clusters
from segvote.numerics.threads import map_in_threads

# Votes of a list, the default included.
MOST_ALTERNATIVES = 6
N_CLUSTERS = 8
# Share of the *with* images in which a cluster has to occur.
LEAST_IMAGES = 0.3
# Steps of a walk from seeds: enough to reach the segments that are like them.
N_SEEDED_STEPS = 20
# Selections that overlap by more are one thing.
SAME_THING = 0.7
# Exponent of the contrast of an outline, which counts up to `VoteParams.full_contrast` times the mean.
CONTRAST_EXPONENT = 0.5
# A vote of a confidence below is replaced by an alternative that is better supported by this factor. On draws of 12, 30
# and all images of sixteen sets factors from 1.1 to 1.2 replace nearly the same votes (docs/research/measurements.md).
REPLACED_BELOW, BETTER = 0.5, 1.15
# Selections that overlap by less are of clearly different things.
DIFFERENT = 0.2


def list_alternatives(base: Vote) -> list[Vote]:
    """The vote itself and others that select something else, best supported first; at most `MOST_ALTERNATIVES`."""
    electorate = replace(base.electorate, user_labels=np.full(len(base.table), -1, dtype=np.int8))
    votes = map_in_threads(partial(_vote_from, base, electorate), find_seeds(electorate), base.inputs.graph.nnz)
    kept = [base]
    for vote in sorted(votes, key=score_support, reverse=True):
        if len(kept) < MOST_ALTERNATIVES and all(measure_likeness(vote, other) <= SAME_THING for other in kept):
            kept.append(vote)
    return kept


def _vote_from(base: Vote, electorate: Electorate, seeds: np.ndarray) -> Vote:
    """The vote that begins with a walk from seeds."""
    table, diagnostics = base.table, base.diagnostics
    votes = walk_from_seeds(electorate.graph, table.is_candidate, seeds, N_SEEDED_STEPS)
    start = select_walked(table, votes, base.inputs.params).astype(np.float64)
    return fit_vote(electorate, start, diagnostics.hypotheses, diagnostics.suspicion, seeds=seeds)


def find_seeds(electorate: Electorate) -> list[np.ndarray]:
    """Segments that seed a walk, for each cluster that occurs in enough *with* images.

    *With* segments above the median share of *with* neighbours are clustered by their features. In each image the
    segment nearest to the centre of a cluster is taken, and of these the nearer half.
    """
    table = electorate.inputs.table
    chosen = find_specific(table, electorate.graph)
    clusters, distances = find_clusters(table.X[chosen], N_CLUSTERS)
    seeds = []
    for cluster in range(N_CLUSTERS):
        own = np.flatnonzero(clusters == cluster)
        nearest = own[np.lexsort((distances[own], table.images[chosen[own]]))]
        nearest = nearest[np.unique(table.images[chosen[nearest]], return_index=True)[1]]
        if len(nearest) >= LEAST_IMAGES * table.positive.sum():
            nearest = nearest[np.argsort(distances[nearest], kind="stable")]
            seeds.append(chosen[nearest[: max(1, len(nearest) // 2)]])
    return seeds


def find_specific(table: SegmentTable, graph: sparse.csr_matrix) -> np.ndarray:
    """Numbers of the *with* segments above the median share of *with* neighbours."""
    share = graph @ table.is_candidate.astype(np.float64)
    return np.flatnonzero(table.is_candidate & (share > np.median(share[table.is_candidate])))


def measure_likeness(one: Vote, other: Vote) -> float:
    """Overlap of the selections of two votes in *with* images."""
    areas = one.table.areas * one.table.is_candidate
    return measure_overlap(areas, one.selection.selected, other.selection.selected)


def score_support(vote: Vote) -> float:
    """How well a selection is supported: self-consistency x share of images that have one x contrast ^ 1/2.

    An image has a selection where a score is above the zero of the run: every image keeps its best segment, supported
    or not. The contrast of the outline, in units of that of all boundaries, is clipped.
    """
    table, selected = vote.table, vote.selection.selected
    consistency = measure_consistency(table, selected, vote.electorate.graph @ selected.astype(np.float64))
    shown = float((table.max_by_image(vote.selection.scores)[table.positive] > 0).mean())
    contrast = np.clip(measure_outline_contrast(table, selected), 0.1, vote.inputs.params.full_contrast)
    return consistency * shown * float(contrast) ** CONTRAST_EXPONENT


def find_better(alternatives: list[Vote], confidence: float) -> Vote:
    """The first of the alternatives, or the best supported one, see `REPLACED_BELOW`.

    It replaces the first where the confidence in the first is low and its support clearly lower.
    """
    first, *others = alternatives
    if confidence >= REPLACED_BELOW or not others:
        return first
    best = max(others, key=score_support)
    return best if score_support(best) > BETTER * score_support(first) else first


def is_rivalled(alternatives: list[Vote]) -> bool:
    """Whether something clearly different is at least as well supported as the first of the alternatives."""
    first, *others = alternatives
    support = score_support(first)
    return any(score_support(one) >= support and measure_likeness(one, first) < DIFFERENT for one in others)
