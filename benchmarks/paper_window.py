"""The window of the printed eKDE: what s+ / s- does to the share selected, CorLoc, AP and rho, on every set.

    python benchmarks/paper_window.py DATA --out WORK

WORK is the work folder of `paper.py`, whose segments and features are used. For every set and every pair of a scale
(s- in units of the typical distance) and a ratio (s+ / s-) the printed iteration is settled and judged by the masks;
beside that stands what the rule ``window`` of `ekde-paper`, which sees no mask, and each printed reading choose.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from paper_bandwidths import PairResult, judge_votes
from paper_sets import ALL_SETS, DETAIL, N_IMAGES, N_SEGMENTS, Job
from segvote.evaluation.compare_stage import Stage, prepare_stage
from segvote.evaluation.evaluate_truth import list_truth
from segvote.io.atomic import write_text
from segvote.io.tables import read_json, write_json
from segvote.report.experiment_tables import format_markdown
from segvote.report.figures import Line, draw_lines
from segvote.run.settings import Settings
from segvote.voters.bandwidths import BANDWIDTH_RULES, WINDOW, search_window
from segvote.voters.paper import PaperEKDE
from segvote.voters.segments import Segments, check_segments

SHOWN_SCALE = 0.6  # of the figure
SETTINGS = Settings(n_segments=N_SEGMENTS, detail=DETAIL, voter="ekde-paper", draw="segments")


@dataclass(frozen=True)
class WindowRow:
    """One pair on one set: as `PairResult`, with rho and the plausibility that the rule maximises."""

    scale: float
    ratio: float
    plausibility: float
    rho: float
    ap: float
    corloc: float
    common: float
    selected: float


@dataclass(frozen=True)
class SetWindow:
    """All pairs on one set, and the result of each rule."""

    rows: Sequence[WindowRow]
    rules: Mapping[str, PairResult]


def measure_set(job: Job, name: str) -> SetWindow:
    """Measure a set; what the work folder holds is read."""
    out = job.out / name / "comparison"
    path = out / "pairs" / "window.json"
    if path.is_file():
        data = read_json(path)
        rules = {rule: PairResult(**one) for rule, one in data["rules"].items()}
        return SetWindow([WindowRow(**one) for one in data["rows"]], rules)
    *folders, masks = job.lay_out(name)
    stage = prepare_stage(tuple(folders), list_truth(masks), out / "run", SETTINGS, {True}, job.n_jobs)
    table = stage.tables[True]
    segments = check_segments(table.X, table.positive[table.bags], table.bags, None, None)
    found = SetWindow(list(_list_rows(stage, segments)), {rule: _try_rule(stage, rule) for rule in BANDWIDTH_RULES})
    write_json(path, asdict(found))
    return found


def _list_rows(stage: Stage, segments: Segments) -> Iterable[WindowRow]:
    for point in search_window(segments):
        result = judge_votes(stage, stage.tables[True], point.scores, SETTINGS)
        yield WindowRow(point.scale, point.ratio, point.plausibility, point.rho, **asdict(result))


def _try_rule(stage: Stage, rule: str) -> PairResult:
    table = stage.tables[True]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # most readings select all or nothing, which is what is measured
        voter = PaperEKDE(bandwidth_rule=rule).fit(table.X, table.positive[table.bags], bags=table.bags)
    return judge_votes(stage, table, voter.scores_, SETTINGS)


def list_rule_rows(found: Mapping[str, SetWindow]) -> list[list[str]]:
    """Each rule, means over the sets: share selected, CorLoc by sgn f after second voting, by the common rule, AP."""
    rows = [["rule", "selected by sign", "CorLoc, sign, second voting", "CorLoc, common", "AP", "worst AP"]]
    best = {name: max(one.rows, key=lambda row: row.corloc) for name, one in found.items()}
    for rule in BANDWIDTH_RULES:
        rows.append(_list_cells(f"`{rule}`", [one.rules[rule] for one in found.values()]))
    rows.append(_list_cells("best pair of each set, by the masks", list(best.values())))
    return rows


def _list_cells(name: str, results: Sequence[PairResult | WindowRow]) -> list[str]:
    figures = [[one.selected, one.corloc, one.common, one.ap] for one in results]
    means = [f"{mean:.2f}" for mean in np.mean(figures, axis=0)]
    return [name, *means, f"{min(one.ap for one in results):.2f}"]


def list_window_rows(found: Mapping[str, SetWindow]) -> list[list[str]]:
    """Each set by the rule `window`, beside the best pair by the masks."""
    rows = [["set", "selected", "CorLoc", "AP", "best pair: selected", "CorLoc", "AP", "ratio"]]
    for name, one in found.items():
        best, mine = max(one.rows, key=lambda row: row.corloc), one.rules[WINDOW]
        cells = [mine.selected, mine.corloc, mine.ap, best.selected, best.corloc, best.ap, best.ratio]
        rows.append([name, *(f"{cell:.2f}" for cell in cells)])
    return rows


def draw_window(found: Mapping[str, SetWindow]) -> str:
    """Means over the sets against the ratio, at one scale; rho is drawn as rho - 1, cut at 1."""
    rows = [[row for row in one.rows if row.scale == SHOWN_SCALE] for one in found.values()]
    ratios = sorted(row.ratio for row in rows[0])
    means = {ratio: [row for one in rows for row in one if row.ratio == ratio] for ratio in ratios}

    def average(name: str) -> list[float]:
        return [float(np.mean([getattr(row, name) for row in means[ratio]])) for ratio in ratios]

    excess = [min(max(rho - 1, 0.0), 1.0) for rho in average("rho")]
    lines = [
        Line("share selected", ratios, average("selected")),
        Line("CorLoc, sgn f", ratios, average("corloc")),
        Line("AP", ratios, average("ap")),
        Line("rho - 1", ratios, excess),
        Line("plausibility", ratios, average("plausibility")),
    ]
    title = f"The printed iteration against s+ / s-, mean of {len(found)} sets"
    return draw_lines(lines, title, "s+ / s-", "mean over the sets", (1.1, 1.2, 1.3, 1.4, 1.5), marks=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, default=Path("build/paper"))
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    parser.add_argument("--images", type=int, default=N_IMAGES)
    parser.add_argument("--sets", nargs="+", default=ALL_SETS)
    options = parser.parse_args()
    job = Job(options.data, options.out, options.images, None, 1)
    found = {}
    for name in options.sets:
        found[name] = measure_set(job, name)
        print(name, asdict(found[name].rules[WINDOW]), flush=True)
    write_text(options.docs / "images" / "paper_window.svg", draw_window(found))
    print(format_markdown(list_rule_rows(found)))
    print(format_markdown(list_window_rows(found)))


if __name__ == "__main__":
    main()
