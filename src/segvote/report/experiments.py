"""Pages and tables of `compare`, `benchmark` and `evaluate`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from segvote.datasets.coseg import PUBLISHED
from segvote.datasets.paper_table import PAPER_METHODS
from segvote.evaluation.benchmark import Benchmark
from segvote.evaluation.comparison import Combination, Comparison, Result
from segvote.evaluation.coseg import CosegResult, is_voc
from segvote.evaluation.evaluate import Evaluation
from segvote.evaluation.rules import RULES
from segvote.evaluation.stress import STRESSES, StressPoint
from segvote.io.files import write_text
from segvote.io.tables import write_csv, write_json
from segvote.metrics.overlap import VIDEO_THRESHOLD
from segvote.report.figures import Axes, Line, draw_curves, draw_lines
from segvote.report.markup import render
from segvote.report.pictures import PictureTable, make_examples, make_heat_maps
from segvote.report.tables import NONE, format_markdown, set_off_best

Rows = list[list[str]]  # the first is the head
N_CURVES = 12
N_IMAGES, N_METHODS = 6, 12  # heat maps of a comparison
N_BENCHMARK_IMAGES, N_BENCHMARK_METHODS = 3, 8  # heat maps of each class of a benchmark
HEADS = ("method", "CorLoc", "95 %", "own rule", "matched", "mIoU", "limit", "AP", "{} better by", "p", "s")
# The rule whose CorLoc stands beside the paper's: each method's own threshold after the second voting.
PAPER_RULE = "printed"
EVALUATION_COLUMNS = ("name", "iou", "limit", "boundary_f", "f_2px", "found", "n_true", "n_marked", "n_matched")
BENCHMARK_NOTE = (
    "second: own rule after the second voting, as in the paper; =: less than one shot from the paper's figure. "
    "How many shots of each class the paper used is inferred."
)
COSEG_NOTE = (
    "The published figures are on PASCAL VOC as chosen by Faktor and Irani (20 classes, 1,037 images). Their "
    "methods are given the images of a class alone; segvote is also given images without the class."
)
COSEG_OTHER = "These are other images: the figures cannot be compared."


# Comparison ----------------------------------------------------------------------------------------------------------


def name_methods(combinations: Sequence[Combination]) -> dict[Combination, str]:
    """Names with as many parts as tell the combinations apart: voter, then features, then segmenter."""
    shown = [name for name in ("features", "segmenter") if len({getattr(one, name) for one in combinations}) > 1]
    return {one: " · ".join([one.voter, *(getattr(one, name) for name in shown)]) for one in combinations}


def list_comparison_rows(comparison: Comparison) -> Rows:
    """One set: a row per good combination, the best first."""
    names = name_methods([result.combination for result in comparison.results])
    rows = [[names[one.combination], *_list_cells(comparison, one)] for one in comparison.rank()]
    set_off_best(rows, (1, 3, 4, 5, 7))
    return [[head.format(comparison.reference) for head in HEADS], *rows]


def _list_cells(comparison: Comparison, result: Result) -> list[str]:
    corloc, own, matched = (comparison.measure_corloc(result, rule) for rule in ("common", "own", "matched"))
    difference = comparison.measure_difference(result)
    return [
        f"{corloc.mean:.2f}",
        f"{corloc.low:.2f}–{corloc.high:.2f}",
        f"{own.mean:.2f}",
        f"{matched.mean:.2f}",
        f"{result.measure_ious().mean():.3f}",
        f"{result.measure_limits().mean():.3f}",
        f"{result.ranking.segment_ap:.3f}",
        "" if difference is None else f"{difference.mean:+.3f}".replace("-", "−"),
        "" if difference is None else f"{difference.p_value:.3f}",
        f"{result.seconds:.1f}",
    ]


def write_comparison(
    comparison: Comparison,
    title: str = "Comparison",
    examples: PictureTable | None = None,
    points: Sequence[StressPoint] = (),
) -> Path:
    """Write ``comparison.html``, ``.md``, ``.csv`` and ``.json`` into its folder; returns the page.

    `examples` is Figure 1, from `make_examples`; `points`, of robustness curves, also become ``stress.csv``.
    """
    folder, figures = comparison.folder, [_list_figures(comparison, one) for one in comparison.results]
    write_text(folder / "comparison.md", format_markdown(list_comparison_rows(comparison)))
    write_csv(folder / "comparison.csv", figures, list(figures[0]))
    write_json(folder / "comparison.json", figures)
    write_text(folder / "comparison.html", format_comparison_page(comparison, title, examples, points))
    if points:
        write_csv(folder / "stress.csv", [asdict(one) for one in points], list(asdict(points[0])))
    return folder / "comparison.html"


def _list_figures(comparison: Comparison, result: Result) -> dict[str, object]:
    """A record for tables and programs; one that failed has its reason and no figures."""
    record = {**vars(result.combination), "reason": result.reason, "n_images": len(result.names)}
    corloc = {rule: comparison.measure_corloc(result, rule) for rule in result.overlaps}
    record |= {f"corloc_{rule}": corloc[rule].mean if rule in corloc else None for rule in RULES}
    common, good = corloc.get("common"), result.is_good
    return record | {
        "corloc_low": common and common.low,
        "corloc_high": common and common.high,
        "miou": float(result.measure_ious().mean()) if good else None,
        "limit_miou": float(result.measure_limits().mean()) if good else None,
        "segment_ap": result.ranking.segment_ap if good else None,
        "pixel_ap": result.ranking.pixel_ap if good else None,
        "seconds": result.seconds if good else None,
    }


def format_comparison_page(
    comparison: Comparison, title: str, examples: PictureTable | None = None, points: Sequence[StressPoint] = ()
) -> str:
    """The page: the table, failures and warnings, curves, robustness curves, Figures 1 and 2."""
    names = name_methods([result.combination for result in comparison.results])
    failed = [[names[one.combination], one.reason] for one in comparison.failed]
    n_images = len(comparison.good[0].names) if comparison.good else 0
    methods = f"{len(comparison.results)} methods on {n_images} images with truth"
    return render(
        "comparison.html.j2",
        title=title,
        subtitle=f"{methods}; found above {comparison.threshold:g}",
        methods=list_comparison_rows(comparison),
        failed=[["method", "reason"], *failed] if failed else [],
        warnings=[f"{names[one.combination]}: {note}" for one in comparison.good for note in one.notes],
        curves=_draw_best_curves(comparison, names),
        robustness=[(STRESSES[kind].title, format_stress(points, kind)) for kind in _list_kinds(points)],
        examples=examples,
        heat_maps=make_heat_maps(comparison, names, N_IMAGES, N_METHODS),
    )


def _draw_best_curves(comparison: Comparison, names: Mapping[Combination, str]) -> str:
    best = sorted(comparison.good, key=lambda one: -one.ranking.pixel_ap)[:N_CURVES]
    return draw_curves([(names[one.combination], one.ranking) for one in best]) if best else ""


def _list_kinds(points: Sequence[StressPoint]) -> list[str]:
    return list(dict.fromkeys(one.kind for one in points))


def list_stress_rows(points: Sequence[StressPoint], kind: str) -> Rows:
    """CorLoc of each voter at each level of one kind of stress."""
    chosen = [one for one in points if one.kind == kind]
    levels, voters = (list(dict.fromkeys(getattr(one, name) for one in chosen)) for name in ("level", "voter"))
    known = {(one.voter, one.level): NONE if one.corloc is None else f"{one.corloc:.2f}" for one in chosen}
    head = ["CorLoc", *(STRESSES[kind].format_level(level) for level in levels)]
    return [head, *([voter, *(known[voter, level] for level in levels)] for voter in voters)]


def format_stress(points: Sequence[StressPoint], kind: str) -> str:
    """Curves and table of one kind of stress; a point without a result is left out of its curve."""
    rows = list_stress_rows(points, kind)
    last, lines = max(len(rows[0]) - 2, 1), []
    for voter, *cells in rows[1:]:
        places = [place for place, cell in enumerate(cells) if cell != NONE]
        lines.append(Line(voter, [place / last for place in places], [float(cells[place]) for place in places]))
    chart = draw_lines(lines, Axes(STRESSES[kind].title, "CorLoc", rows[0][1:]), f"CorLoc by {STRESSES[kind].title}")
    reasons = [f"{one.voter}, {STRESSES[kind].format_level(one.level)}: {one.reason}" for one in points if one.reason]
    return render("stress.html.j2", chart=chart, rows=rows, reasons=reasons)


# Benchmark -----------------------------------------------------------------------------------------------------------


def list_set_rows(comparisons: Mapping[str, Comparison]) -> Rows:
    """CorLoc by the common rule: rows are methods, the best mean first; columns are classes or sets."""
    combinations = dict.fromkeys(one.combination for known in comparisons.values() for one in known.results)
    names, figures = name_methods(list(combinations)), {}
    for one in combinations:
        results = [(known, known.find(one.voter, one.features, one.segmenter)) for known in comparisons.values()]
        values = [known.measure_corloc(result).mean if result else np.nan for known, result in results]
        figures[one] = [*values, float(np.mean(values))]
    order = sorted(combinations, key=lambda one: (-np.nan_to_num(figures[one][-1], nan=-1.0), one))
    rows = [[names[one], *map(_format, figures[one])] for one in order]
    set_off_best(rows, range(1, len(comparisons) + 2))
    return [["method", *comparisons, "mean"], *rows]


def _format(value: float) -> str:
    return NONE if np.isnan(value) else f"{value:.2f}"


def list_paper_rows(benchmark: Benchmark) -> Rows:
    """The paper's methods and ours: CorLoc by their own rule, after second voting, by the common rule; the paper's."""
    rows = [["method", "voter", "features", "own", "second", "common", "paper", ""]]
    for method, names in benchmark.rows.items():
        own, second, common = (benchmark.measure(method, rule).mean() for rule in ("own", PAPER_RULE, "common"))
        if np.isnan(own):
            continue
        paper = benchmark.find_paper(method).mean()
        is_same = abs(second - paper) < benchmark.resolution
        known = ["" if np.isnan(paper) else f"{paper:.2f}", "=" if is_same else ""]
        rows.append([method, *names, *map(_format, (own, second, common)), *known])
    return rows


def list_class_rows(benchmark: Benchmark) -> Rows:
    """The paper's methods class by class: ours / the paper's, = where less than one shot of that class is between."""
    rows = [["method", *benchmark.classes]]
    for method in PAPER_METHODS:
        ours, paper = benchmark.measure(method, PAPER_RULE), benchmark.find_paper(method)
        if not np.isnan(ours).all():
            rows.append([method, *map(_format_pair, ours, paper, benchmark.n_items.values())])
    return rows


def _format_pair(ours: float, paper: float, n_items: int) -> str:
    if np.isnan(paper):
        return _format(ours)
    return f"{_format(ours)} / {paper:.2f}" + (" =" if abs(ours - paper) < 1 / n_items else "")


def list_benchmark_tables(benchmark: Benchmark) -> dict[str, Rows]:
    """Heading to table."""
    tables = {"CorLoc per class, common rule": list_set_rows(benchmark.classes)}
    if len(beside := list_paper_rows(benchmark)) > 1:
        tables["Beside the paper"] = beside
        if not np.isnan(benchmark.find_paper("eKDE")).all():
            tables["Class by class, own rule and second voting: ours / the paper's"] = list_class_rows(benchmark)
    return tables


def write_benchmark(benchmark: Benchmark, out: Path | str) -> Path:
    """Write ``benchmark.html``, ``.md`` and ``.json``; returns the page."""
    out, tables, notes = Path(out), list_benchmark_tables(benchmark), benchmark.list_notes()
    counts = ", ".join(f"{name} {count}" for name, count in benchmark.n_items.items())
    worth = f"One of them changes the figure by at most {benchmark.resolution:.3f} in the mean."
    subtitle = f"Items with truth: {counts}. {worth} {BENCHMARK_NOTE}"
    text = "\n".join(f"## {head}\n\n{format_markdown(rows)}" for head, rows in tables.items())
    listed = "\n## Notes\n\n" + "".join(f"- {note}\n" for note in notes) if notes else ""
    write_text(out / "benchmark.md", f"# {benchmark.name}\n\n{subtitle}\n\n{text}{listed}")
    beside = list_paper_rows(benchmark)[1:]
    write_json(out / "benchmark.json", {"name": benchmark.name, "items": benchmark.n_items, "rows": beside})
    page = render(
        "benchmark.html.j2",
        title=f"Benchmark {benchmark.name}",
        subtitle=subtitle,
        tables=tables,
        remarks=notes,
        pictures=[_list_pictures(benchmark, name) for name in benchmark.pictures],
    )
    write_text(out / "benchmark.html", page)
    return out / "benchmark.html"


def _list_pictures(benchmark: Benchmark, name: str) -> dict[str, Any]:
    """Figures 1 and 2 of one class."""
    comparison, data = benchmark.pictures[name]
    names = name_methods([result.combination for result in comparison.results])
    return {
        "name": name,
        "examples": make_examples(*data.folders, data.readers),
        "heat_maps": make_heat_maps(comparison, names, N_BENCHMARK_IMAGES, N_BENCHMARK_METHODS),
    }


# Co-segmentation ------------------------------------------------------------------------------------------------------


def list_coseg_rows(results: Sequence[CosegResult]) -> Rows:
    """P and J of each class, and their means."""
    rows = [[one.name, str(one.n_images), f"{one.p:.3f}", _format_j(one.j)] for one in results]
    means = [f"{np.mean([one.p for one in results]):.3f}", _format_j(float(np.nanmean([one.j for one in results])))]
    return [["class", "images", "P", "J"], *rows, ["mean", str(sum(one.n_images for one in results)), *means]]


def _format_j(value: float) -> str:
    return NONE if np.isnan(value) else f"{value:.3f}"


def list_published_rows() -> Rows:
    """Published mean J, with sources."""
    rows = [[one.name, one.mean_j, "yes" if one.uses_masks else "no", one.source] for one in PUBLISHED]
    return [["published", "mean J", "trained on masks", "source"], *rows]


def write_coseg(results: Sequence[CosegResult], out: Path | str) -> Path:
    """Write ``coseg.md`` and ``coseg.json``; returns the table."""
    out, note = Path(out), COSEG_NOTE if is_voc(results) else f"{COSEG_OTHER} {COSEG_NOTE}"
    tables = f"{format_markdown(list_coseg_rows(results))}\n{format_markdown(list_published_rows())}"
    write_text(out / "coseg.md", f"# Co-segmentation\n\n{tables}\n{note}\n")
    write_json(out / "coseg.json", [asdict(one) for one in results])
    return out / "coseg.md"


# Evaluation ----------------------------------------------------------------------------------------------------------


def list_evaluation_rows(evaluation: Evaluation) -> Rows:
    """Each figure with its interval and the limit of the segments."""
    figures = evaluation.to_dict()
    rows = [["", "result", "95 % interval", "limit of the segments"]]
    for name, key in (("CorLoc", "corloc"), ("mean IoU", "miou")):
        interval = f"{figures[key + '_low']:.3f} – {figures[key + '_high']:.3f}"
        rows.append([name, f"{figures[key]:.3f}", interval, f"{figures['limit_' + key]:.3f}"])
    names = {"segment AP": "segment_ap", "pixel AP": "pixel_ap", "boundary F": "boundary_f"}
    names |= {f"{name} within 2 px": f"{name.lower()}_2px" for name in ("precision", "recall", "F")}
    rows += [[name, _format_figure(figures[key]), "", ""] for name, key in names.items()]
    if counts := evaluation.instances:
        rows.append([f"instances found, of {counts.n_true}", _format_figure(counts.recall), "", ""])
        rows.append([f"correct, of {counts.n_marked} marked instances", _format_figure(counts.precision), "", ""])
        names = {"instance AP at .5": "instance_ap50", "instance AP at .5 to .95": "instance_ap"}
        names |= {"error of the number of objects": "count_error", "box IoU": "box_iou"}
        rows += [[name, _format_figure(figures[key]), "", ""] for name, key in names.items()]
    rows.append(["images", f"{figures['n_images']}", "", ""])
    if "n_videos" in figures:
        rows.append(["videos", f"{figures['n_videos']}", "", ""])
        rows.append([f"video CorLoc, volume > {VIDEO_THRESHOLD:g}", f"{figures['video_corloc']:.3f}", "", ""])
        rows.append(["frame IoU", f"{figures['frame_miou']:.3f}", "", ""])
    return rows


def list_extent_rows(evaluation: Evaluation) -> Rows:
    """CorLoc and mean IoU at every extent; only the head for runs with videos."""
    rows = [
        [f"{one.extent}{' (chosen)' if one.chosen else ''}", f"{one.corloc:.3f}", f"{one.miou:.3f}"]
        for one in evaluation.extents
    ]
    return [["extent", "CorLoc", "mean IoU"], *rows]


def write_evaluation_table(evaluation: Evaluation, path: Path | str) -> None:
    """Write a CSV file with a row per image."""
    write_csv(path, evaluation.list_rows(), EVALUATION_COLUMNS)


def write_evaluation_page(evaluation: Evaluation, path: Path | str, title: str) -> None:
    """Write a page: the figures, the curve, and a row per image."""
    criterion = f"found means an overlap above {evaluation.threshold:g} ({evaluation.criterion} criterion)"
    page = render(
        "evaluation.html.j2",
        title=f"Evaluation of {title}",
        subtitle=f"{len(evaluation.images)} images with truth; {criterion}",
        figures=list_evaluation_rows(evaluation),
        extents=list_extent_rows(evaluation) if evaluation.extents else [],
        curve=draw_curves([("pixels of all images", evaluation.ranking)]),
        images=_list_image_rows(evaluation),
    )
    write_text(path, page)


def _list_image_rows(evaluation: Evaluation) -> Rows:
    rows = [["image", "IoU", "limit", "boundary F", "F, 2 px", "found", "instances"]]
    for one in sorted(evaluation.list_rows(), key=lambda row: (row["iou"], row["name"])):
        figures = [_format_figure(one[key]) for key in ("iou", "limit", "boundary_f", "f_2px")]
        instances = NONE if one["n_true"] is None else f"{one['n_matched']} of {one['n_true']}"
        rows.append([one["name"], *figures, "yes" if one["found"] else "no", instances])
    return rows


def _format_figure(figure: float | None) -> str:
    return NONE if figure is None else f"{figure:.3f}"
