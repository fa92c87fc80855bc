"""The worth of each ingredient of the method, and of each constant, on every set of the suite. Last line JSON.

    python benchmarks/ablation.py [DATA] [--sets cows,tile-fray] [--out build/suite]

Each set whole and in three draws of 12 + 12 images, the latter also with the second opinion; the exclusion
of mislabelled images also with a tenth of both folders misfiled. The vote is held on features of the suite's runs;
figures are CorLoc and mean overlap of whole segments, before masks are drawn along superpixels. For every constant and
each set the value is then chosen on all other sets and judged on the one left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy import sparse

from confidence import AS_IT_IS, draw, misfile
from segvote.method import SegmentTable, VoteParams
from segvote.method.confidence import vote_and_judge
from segvote.method.vote import Vote, decide_vote, vote
from suite import SuiteArrays, load_suite, make_parser

Voting = Callable[[SegmentTable, sparse.csr_matrix], Vote]
USUAL = VoteParams()
WHOLE, DRAWS, MISFILED = "whole", "12 + 12", "a tenth misfiled"
N_DRAWS = 3
KEPT, SECOND = "likely mislabelled kept", "with the second opinion"


def use(**params: object) -> Voting:
    """The method with other constants."""
    return lambda table, graph: vote(table, graph, replace(USUAL, **params))


def vote_by_neighbours(table: SegmentTable, graph: sparse.csr_matrix) -> Vote:
    found = vote(table, graph)
    return decide_vote(found, found.counted_graph @ found.labels.astype(np.float64), found.suspicion)


def vote_by_classifier(table: SegmentTable, graph: sparse.csr_matrix) -> Vote:
    found = vote(table, graph)
    return decide_vote(found, found.posterior.measure(table.X), found.suspicion)


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
    SECOND: lambda table, graph: vote_and_judge(table, graph)[0],
    "20 steps": use(n_steps=20),
}


def change_hypotheses(name: str, value: float) -> VoteParams:
    """The usual parameters with another value of a field of all hypotheses that use it."""
    changed = (replace(one, **{name: value}) if getattr(one, name) else one for one in USUAL.hypotheses)
    return replace(USUAL, hypotheses=tuple(changed))


# The middle value is the one in use.
CONSTANTS: dict[str, dict[float, VoteParams]] = {
    "temperature": {value: replace(USUAL, temperature=value) for value in (0.01, 0.02, 0.04)},
    "contrast_weight": {value: replace(USUAL, contrast_weight=value) for value in (0.1, 0.2, 0.3)},
    "full_contrast": {value: replace(USUAL, full_contrast=value) for value in (1.5, 2.0, 2.5)},
    "connectivity": {value: change_hypotheses("connectivity", value) for value in (0.2, 0.3, 0.4)},
    "balance": {value: change_hypotheses("balance", value) for value in (0.15, 0.25, 0.35)},
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


def print_ablation(sets: list[SuiteArrays]) -> dict[str, dict[str, dict[str, tuple[float, float]]]]:
    found: dict[str, dict[str, dict[str, tuple[float, float]]]] = {}
    for one in sets:
        for kind, arrays in list_kinds(one):
            # The second opinion is for few images; misfiled ones matter to their exclusion alone.
            chosen = [AS_IT_IS, KEPT] if kind == MISFILED else [row for row in ROWS if row != SECOND or kind == DRAWS]
            for row in chosen:
                found.setdefault(kind, {}).setdefault(row, {})[one.name] = measure(arrays, ROWS[row])
        print(one.name, flush=True)
    for kind, rows in found.items():
        print(f"\n| {kind} | " + " | ".join(one.name for one in sets) + " | mean |\n|" + "---|" * (len(sets) + 2))
        for row, cells in rows.items():
            figures = [*cells.values(), np.mean(list(cells.values()), axis=0)]
            texts = [f"{corloc:.2f} {miou:.2f}".replace("0.", ".") for corloc, miou in figures]
            print(f"| {row} | " + " | ".join(texts) + " |", flush=True)
    return found


def print_constants(sets: list[SuiteArrays]) -> dict[str, dict[str, float]]:
    """Mean overlap by the values of each constant, and with the value chosen on all sets but the one judged."""
    found = {}
    for name, values in CONSTANTS.items():
        voting = [lambda table, graph, params=params: vote(table, graph, params) for params in values.values()]
        table = np.array([[measure([one], way)[1] for way in voting] for one in sets])
        others = (np.delete(table, row, axis=0).mean(axis=0).argmax() for row in range(len(table)))
        left_out = (
            np.mean([figures[best] for figures, best in zip(table, others, strict=True)]) if len(table) > 1 else 0
        )
        found[name] = {"left_out": round(float(left_out), 4)}
        found[name] |= {
            str(value): round(float(mean), 4) for value, mean in zip(values, table.mean(axis=0), strict=True)
        }
        print(f"{name:16} {found[name]}", flush=True)
    return found


def main() -> None:
    sets = load_suite(make_parser(__doc__).parse_args())
    print(json.dumps({"ablation": print_ablation(sets), "constants": print_constants(sets)}))


if __name__ == "__main__":
    main()
