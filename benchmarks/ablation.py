"""The method with each ingredient changed or switched off, on every set of the suite. Last line JSON.

    python benchmarks/ablation.py [DATA] [--sets cows,tile-fray] [--out build/suite]

Each set whole and in three draws of 12 + 12 images, the latter also with the second opinion; the exclusion
of mislabelled images also with a tenth of both folders misfiled. The vote is held on features of the suite's runs;
figures are CorLoc and mean overlap of whole segments, before masks are drawn along superpixels.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy import sparse

from confidence import AS_IT_IS, draw, misfile
from segvote.method.hypotheses import VoteParams
from segvote.method.table import SegmentTable
from segvote.method.vote import Vote, decide, find_threshold, make_inputs, vote
from segvote.method.whole_vote import vote_and_judge
from segvote.report.tables import format_markdown
from segvote.selection import Selection
from suite import SuiteArrays, load_suite, make_parser

Voting = Callable[[SegmentTable, sparse.csr_matrix], Selection]
Figures = dict[str, dict[str, dict[str, tuple[float, float]]]]  # kind, row and set to CorLoc and mean overlap
USUAL = VoteParams()
WHOLE, DRAWS, MISFILED = "whole", "12 + 12", "a tenth misfiled"
N_DRAWS = 3
KEPT, SECOND = "likely mislabelled kept", "with the second opinion"


def use(**params: object) -> Voting:
    """The method with other constants."""
    return lambda table, graph: vote(make_inputs(table, graph, replace(USUAL, **params))).selection


def vote_by_neighbours(table: SegmentTable, graph: sparse.csr_matrix) -> Selection:
    held = vote(make_inputs(table, graph))
    return decide_by(held, held.electorate.graph @ held.scorer.votes)


def vote_by_classifier(table: SegmentTable, graph: sparse.csr_matrix) -> Selection:
    held = vote(make_inputs(table, graph))
    return decide_by(held, held.scorer.classifiers[0].measure(table.X))


def decide_by(held: Vote, votes: np.ndarray) -> Selection:
    """The selection of a vote by other evidence (n_segments,)."""
    return decide(
        held.table,
        held.inputs.params,
        votes,
        find_threshold(held.inputs, votes),
        user_labels=held.selection.user_labels,
        walks=held.diagnostics.hypotheses.selections,
        empty=held.selection.empty,
    )


ROWS: dict[str, Voting] = {
    AS_IT_IS: use(),
    "plain walk only": use(hypotheses=USUAL.hypotheses[:1]),
    "balanced walk with connectivity only": use(hypotheses=USUAL.hypotheses[1:]),
    "no contrast of outlines": use(contrast_weight=0.0),
    "contrast without limit": use(full_contrast=10.0),
    "votes as they are, no power": use(powers=(1.0,)),
    "no smoothing": use(smoothing=0.0),
    "no border prior": use(border_prior=1.0),
    KEPT: use(exclude_mislabelled=False),
    "no classifier": vote_by_neighbours,
    "classifier only": vote_by_classifier,
    SECOND: lambda table, graph: vote_and_judge(table, graph)[0].selection,
    "20 steps": use(n_steps=20),
}


def list_kinds(one: SuiteArrays) -> Iterator[tuple[str, list[SuiteArrays]]]:
    rng = np.random.default_rng(0)
    yield WHOLE, [one]
    yield DRAWS, [draw(one, 12, rng) for _ in range(N_DRAWS)]
    yield MISFILED, [misfile(one, rng)]


def measure(sets: list[SuiteArrays], voting: Voting) -> tuple[float, float]:
    """CorLoc and mean overlap, averaged over some sets."""
    found = [one.measure(voting(*one.prepared).selected) for one in sets]
    corloc, miou = np.mean([[(ious > 0.5).mean(), ious.mean()] for ious in found], axis=0)
    return round(float(corloc), 3), round(float(miou), 4)


def print_ablation(sets: list[SuiteArrays]) -> Figures:
    found: Figures = {}
    for one in sets:
        for kind, arrays in list_kinds(one):
            # The second opinion is for few images; misfiled ones matter to their exclusion alone.
            chosen = [AS_IT_IS, KEPT] if kind == MISFILED else [row for row in ROWS if row != SECOND or kind == DRAWS]
            for row in chosen:
                found.setdefault(kind, {}).setdefault(row, {})[one.name] = measure(arrays, ROWS[row])
        print(one.name, flush=True)
    for kind, rows in found.items():
        table = [[kind, *(one.name for one in sets), "mean"]]
        for row, cells in rows.items():
            figures = [*cells.values(), np.mean(list(cells.values()), axis=0)]
            table.append([row, *(f"{corloc:.2f} {miou:.2f}".replace("0.", ".") for corloc, miou in figures)])
        print(format_markdown(table), flush=True)
    return found


def main() -> None:
    sets = load_suite(make_parser(__doc__).parse_args())
    print(json.dumps(print_ablation(sets)))


if __name__ == "__main__":
    main()
