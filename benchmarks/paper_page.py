"""What `paper.py` writes into docs/paper.md: tables between markers, curves as SVG; never a picture of a data set."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from paper_bandwidths import BandwidthTable, Pair
from paper_window import SetWindow, draw_window, list_rule_rows, list_window_rows
from segvote.datasets.paper_table import COLUMNS, MEAN, PAPER_METHODS, PAPER_TABLE, PITTCAR
from segvote.evaluation.compare_results import FINISH, Combination, Comparison, Result
from segvote.evaluation.stress import StressCurve
from segvote.io.atomic import write_text
from segvote.metrics.bootstrap import bootstrap_difference, bootstrap_mean
from segvote.report.experiment_pages import draw_precision, draw_stress
from segvote.report.experiment_tables import format_markdown
from segvote.voters.bandwidths import GRID

OURS = Combination("ward", "lite0", "ekde")
# Costs are told relative to this baseline of the paper.
COST_UNIT = Combination("ward", "lite0", "crane")
OURS_FEATURES = (OURS.segmenter, OURS.features)
# Columns of the paper's table: name to place.
PAPER_COLUMNS = {"pittcar": COLUMNS.index(PITTCAR), "youtube-objects": COLUMNS.index(MEAN)}
MEASURES = ("common", "own", "printed", "matched")


@dataclass(frozen=True)
class Pages:
    """What was measured.

    Attributes
    ----------
    comparisons, bandwidths, windows
        Set to its comparison, to its pairs of bandwidths on the printed grid, and to its pairs near the window.
    curves
        Of stress; may be empty.
    n_images
        Images of each folder; 0: all.
    """

    comparisons: Mapping[str, Comparison]
    bandwidths: Mapping[str, BandwidthTable]
    windows: Mapping[str, SetWindow]
    curves: Sequence[StressCurve]
    n_images: int

    @property
    def combinations(self) -> list[Combination]:
        return list(dict.fromkeys(one.combination for known in self.comparisons.values() for one in known.results))

    def find(self, wanted: Combination) -> list[Result] | None:
        """Results on all sets, or None where one is missing."""
        found = [
            next((one for one in known.good if one.combination == wanted), None) for known in self.comparisons.values()
        ]
        return None if None in found else [one for one in found if one is not None]

    def measure(self, wanted: Combination, measure: str) -> np.ndarray:
        """One figure for each set: CorLoc by a rule, ``miou`` (common rule) or ``ap``; nan where there is no result."""
        figures = []
        for comparison in self.comparisons.values():
            result = next((one for one in comparison.good if one.combination == wanted), None)
            figures.append(np.nan if result is None else _measure(comparison, result, measure))
        return np.array(figures)


def _measure(comparison: Comparison, result: Result, measure: str) -> float:
    if measure == "ap":
        return result.segment_ap
    if measure == "miou":
        return float(result.measure_ious().mean())
    return float((result.measure_ious(measure) > comparison.threshold).mean())


def fill_page(path: Path, pages: Pages) -> None:
    """Write every table of the page again; the text around them stays."""
    page = path.read_text(encoding="utf-8")
    for name, table in list_tables(pages).items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not pattern.search(page):
            raise SystemExit(f"{path} has no markers <!-- {name} --> and <!-- /{name} -->")
        page = pattern.sub(lambda match, table=table: f"{match[1]}{table}{match[2]}", page)
    write_text(path, page)


def list_tables(pages: Pages) -> dict[str, str]:
    deep = [one for one in pages.combinations if (one.segmenter, one.features) == OURS_FEATURES]
    tables = {
        "date": format_date(pages),
        "sets": format_markdown(list_limit_rows(pages)),
        "means": format_markdown(list_mean_rows(pages)),
        "corloc": format_markdown(list_set_rows(pages, deep, "common")),
        "own": format_markdown(list_set_rows(pages, deep, "own")),
        "ap": format_markdown(list_set_rows(pages, deep, "ap")),
        "order": format_markdown(list_order_rows(pages)),
        "bandwidths": format_markdown(list_bandwidth_rows(pages)),
        "readings": format_markdown(list_reading_rows(pages)),
        "rules": format_markdown(list_rule_rows(pages.windows)),
        "window": format_markdown(list_window_rows(pages.windows)),
        "differences": format_markdown(list_difference_rows(pages, deep)),
        "seconds": format_markdown(list_cost_rows(pages, deep)),
        "failures": format_failures(pages),
        "precision": "\n".join(
            f"![Precision over recall, {name}](images/paper_precision_{name}.svg)\n" for name in pages.comparisons
        ),
    }
    if pages.curves:
        kinds = {curve.kind.name: curve.kind.title for curve in pages.curves}
        figures = "\n".join(f"![CorLoc: {title}](images/paper_stress_{name}.svg)\n" for name, title in kinds.items())
        tables["stress"] = f"{format_markdown(list_stress_rows(pages.curves))}\n{figures}"
    return tables


def format_date(pages: Pages) -> str:
    draw = f"{pages.n_images} images of each folder" if pages.n_images else "all images"
    return f"`make paper`, {datetime.date.today()}: {len(pages.comparisons)} sets, {draw}.\n"


def list_claim_rows(comparisons: Mapping[str, Comparison], baseline: str) -> list[list[str]]:
    """README's rows: the walk alone, the best baseline alone and finished, the method; means over the sets."""
    names = {
        "walk, alone": "walk",
        f"{baseline}, the best baseline, alone": baseline,
        f"{baseline}, finished": f"{baseline}{FINISH}",
        "the method (ekde)": OURS.voter,
    }
    rows = [["", "CorLoc", "mIoU", "AP", "worst CorLoc"]]
    for title, voter in names.items():
        found = [(known, known.find(voter, OURS.features, OURS.segmenter)) for known in comparisons.values()]
        if any(result is None for _, result in found):
            continue
        figures = np.array([[_measure(known, one, name) for name in ("common", "miou", "ap")] for known, one in found])
        rows.append([title, *map(_format, figures.mean(axis=0)), _format(figures[:, 0].min())])
    return rows


def write_figures(folder: Path, pages: Pages) -> None:
    write_figure(folder / "paper_window.svg", draw_window(pages.windows))
    for name, comparison in pages.comparisons.items():
        write_figure(folder / f"paper_precision_{name}.svg", draw_precision(comparison))
    for kind in dict.fromkeys(curve.kind.name for curve in pages.curves):
        chosen = [curve for curve in pages.curves if curve.kind.name == kind]
        write_figure(folder / f"paper_stress_{kind}.svg", draw_stress(chosen))


def write_figure(path: Path, svg: str) -> None:
    # A picture does not know the colours of the page around it: it brings its own paper and ink.
    write_text(path, svg.replace("<svg ", '<svg style="background:#fff;color:#1a1d24" ', 1))


def list_limit_rows(pages: Pages) -> list[list[str]]:
    """The sets, and what their segments allow."""
    rows = [["set", "images with truth", "limit CorLoc", "limit mIoU"]]
    for name, comparison in pages.comparisons.items():
        limits = comparison.good[0].measure_limits()
        rows.append([name, f"{len(limits)}", f"{(limits > comparison.threshold).mean():.2f}", f"{limits.mean():.2f}"])
    return rows


def name_combination(one: Combination) -> str:
    return f"{one.voter} · {one.features} · {one.segmenter}"


def list_mean_rows(pages: Pages) -> list[list[str]]:
    """Means over all sets of everything that was measured, the best first by the common rule."""
    rows = [["method", "common rule", "own rule", "own, second voting", "matched", "mIoU", "AP", "worst set"]]
    ordered = sorted(pages.combinations, key=lambda one: -np.nan_to_num(pages.measure(one, "common").mean(), nan=-1))
    for one in ordered:
        means = [_format(pages.measure(one, measure).mean()) for measure in (*MEASURES, "miou", "ap")]
        rows.append([name_combination(one), *means, _format(pages.measure(one, "common").min())])
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


def list_bandwidth_rows(pages: Pages) -> list[list[str]]:
    """Mean AP over the sets of every pair, the share selected by sgn f in brackets."""
    rows = [["s+ (rows), s− (columns)", *(f"{width:g}" for width in GRID)]]
    for wide in GRID:
        cells = []
        for other in GRID:
            found = [table.results[wide, other] for table in pages.bandwidths.values()]
            ap, selected = np.mean([one.ap for one in found]), np.mean([one.selected for one in found])
            cells.append(f"{ap:.2f} ({selected:.2f})")
        rows.append([f"{wide:g}", *cells])
    return rows


def list_reading_rows(pages: Pages) -> list[list[str]]:
    """What each reading of the rule chooses, and how that pair ranks beside the best pair of each set."""
    tables = pages.bandwidths.values()
    names = sorted(next(iter(tables)).readings)
    rows = [
        ["reading", "pairs chosen (sets)", "AP", "CorLoc, sign, second voting", "CorLoc, common", "selected by sign"]
    ]
    for name in names:
        rows.append([f"`{name}`", *_describe_pairs(pages, [table.readings[name] for table in tables])])
    shared = max(next(iter(tables)).results, key=lambda pair: np.mean([table.results[pair].ap for table in tables]))
    rows.append(["best pair for all sets, by the masks", *_describe_pairs(pages, [shared] * len(tables))])
    rows.append(["best pair of each set, by the masks", *_describe_pairs(pages, [table.best for table in tables])])
    return rows


def _describe_pairs(pages: Pages, pairs: Sequence[Pair]) -> list[str]:
    counts = {pair: pairs.count(pair) for pair in sorted(set(pairs))}
    said = ", ".join(f"({pair[0]:g}, {pair[1]:g}) {count}" for pair, count in counts.items())
    found = [table.results[pair] for table, pair in zip(pages.bandwidths.values(), pairs, strict=True)]
    means = [np.mean([getattr(one, name) for one in found]) for name in ("ap", "corloc", "common", "selected")]
    return [said, *(f"{mean:.2f}" for mean in means)]


def list_difference_rows(pages: Pages, chosen: Sequence[Combination]) -> list[list[str]]:
    """Our method against every other with the features that suit each, in pairs over the images of all sets."""
    rows = [["voter", "CorLoc, all images", "95 %", "ekde better by (IoU)", "95 %", "p"]]
    ours = _gather_ious(pages, OURS)
    known = {one.voter: ious for one in chosen if (ious := _gather_ious(pages, one)) is not None}
    for voter in sorted(known, key=lambda one: -(known[one] > 0.5).mean()):
        corloc = bootstrap_mean((known[voter] > 0.5).astype(float))
        cells = [""] * 3
        if ours is not None and voter != OURS.voter:
            gain = bootstrap_difference(ours, known[voter])
            cells = [f"{gain.mean:.3f}", f"{gain.low:.3f}–{gain.high:.3f}", f"{gain.p_value:.3f}"]
        rows.append([voter, f"{corloc.mean:.2f}", f"{corloc.low:.2f}–{corloc.high:.2f}", *cells])
    return rows


def _gather_ious(pages: Pages, wanted: Combination) -> np.ndarray | None:
    results = pages.find(wanted)
    return None if results is None else np.concatenate([result.measure_ious() for result in results])


def list_cost_rows(pages: Pages, chosen: Sequence[Combination]) -> list[list[str]]:
    """Processor time of each vote relative to CRANE's on the same set: median, least and most over the sets."""
    rows = [["voter", "times CRANE (median)", "least", "most"]]
    unit = pages.find(COST_UNIT)
    ratios = {}
    for one in chosen:
        results = pages.find(one)
        if results is not None and unit is not None:
            ratios[one.voter] = [own.seconds / max(base.seconds, 1e-3) for own, base in zip(results, unit, strict=True)]
    for voter in sorted(ratios, key=lambda name: np.median(ratios[name])):
        values = ratios[voter]
        rows.append([voter, f"{np.median(values):.2f}", f"{min(values):.2f}", f"{max(values):.2f}"])
    return rows


def list_stress_rows(curves: Sequence[StressCurve]) -> list[list[str]]:
    """CorLoc and AP of every voter at every level."""
    rows = []
    for kind in dict.fromkeys(curve.kind.name for curve in curves):
        chosen = [curve for curve in curves if curve.kind.name == kind]
        rows.append([f"*{chosen[0].kind.title}*", *[""] * 4])
        rows.append(["CorLoc / AP", *_pad([chosen[0].kind.format_level(level) for level in chosen[0].levels])])
        for curve in chosen:
            points = ["–" if one.corloc is None else f"{one.corloc:.2f} / {one.ap:.2f}" for one in curve.points]
            rows.append([curve.voter, *_pad(points)])
    return [["voter", "", "", "", ""], *rows]


def _pad(cells: list[str]) -> list[str]:
    return cells + [""] * (4 - len(cells))


def format_failures(pages: Pages) -> str:
    """Combinations without a result, and what voters warned of: one line for each kind of warning."""
    said: dict[str, list[str]] = {}
    for name, comparison in pages.comparisons.items():
        for one in comparison.results:
            for note in [one.reason] if one.reason else one.notes:
                plain = re.sub(r"rho = [\d.]+", "rho", re.sub(r" after \d+ rounds", "", note))
                said.setdefault(f"{name_combination(one.combination)}: {plain}", []).append(name)
    lines = [f"- {note} ({', '.join(dict.fromkeys(names))})" for note, names in said.items()]
    return "\n".join(lines or ["None."]) + "\n"
