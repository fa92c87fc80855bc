"""Does `predict` keep the false-positive rate it is asked for? On noise and held-out *without* images; last line JSON.

    python benchmarks/false_positives.py [DATA] [--sets cows,potholes] [--out build/suite] [--draws 10]

Noise: images of 20 segments of 472 random features, 12, 20 and 40 in each folder, and 20 new ones; nothing tells the
folders apart. Sets: half of the *without* images are left out of the vote and asked about afterwards.
"""

from __future__ import annotations

import json

import numpy as np

from segvote.method.graph import search_graph
from segvote.method.held_out import link_unseen, measure_p_value, score_held_out, score_linked
from segvote.method.table import SegmentTable, make_folds, make_table, smooth_along, weigh_adjacent
from segvote.method.vote import vote
from suite import SuiteArrays, load_suite, make_parser

RATES = (0.1, 0.2)
N_FOLDS = 10  # as `predict` calibrates
SIZES, N_SEGMENTS, N_DIMS, N_NEW = (12, 20, 40), 20, 472, 20


def measure(table: SegmentTable, X: np.ndarray, images: np.ndarray, adjacency: object = None) -> np.ndarray:
    """(n_new,) p-values of images never seen, of segments (n, d), after a vote on the table."""
    found = vote(table, search_graph(table))
    held_out = table.smooth(score_held_out(found, make_folds(table, N_FOLDS)), found.params.smoothing)
    negatives = np.sort(table.find_best(held_out)[~table.positive])
    scores = score_linked(found, X, link_unseen(found, X))
    if adjacency is not None:
        scores = smooth_along(adjacency, scores, found.params.smoothing)  # type: ignore[arg-type]
    return measure_p_value(np.maximum.reduceat(scores, np.flatnonzero(np.diff(images, prepend=-1))), negatives)


def measure_noise(size: int, seed: int) -> np.ndarray:
    n_images = 2 * size + N_NEW
    X = np.random.default_rng(seed).normal(size=(n_images * N_SEGMENTS, N_DIMS)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    images, old = np.repeat(np.arange(n_images), N_SEGMENTS), 2 * size * N_SEGMENTS
    return measure(make_table(X[:old], np.arange(2 * size) < size, images[:old]), X[old:], images[old:])


def measure_set(one: SuiteArrays) -> np.ndarray:
    rng = np.random.default_rng(0)
    clean = rng.permutation(np.flatnonzero(~one.positive))
    kept, new = clean[: len(clean) // 2], np.sort(clean[len(clean) // 2 :])
    old, asked = one.take(np.sort(np.concatenate([np.flatnonzero(one.positive), kept]))), one.take(new)
    places = asked.geometry
    adjacency = weigh_adjacent(len(asked.X), places.edges, places.lengths, places.contrasts)
    return measure(make_table(old.X, old.positive, old.images, old.geometry), asked.X, asked.images, adjacency)


def main() -> None:
    parser = make_parser(__doc__, "cows,coffee-lesions,blood-cells,potholes,msrc-sign,steel-patches")
    parser.add_argument("--draws", type=int, default=10, help="draws of noise of each size")
    given = parser.parse_args()
    found = {
        f"noise {size}": np.concatenate([measure_noise(size, seed) for seed in range(given.draws)]) for size in SIZES
    }
    found |= {one.name: measure_set(one) for one in load_suite(given)}
    figures = {name: [round(float((p <= rate).mean()), 3) for rate in RATES] for name, p in found.items()}
    for name, (low, high) in figures.items():
        print(f"{name:16} {len(found[name]):4} images, at {RATES[0]}: {low:.3f}, at {RATES[1]}: {high:.3f}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
