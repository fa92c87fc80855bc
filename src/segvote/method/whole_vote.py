"""The whole method: the vote with its alternatives and the confidence in it."""

from __future__ import annotations

from functools import partial

from scipy import sparse

from segvote.method.alternatives import find_better, is_rivalled, list_alternatives
from segvote.method.confidence import CLEAR_CONTRAST, FEW_FOR_HIGH, Confidence, limit_to_fair, measure_confidence
from segvote.method.extents import find_extents, find_open_extents
from segvote.method.hypotheses import VoteParams
from segvote.method.permutation import run_permutation_test
from segvote.method.second_vote import choose_vote
from segvote.method.table import SegmentTable
from segvote.method.vote import Vote, make_inputs, vote
from segvote.numerics.threads import call_both

# Numbers that the permutation test holds for each vote of the graph.
NUMBERS_PER_VOTE = 3


def vote_and_judge(
    table: SegmentTable, graph: sparse.csr_matrix, params: VoteParams = VoteParams()
) -> tuple[list[Vote], Confidence]:
    """The vote and its alternatives, see `list_alternatives`, and the confidence in the first of them.

    The first is the vote of `vote`, or a second one that overrules it, or an alternative that is clearly better
    supported where the confidence is low.
    """
    inputs = make_inputs(table, graph, params)
    both = partial(vote, inputs), partial(run_permutation_test, inputs)
    first, test = call_both(*both, NUMBERS_PER_VOTE * graph.nnz)
    chosen, confidence = choose_vote(first, test)
    alternatives = list_alternatives(chosen)
    # Few bags share several things by chance: with four videos the best supported alternative was none of the object.
    has_enough = min(table.bag_labels.sum(), (~table.bag_labels).sum()) >= FEW_FOR_HIGH
    better = find_better(alternatives, confidence.value) if has_enough else chosen
    if better is not chosen:
        alternatives = [better, *(one for one in alternatives if one is not better)]
        confidence = measure_confidence(better, test, contradicted=confidence.contradicted)
    if is_rivalled(alternatives):
        confidence = limit_to_fair(confidence, "rival")
    extents = find_extents(table, alternatives[0].selection, alternatives[0].electorate.graph)
    if find_open_extents(table, extents, CLEAR_CONTRAST):
        confidence = limit_to_fair(confidence, "extent")
    return alternatives, confidence
