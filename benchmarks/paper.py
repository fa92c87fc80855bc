"""The paper's experiments on the data sets at hand, and the tables of docs/paper.md.

    python benchmarks/paper.py DATA [--images 12] [--sets cows ...] [--only voters printed words gpb vgg vgg-gpb]
    python benchmarks/paper.py DATA --adaptation

`make paper` runs it. On each set (with/, without/, masks/) it compares all voters with our segments and network, then
measures the printed eKDE with every pair of bandwidths of its grid, with every rule that chooses them and around the
window; then come visual words, the paper's own recipe (gPb, words, second voting), and the weights of a VGG. Of each
folder it takes the same few images, evenly spread over the sorted names. Results are kept in ``comparison/results`` of
the work folder: an interrupted run continues; remove them after a change in a voter. Only the tables between the
markers of the page are written again.

``--adaptation`` prints a table instead: features fitted to the image labels first, ``x + (gain - 1) (u . x) u`` with u
the direction of a linear classifier on the mean features of images.
"""

from __future__ import annotations

import argparse
import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from paper_experiments import (
    DEEP_FEATURES,
    DEEP_VOTERS,
    N_IMAGES,
    PARTS,
    SETS,
    Job,
    Printed,
    PrintedSet,
    compare_all,
    find_best_baseline,
    measure_printed,
    study_adaptation,
)
from segvote.datasets.paper_table import COLUMNS, MEAN, PAPER_METHODS, PAPER_TABLE, PITTCAR
from segvote.evaluation.compare import FINISH
from segvote.evaluation.comparison import Combination, Comparison, Result
from segvote.io.files import write_text
from segvote.metrics.bootstrap import bootstrap_difference, bootstrap_mean
from segvote.report.tables import format_markdown, format_text
from segvote.voters.bandwidths import BANDWIDTH_RULES, GRID, WINDOW

OURS = Combination("ward", "lite0", "ekde")
# Costs are relative to this baseline of the paper.
COST_UNIT = Combination("ward", "lite0", "crane")
OURS_FEATURES = (OURS.segmenter, OURS.features)
# Columns of the paper's table: name to place.
PAPER_COLUMNS = {"pittcar": COLUMNS.index(PITTCAR), "youtube-objects": COLUMNS.index(MEAN)}
MEASURES = ("common", "own", "printed", "matched")
DEEP_MEASURES = ("printed", "common", "miou", "ap")
PRINTED_TABLES = ("bandwidths", "rules", "window")
SHOWN_SCALE = 0.6  # of the figure
WINDOW_LINES = {
    "selected": "share selected",
    "corloc": "CorLoc, sgn f",
    "ap": "AP",
    "rho": "rho − 1",
    "plausibility": "plausibility",
}


@dataclass(frozen=True)
class Pages:
    """The measurements by set; either kind may be empty."""

    comparisons: Mapping[str, Comparison]
    printed: Mapping[str, PrintedSet]
    n_images: int  # of each folder; 0: all
    parts: Sequence[str] = PARTS  # that were compared

    @property
    def combinations(self) -> list[Combination]:
        return list(dict.fromkeys(one.combination for known in self.comparisons.values() for one in known.results))

    def find(self, wanted: Combination) -> list[Result]:
        """Results on all sets; empty where one is missing."""
        names = (wanted.voter, wanted.features, wanted.segmenter)
        found = [result for known in self.comparisons.values() if (result := known.find(*names))]
        return found if len(found) == len(self.comparisons) else []

    def measure(self, wanted: Combination, measure: str) -> np.ndarray:
        """One figure for each set: CorLoc by a rule, ``miou`` (common rule) or ``ap``; nan where there is no result."""
        figures = []
        for comparison in self.comparisons.values():
            result = comparison.find(wanted.voter, wanted.features, wanted.segmenter)
            if result is None:
                figures.append(np.nan)
            elif measure == "ap":
                figures.append(result.ranking.segment_ap)
            elif measure == "miou":
                figures.append(result.measure_ious().mean())
            else:
                figures.append((result.measure_ious(measure) > comparison.threshold).mean())
        return np.array(figures)


def fill_page(path: Path, pages: Pages) -> None:
    """Write the tables that were measured again; the text around them stays."""
    page = path.read_text(encoding="utf-8")
    for name, table in list_tables(pages).items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not pattern.search(page):
            raise SystemExit(f"{path} has no markers <!-- {name} --> and <!-- /{name} -->")
        page = pattern.sub(lambda match, table=table: f"{match[1]}{table}{match[2]}", page)
    write_text(path, page)


def list_tables(pages: Pages) -> dict[str, str]:
    """Marker to its table, with the date, for the parts that were measured."""
    rows: dict[str, list[list[str]]] = {}
    if any(one.features == DEEP_FEATURES[0] for one in pages.combinations):
        rows |= {"deep": list_deep_rows(pages)}
    deep = [one for one in pages.combinations if (one.segmenter, one.features) == OURS_FEATURES]
    deep = deep if "voters" in pages.parts else []  # another part has a few of them
    if deep:
        rows |= {"claims": list_claim_rows(pages)}
        rows |= {"sets": list_limit_rows(pages), "means": list_mean_rows(pages, deep)}
        rows |= {name: list_set_rows(pages, deep, measure) for name, measure in (("corloc", "common"), ("ap", "ap"))}
        rows |= {"differences": list_difference_rows(pages, deep), "seconds": list_cost_rows(pages, deep)}
    if any(one.features == "bow" for one in pages.combinations):
        rows |= {"order": list_order_rows(pages)}
    if pages.printed:
        rows |= {"bandwidths": list_bandwidth_rows(pages), "rules": list_rule_rows(pages)}
        rows |= {"window": list_window_rows(pages)}
    tables = {name: f"{format_date(pages, name)}\n{format_markdown(table)}" for name, table in rows.items()}
    return tables | ({"failures": format_failures(pages)} if deep else {})


def format_date(pages: Pages, name: str) -> str:
    draw = f"{pages.n_images} images of each folder" if pages.n_images else "all images"
    n_sets = len(pages.printed if name in PRINTED_TABLES else pages.comparisons)
    return f"*{datetime.date.today()}, {n_sets} set{'s' * (n_sets > 1)}, {draw}.*\n"


def list_claim_rows(pages: Pages) -> list[list[str]]:
    """README's rows: the walk alone, the best baseline alone and finished, the method; means over the sets."""
    baseline = find_best_baseline(pages.comparisons)
    names = {
        "walk, with the border prior": "walk",
        f"{baseline}, the best baseline, alone": baseline,
        f"{baseline}, finished": f"{baseline}{FINISH}",
        "the method (ekde)": OURS.voter,
    }
    rows = [["", "CorLoc", "mIoU", "AP", "worst CorLoc"]]
    for title, voter in names.items():
        figures = [pages.measure(replace(OURS, voter=voter), name) for name in ("common", "miou", "ap")]
        if not np.isnan(figures).any():
            rows.append([title, *(_format(one.mean()) for one in figures), _format(figures[0].min())])
    return rows


def list_limit_rows(pages: Pages) -> list[list[str]]:
    """The sets, and the limits of their segments."""
    rows = [["set", "images with truth", "limit CorLoc", "limit mIoU"]]
    for name, comparison in pages.comparisons.items():
        limits = comparison.good[0].measure_limits()
        rows.append([name, f"{len(limits)}", f"{(limits > comparison.threshold).mean():.2f}", f"{limits.mean():.2f}"])
    return rows


def list_mean_rows(pages: Pages, chosen: Sequence[Combination]) -> list[list[str]]:
    """Means over all sets, the best first by the common rule."""
    rows = [["voter", "common rule", "own rule", "own, second voting", "matched", "mIoU", "AP", "worst set"]]
    ordered = sorted(chosen, key=lambda one: -np.nan_to_num(pages.measure(one, "common").mean(), nan=-1))
    for one in ordered:
        means = [_format(pages.measure(one, measure).mean()) for measure in (*MEASURES, "miou", "ap")]
        rows.append([one.voter, *means, _format(pages.measure(one, "common").min())])
    return rows


def list_set_rows(pages: Pages, chosen: Sequence[Combination], measure: str) -> list[list[str]]:
    """Voters by sets, the best mean first."""
    figures = {one.voter: pages.measure(one, measure) for one in chosen}
    ordered = sorted(figures, key=lambda voter: -np.nan_to_num(figures[voter].mean(), nan=-1))
    body = [[voter, *map(_format, [*figures[voter], figures[voter].mean()])] for voter in ordered]
    return [["voter", *pages.comparisons, "mean"], *body]


def _format(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"


def list_order_rows(pages: Pages) -> list[list[str]]:
    """The paper's methods: its figures, then ours with its recipe (gPb) and with our segments."""
    heads = ["own, second voting", "common", "AP"]
    rows = [["the paper's method", "ours", *(f"paper: {name}" for name in PAPER_COLUMNS)]]
    rows[0] += [f"{segments}: {head}" for segments in ("gPb", "Ward") for head in heads]
    ours = {"eKDE_deep (ours)": ("ekde", "lite0"), "eKDE (ours)": ("ekde", "bow")}
    for method, (voter, features) in {**PAPER_METHODS, **ours}.items():
        paper = [
            f"{PAPER_TABLE[method][place]:.2f}" if method in PAPER_TABLE else "" for place in PAPER_COLUMNS.values()
        ]
        found = [
            _format(pages.measure(Combination(segmenter, features, voter), measure).mean())
            for segmenter in ("gpb", "ward")
            for measure in ("printed", "common", "ap")
        ]
        rows.append([method, f"{voter} · {features}", *paper, *found])
    return rows


def list_deep_rows(pages: Pages) -> list[list[str]]:
    """The voters of the paper's order on a VGG and on our network; means over the sets."""
    heads = ("own, second voting", "common", "mIoU", "AP")
    rows = [["voter", "segments", *(f"{features}: {head}" for features in DEEP_FEATURES for head in heads)]]
    for segmenter in dict.fromkeys(one.segmenter for one in pages.combinations if one.features == DEEP_FEATURES[0]):
        for voter in DEEP_VOTERS:
            pairs = [(Combination(segmenter, one, voter), name) for one in DEEP_FEATURES for name in DEEP_MEASURES]
            rows.append([voter, segmenter, *(_format(pages.measure(*pair).mean()) for pair in pairs)])
    return rows


def list_bandwidth_rows(pages: Pages) -> list[list[str]]:
    """Mean AP over the sets of every pair, the share selected by sgn f in brackets."""
    rows = [["s+ (rows), s− (columns)", *(f"{width:g}" for width in GRID)]]
    for wide in GRID:
        found = [[one.find((wide, other)) for one in pages.printed.values()] for other in GRID]
        rows.append(
            [f"{wide:g}", *(f"{_average(cell, 'ap'):.2f} ({_average(cell, 'selected'):.2f})" for cell in found)]
        )
    return rows


def list_rule_rows(pages: Pages) -> list[list[str]]:
    """Each rule, means over the sets, and the best pair by the masks: on the grid for all sets, and near the window."""
    known = list(pages.printed.values())
    rows = [["rule", "pairs chosen (sets)", "selected by sign", "CorLoc, sign, second voting", "CorLoc, common", "AP"]]
    for rule in BANDWIDTH_RULES:
        chosen = [one.rules[rule].pair for one in known] if rule != WINDOW else []
        rows.append([f"`{rule}`", _count_pairs(chosen), *_list_cells([one.rules[rule] for one in known])])
    shared = max(
        (one.pair for one in known[0].grid), key=lambda pair: _average([one.find(pair) for one in known], "ap")
    )
    rows.append(["best AP on the grid, by the masks", _count_pairs([shared] * len(known))])
    rows[-1] += _list_cells([one.find(shared) for one in known])
    best = [max(one.window, key=lambda point: point.corloc) for one in known]
    return [*rows, ["best CorLoc of each set near the window, by the masks", "", *_list_cells(best)]]


def _count_pairs(pairs: Sequence[tuple[float, float]]) -> str:
    return ", ".join(f"({pair[0]:g}, {pair[1]:g}) {pairs.count(pair)}" for pair in sorted(set(pairs)))


def _average(found: Sequence[Printed], name: str) -> float:
    return float(np.mean([getattr(one, name) for one in found]))


def _list_cells(found: Sequence[Printed]) -> list[str]:
    return [f"{_average(found, name):.2f}" for name in ("selected", "corloc", "common", "ap")]


def list_window_rows(pages: Pages) -> list[list[str]]:
    """Each set by the rule `window`, beside the best pair by the masks."""
    rows = [["set", "selected", "CorLoc", "AP", "best pair: selected", "CorLoc", "AP", "ratio"]]
    for name, one in pages.printed.items():
        best, mine = max(one.window, key=lambda point: point.corloc), one.rules[WINDOW]
        cells = [mine.selected, mine.corloc, mine.ap, best.selected, best.corloc, best.ap, best.ratio]
        rows.append([name, *(f"{cell:.2f}" for cell in cells)])
    return rows


def draw_window(printed: Mapping[str, PrintedSet], path: Path) -> None:
    """Means over the sets against the ratio, at one scale; rho is drawn as rho - 1, cut at 1."""
    points = [point for one in printed.values() for point in one.window if point.scale == SHOWN_SCALE]
    ratios = sorted({point.ratio for point in points})
    figure, axes = plt.subplots(figsize=(7, 4))
    for name, title in WINDOW_LINES.items():
        means = np.array([_average([point for point in points if point.ratio == ratio], name) for ratio in ratios])
        axes.plot(ratios, np.clip(means - 1, 0, 1) if name == "rho" else means, marker=".", label=title)
    axes.set(xlabel="s+ / s−", ylabel="mean over the sets", ylim=(0, 1))
    axes.legend(frameon=False)
    plt.rcParams["svg.hashsalt"] = "segvote"
    figure.savefig(path, metadata={"Date": None})


def list_difference_rows(pages: Pages, chosen: Sequence[Combination]) -> list[list[str]]:
    """Our method against every other with the features that suit each, in pairs over the images of all sets."""
    rows = [["voter", "CorLoc, all images", "95 %", "ekde better by (IoU)", "95 %", "p"]]
    ours = _gather_ious(pages, OURS)
    known = {one.voter: ious for one in chosen if len(ious := _gather_ious(pages, one))}
    for voter in sorted(known, key=lambda one: -(known[one] > 0.5).mean()):
        corloc = bootstrap_mean((known[voter] > 0.5).astype(float))
        cells = [""] * 3
        if len(ours) and voter != OURS.voter:
            gain = bootstrap_difference(ours, known[voter])
            cells = [f"{gain.mean:.3f}", f"{gain.low:.3f}–{gain.high:.3f}", f"{gain.p_value:.3f}"]
        rows.append([voter, f"{corloc.mean:.2f}", f"{corloc.low:.2f}–{corloc.high:.2f}", *cells])
    return rows


def _gather_ious(pages: Pages, wanted: Combination) -> np.ndarray:
    return np.concatenate([np.empty(0), *(result.measure_ious() for result in pages.find(wanted))])


def list_cost_rows(pages: Pages, chosen: Sequence[Combination]) -> list[list[str]]:
    """Processor time of each vote relative to CRANE's on the same set: median, least and most over the sets."""
    rows = [["voter", "times CRANE (median)", "least", "most"]]
    unit = pages.find(COST_UNIT)
    ratios = {}
    for one in chosen:
        results = pages.find(one)
        if results and unit:
            ratios[one.voter] = [own.seconds / max(base.seconds, 1e-3) for own, base in zip(results, unit, strict=True)]
    for voter in sorted(ratios, key=lambda name: np.median(ratios[name])):
        values = ratios[voter]
        rows.append([voter, f"{np.median(values):.2f}", f"{min(values):.2f}", f"{max(values):.2f}"])
    return rows


def format_failures(pages: Pages) -> str:
    """Combinations without a result, and warnings of voters: one line for each kind."""
    found: dict[str, list[str]] = {}
    for name, comparison in pages.comparisons.items():
        for one in comparison.results:
            for note in [one.reason] if one.reason else one.notes:
                plain = re.sub(r"rho = [\d.]+", "rho", re.sub(r" after \d+ rounds", "", note))
                method = " · ".join((one.combination.voter, one.combination.features, one.combination.segmenter))
                found.setdefault(f"{method}: {plain}", []).append(name)
    lines = [f"- {note} ({', '.join(dict.fromkeys(names))})" for note, names in found.items()]
    return "\n".join(lines or ["None."]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder that holds the sets")
    parser.add_argument("--out", type=Path, default=Path("build/paper"), help="work folder")
    parser.add_argument("--docs", type=Path, default=Path("docs"), help="where paper.md lies")
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--images", type=int, default=N_IMAGES, help="of each folder, evenly spread; 0: all")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="tables of other parts stay")
    parser.add_argument("--adaptation", action="store_true", help="print the table of adapted features instead")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    job = Job(options.data, options.out, options.images, options.jobs)
    if options.adaptation:
        print(format_markdown(study_adaptation(job, options.sets)))
        return
    comparisons = compare_all(job, options.sets, options.only)
    printed = {name: measure_printed(job, name) for name in options.sets} if "printed" in options.only else {}
    pages = Pages(comparisons, printed, options.images, options.only)
    if "voters" in options.only:
        print(format_text(list_claim_rows(pages)))
    if printed:
        draw_window(printed, options.docs / "images" / "paper_window.svg")
    fill_page(options.docs / "paper.md", pages)


if __name__ == "__main__":
    main()
