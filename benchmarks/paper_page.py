"""What `paper.py` writes into docs/paper.md: tables between markers, curves as SVG; never a picture of a data set."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from segvote.datasets.paper_table import PAPER_CORLOC, PAPER_METHODS
from segvote.evaluation.compare_results import Comparison, Result
from segvote.evaluation.stress import StressCurve
from segvote.io.atomic import write_text
from segvote.metrics.bootstrap import bootstrap_difference, bootstrap_mean
from segvote.report.compare_page import draw_precision, draw_stress
from segvote.report.compare_tables import format_markdown, list_set_rows, name_methods

Sets = Mapping[str, Comparison]
OURS = ("ekde", "lite0")
# Not in the paper.
BESIDE = {
    "ours": OURS,
    "ours, words": ("ekde", "bow"),
}


def fill_page(path: Path, comparisons: Sets, curves: Sequence[StressCurve]) -> None:
    """Write every table of the page again; the text around them stays."""
    page = path.read_text(encoding="utf-8")
    for name, table in list_tables(comparisons, curves).items():
        pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
        if not pattern.search(page):
            raise SystemExit(f"{path} has no markers <!-- {name} --> and <!-- /{name} -->")
        page = pattern.sub(lambda match, table=table: f"{match[1]}{table}{match[2]}", page)
    write_text(path, page)


def list_tables(comparisons: Sets, curves: Sequence[StressCurve]) -> dict[str, str]:
    tables = {
        "sets": format_markdown(list_limit_rows(comparisons)),
        "corloc": format_markdown(list_set_rows(comparisons)),
        "own": format_markdown(list_set_rows(comparisons, rule="own")),
        "miou": format_markdown(list_set_rows(comparisons, "miou")),
        "ap": format_markdown(list_set_rows(comparisons, "ap")),
        "order": format_markdown(list_order_rows(comparisons)),
        "differences": format_markdown(list_difference_rows(comparisons)),
        "seconds": format_markdown(list_second_rows(comparisons)),
        "failures": format_failures(comparisons),
        "precision": "\n".join(
            f"![Precision over recall, {name}](images/paper_precision_{name}.svg)\n" for name in comparisons
        ),
    }
    if curves:
        kinds = {curve.kind.name: curve.kind.title for curve in curves}
        figures = "\n".join(f"![CorLoc: {title}](images/paper_stress_{name}.svg)\n" for name, title in kinds.items())
        tables["stress"] = f"{format_markdown(list_stress_rows(curves))}\n{figures}"
    return tables


def write_figures(folder: Path, comparisons: Sets, curves: Sequence[StressCurve]) -> None:
    for name, comparison in comparisons.items():
        write_figure(folder / f"paper_precision_{name}.svg", draw_precision(comparison))
    for kind in dict.fromkeys(curve.kind.name for curve in curves):
        chosen = [curve for curve in curves if curve.kind.name == kind]
        write_figure(folder / f"paper_stress_{kind}.svg", draw_stress(chosen))


def write_figure(path: Path, svg: str) -> None:
    # A picture does not know the colours of the page around it: it brings its own paper and ink.
    write_text(path, svg.replace("<svg ", '<svg style="background:#fff;color:#1a1d24" ', 1))


def list_limit_rows(comparisons: Sets) -> list[list[str]]:
    """The sets, and what their segments allow."""
    rows = [["set", "images with truth", "limit CorLoc", "limit mIoU"]]
    for name, comparison in comparisons.items():
        limits = comparison.good[0].measure_limits()
        rows.append([name, f"{len(limits)}", f"{(limits > comparison.threshold).mean():.2f}", f"{limits.mean():.2f}"])
    return rows


def list_order_rows(comparisons: Sets) -> list[list[str]]:
    """The paper's methods: its figures, then our means over the sets by three rules."""
    rows = [["the paper's method", "ours", "paper: PittCar", "paper: YouTube-Objects", "own rule", "common rule", "AP"]]
    for method, (voter, features) in {**PAPER_METHODS, **BESIDE}.items():
        paper = [f"{column[method]:.2f}" if method in column else "" for column in PAPER_CORLOC.values()]
        results = [(known, known.find(voter, features)) for known in comparisons.values()]
        rows.append([method, f"{voter} · {features}", *paper, *_list_means(results)])
    return rows


def _list_means(results: Sequence[tuple[Comparison, Result | None]]) -> list[str]:
    if any(result is None for _, result in results):
        return ["–"] * 3
    good = [(known, result) for known, result in results if result is not None]
    means = [np.mean([known.measure_corloc(one, rule).mean for known, one in good]) for rule in ("own", "common")]
    return [f"{mean:.2f}" for mean in [*means, np.mean([one.segment_ap for _, one in good])]]


def list_difference_rows(comparisons: Sets) -> list[list[str]]:
    """Our method against every other, drawn in pairs over the images of all sets."""
    rows = [["method", "CorLoc, all images", "95 %", "ours better by (IoU)", "95 %", "p"]]
    first = next(iter(comparisons.values()))
    names = name_methods([one.combination for one in first.results])
    ours = _gather_ious(comparisons, *OURS)
    found = []
    for combination, name in names.items():
        ious = _gather_ious(comparisons, combination.voter, combination.features)
        if ious is not None and ours is not None:
            found.append((name, ious))
    for name, ious in sorted(found, key=lambda pair: -(pair[1] > first.threshold).mean()):
        corloc = bootstrap_mean((ious > first.threshold).astype(float))
        gain = bootstrap_difference(ours, ious)
        same = name == " · ".join(OURS)
        cells = ["", "", ""] if same else [f"{gain.mean:.3f}", f"{gain.low:.3f}–{gain.high:.3f}", f"{gain.p_value:.3f}"]
        rows.append([name, f"{corloc.mean:.2f}", f"{corloc.low:.2f}–{corloc.high:.2f}", *cells])
    return rows


def _gather_ious(comparisons: Sets, voter: str, features: str) -> np.ndarray | None:
    results = [known.find(voter, features) for known in comparisons.values()]
    if any(result is None for result in results):
        return None
    return np.concatenate([result.measure_ious() for result in results if result is not None])


def list_second_rows(comparisons: Sets) -> list[list[str]]:
    """Processor seconds of each vote."""
    first = next(iter(comparisons.values()))
    names = name_methods([one.combination for one in first.results])
    rows = [["method", *comparisons]]
    for combination, name in names.items():
        found = [known.find(combination.voter, combination.features) for known in comparisons.values()]
        rows.append([name, *("–" if one is None else f"{one.seconds:.0f}" for one in found)])
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


def format_failures(comparisons: Sets) -> str:
    """Combinations without a result, and what voters warned of."""
    lines = []
    for name, comparison in comparisons.items():
        for one in comparison.results:
            method = f"{name}, {one.combination.voter} · {one.combination.features}"
            lines += [f"- {method}: {one.reason}"] if one.reason else [f"- {method}: {note}" for note in one.notes]
    return "\n".join(lines or ["None."]) + "\n"
