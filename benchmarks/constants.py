"""The constants of the method that were chosen by looking, each with every set left out; last line JSON.

    python benchmarks/constants.py [DATA] [--sets cows,steel-patches] [--out build/suite]

For every constant and every set the value is chosen on all other sets, and judged on the one left out: how much of what
the chosen value gives on the sets it was chosen on is left on a set nobody looked at. The vote is held on the features
of the suite's runs; overlaps are of whole segments.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from segvote.method.hypotheses import HYPOTHESES

from suite_arrays import load_suite, make_parser

CONSTANTS: dict[str, tuple[Any, ...]] = {
    "hypotheses.TEMPERATURE": (0.01, 0.02, 0.04),
    "hypotheses.CONTRAST_WEIGHT": (0.1, 0.2, 0.3),
    "hypotheses.N_REVOTES": (1, 2, 3),
    "linear.RIDGE": (0.1, 0.3, 1.0),
    "linear.SIZE_EXPONENT": (0.25, 0.5, 0.75),
    "connectivity": (0.2, 0.3, 0.4),
    "balance": (0.15, 0.25, 0.35),
}


@contextmanager
def set_constant(name: str, value: Any) -> Iterator[None]:
    """Another value of a constant of `segvote.method`, or of a field of all hypotheses that use it."""
    module_name, _, constant = name.rpartition(".")
    if not module_name:
        module, constant = importlib.import_module("segvote.method.hypotheses"), "weigh_hypotheses"
        changed = tuple(replace(one, **{name: value}) if getattr(one, name) else one for one in HYPOTHESES)
        plain = module.weigh_hypotheses
        value = lambda *given: plain(*given, hypotheses=changed)  # noqa: E731
        module = importlib.import_module("segvote.method.annotator")
    else:
        module = importlib.import_module(f"segvote.method.{module_name}")
    before = getattr(module, constant)
    setattr(module, constant, value)
    try:
        yield
    finally:
        setattr(module, constant, before)


def measure(sets: list[Any], name: str, value: Any) -> list[float]:
    with set_constant(name, value):
        return [float(one.measure(one.fit()).mean()) for one in sets]


def leave_out(table: np.ndarray) -> np.ndarray:
    """(n_sets,) index of the best of the (n_sets, n_values) columns on all sets but one."""
    return np.array([int(np.argmax(np.delete(table, index, axis=0).mean(axis=0))) for index in range(len(table))])


def main() -> None:
    sets = load_suite(make_parser(__doc__).parse_args())
    usual = [float(one.measure(one.fit()).mean()) for one in sets]
    print(f"as it is: mean {np.mean(usual):.4f}, worst {min(usual):.4f}", flush=True)
    found = {}
    for name, values in CONSTANTS.items():
        # The middle value is the one in use.
        columns = [usual if index == 1 else measure(sets, name, value) for index, value in enumerate(values)]
        table = np.array(columns).T
        chosen = leave_out(table)
        left_out = float(table[np.arange(len(table)), chosen].mean())
        means = {str(value): round(float(mean), 4) for value, mean in zip(values, table.mean(axis=0), strict=True)}
        picked = ", ".join(f"{values[index]} x{(chosen == index).sum()}" for index in np.unique(chosen))
        print(f"{name:28} {means} | left out {left_out:.4f} (chose {picked})", flush=True)
        found[name] = {"left_out": round(left_out, 4), **means}
    print(json.dumps({"usual": round(float(np.mean(usual)), 4), **found}))


if __name__ == "__main__":
    main()
