"""Pages about experiments: a comparison (table, curves, pictures), and a benchmark beside the paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from segvote.datasets.paper_table import PAPER_METHODS
from segvote.evaluation.benchmark import PAPER_RULE, Benchmark
from segvote.evaluation.compare_results import Comparison
from segvote.evaluation.compare_stage import RULES
from segvote.io.files import write_text
from segvote.io.tables import write_csv, write_json
from segvote.report.experiment_pictures import format_examples, format_heat_maps
from segvote.report.experiment_tables import (
    format_latex,
    format_markdown,
    format_page,
    format_rows,
    list_comparison_rows,
    list_failure_rows,
    list_set_rows,
    name_methods,
)
from segvote.report.figures import Line, draw_lines
from segvote.report.markup import escape

N_CURVES = 12
EXPLANATION = (
    "<p>CorLoc: part of the images whose mask overlaps the truth by more than the threshold; the common rule decides "
    "for all voters alike. <em>Own rule</em>: each voter's own threshold (CRANE: as many segments as the reference, as "
    "in the paper; negative mining: the best segment of each image). <em>Matched</em>: every voter selects as many "
    "segments as the reference. <em>Limit</em>: mean IoU if every segment were labelled by the truth. <em>Better "
    "by</em>: mean IoU of the reference less the method's, with the p value of a paired bootstrap over images. "
    "Features are scaled as suits each voter, reference included; <em>:lengths</em>, <em>:unit</em>: the same for "
    "all.</p>"
)
INFERRED = "How many shots of each class the paper used is inferred."
SAME = "="  # less than one shot lies between
LEGEND = "second: own rule after the second voting, as in the paper; =: less than one shot from the paper's figure"
# Heat maps of each class: a row per image, a column per method.
N_BENCHMARK_IMAGES, N_BENCHMARK_METHODS = 3, 8
GRID_NOTE = "Images from the worst to the best of the leading method, evenly spread; the methods with the best CorLoc."


def write_comparison(comparison: Comparison, title: str = "Comparison", examples: str = "") -> Path:
    """Write ``comparison.html``, which is returned, ``.md``, ``.tex``, ``.csv`` and ``.json`` into its folder.

    Parameters
    ----------
    comparison : Comparison
        What was measured.
    title : str
        Of the page.
    examples : str
        Figure 1, as `format_examples` makes it; empty: none.
    """
    folder, rows = comparison.folder, list_comparison_rows(comparison)
    write_text(folder / "comparison.md", format_markdown(rows))
    write_text(folder / "comparison.tex", format_latex(rows))
    table = list(list_figures(comparison))
    write_csv(folder / "comparison.csv", table, list(table[0]) if table else [])
    write_json(folder / "comparison.json", table)
    write_text(folder / "comparison.html", format_comparison_page(comparison, title, examples))
    return folder / "comparison.html"


def list_figures(comparison: Comparison) -> Iterator[dict]:
    """One record per combination, for tables and programs."""
    for result in comparison.results:
        record: dict = {**vars(result.combination), "reason": result.reason, "n_images": len(result.names)}
        good = result.is_good
        corloc = comparison.measure_corloc(result) if good else None
        for rule in RULES:
            record[f"corloc_{rule}"] = comparison.measure_corloc(result, rule).mean if good else None
        record["corloc_low"] = corloc.low if corloc else None
        record["corloc_high"] = corloc.high if corloc else None
        record["miou"] = float(result.measure_ious().mean()) if good else None
        record["limit_miou"] = float(result.measure_limits().mean()) if good else None
        record["segment_ap"] = result.segment_ap if good else None
        record["pixel_ap"] = result.pixel_ap if good else None
        record["seconds"] = result.seconds if good else None
        yield record


def format_comparison_page(comparison: Comparison, title: str, examples: str = "") -> str:
    """The page as text, self-contained and without scripts."""
    rows = list_comparison_rows(comparison)
    sections = [("Methods, the best first", format_rows(rows, best=0) + EXPLANATION)]
    if comparison.failed:
        sections.append(("Without a result", format_rows(list_failure_rows(comparison), words=True)))
    notes = [(one.combination.voter, note) for one in comparison.good for note in one.notes]
    if notes:
        items = "".join(f"<li><b>{escape(voter)}</b>: {escape(note)}</li>" for voter, note in notes)
        sections.append(("What voters warned of", f"<ul>{items}</ul>"))
    if comparison.good:
        curves = f'<div class="curves"><figure>{draw_precision(comparison)}</figure></div>'
        sections.append(("Precision over recall", curves))
    if examples:
        sections.append(("Figure 1: examples of the data", examples))
    if comparison.good:
        sections.append(("Figure 2: heat maps by method", format_heat_maps(comparison)))
    # Line by line: `escape` takes the end of a line for a control character.
    latex = "\n".join(map(escape, format_latex(rows).splitlines()))
    sections.append(("LaTeX", f"<pre>{latex}</pre>"))
    n_images = len(comparison.good[0].names) if comparison.good else 0
    methods = f"{len(comparison.results)} methods on {n_images} images with truth"
    subtitle = f"{methods}; found above {comparison.threshold:g}"
    return format_page(title, subtitle, sections)


def draw_precision(comparison: Comparison) -> str:
    """Precision over recall of the pixels, of the methods with the highest average precision."""
    names = name_methods([result.combination for result in comparison.results])
    best = sorted(comparison.good, key=lambda one: -one.pixel_ap)[:N_CURVES]
    lines = [
        Line(f"{names[one.combination]} {one.pixel_ap:.2f}", one.curve.recall, one.curve.precision) for one in best
    ]
    return draw_lines(lines, "Precision over recall, pixels of all images", "recall", "precision")


def list_benchmark_rows(benchmark: Benchmark) -> list[list[str]]:
    """The paper's methods and ours: CorLoc by their own rule, after second voting, by the common rule; the paper's."""
    rows = [["method", "voter", "features", "own", "second", "common", "paper", ""]]
    for method, (voter, features) in benchmark.row_features.list_rows().items():
        own, second, common = (benchmark.measure_mean(voter, features, rule) for rule in ("own", PAPER_RULE, "common"))
        if np.isnan(own):
            continue
        paper, figures = benchmark.find_paper(method), [f"{value:.2f}" for value in (own, second, common)]
        is_same = paper is not None and abs(second - paper) < benchmark.resolution
        known = ["" if paper is None else f"{paper:.2f}", SAME if is_same else ""]
        rows.append([method, voter, features, *figures, *known])
    return rows


def list_benchmark_notes(benchmark: Benchmark) -> list[str]:
    """Why rows have no figure or select nothing: what voters warned of, row by row and class by class."""
    rows = benchmark.row_features.list_rows().items()
    return [f"{method}: {note}" for method, row in rows for note in benchmark.list_notes(*row)]


def list_class_rows(benchmark: Benchmark) -> list[list[str]]:
    """The paper's methods class by class: ours / the paper's, = where less than one shot of that class is between."""
    rows = [["method", *benchmark.classes]]
    for method in PAPER_METHODS:
        pairs = benchmark.list_class_pairs(method)
        if not all(np.isnan(ours) for ours, _ in pairs.values()):
            rows.append([method, *(_format_pair(*pair, benchmark.n_items[name]) for name, pair in pairs.items())])
    return rows


def _format_pair(ours: float, paper: float | None, n_items: int) -> str:
    shown = "–" if np.isnan(ours) else f"{ours:.2f}"
    if paper is None:
        return shown
    return f"{shown} / {paper:.2f}" + (" =" if abs(ours - paper) < 1 / n_items else "")


def write_benchmark(benchmark: Benchmark, out: Path | str) -> Path:
    """Write ``benchmark.html``, which is returned, ``.md``, ``.tex`` and ``.json``."""
    out = Path(out)
    tables = _list_tables(benchmark)
    sections = "\n".join(f"## {head}\n\n{format_markdown(rows)}" for head, rows in tables.items())
    notes = "".join(f"- {note}\n" for note in list_benchmark_notes(benchmark))
    notes = f"## Notes\n\n{notes}" if notes else ""
    write_text(out / "benchmark.md", f"# {benchmark.name}\n\n{_describe(benchmark)}\n\n{sections}\n{notes}")
    write_text(out / "benchmark.tex", "\n".join(map(format_latex, tables.values())))
    beside = list_benchmark_rows(benchmark)[1:]
    write_json(out / "benchmark.json", {"name": benchmark.name, "items": benchmark.n_items, "rows": beside})
    write_text(out / "benchmark.html", format_benchmark_page(benchmark))
    return out / "benchmark.html"


def _list_tables(benchmark: Benchmark) -> dict[str, list[list[str]]]:
    tables = {"Beside the paper": list_benchmark_rows(benchmark)}
    if benchmark.has_paper:
        tables["Class by class, own rule and second voting: ours / the paper's"] = list_class_rows(benchmark)
    return {**tables, "CorLoc per class, common rule": list_set_rows(benchmark.classes)}


def _describe(benchmark: Benchmark) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in benchmark.n_items.items())
    worth = f"One of them is worth at most {benchmark.resolution:.3f} in the mean."
    return f"Items with truth: {counts}. {worth} {LEGEND}. {INFERRED}"


def format_benchmark_page(benchmark: Benchmark) -> str:
    """The tables and, for every class, the paper's Figures 1 and 2, as one file without scripts."""
    sections = [(head, format_rows(rows)) for head, rows in _list_tables(benchmark).items()]
    if notes := list_benchmark_notes(benchmark):
        sections.append(("Notes", "<ul>" + "".join(f"<li>{escape(note)}</li>" for note in notes) + "</ul>"))
    for name, (comparison, laid) in benchmark.pictures.items():
        sections.append((f"Figure 1, examples: {name}", format_examples(*laid.folders, laid.readers)))
        if grid := format_heat_maps(comparison, N_BENCHMARK_IMAGES, N_BENCHMARK_METHODS):
            sections.append((f"Figure 2, heat maps: {name}", f"{grid}<p>{escape(GRID_NOTE)}</p>"))
    return format_page(f"Benchmark {benchmark.name}", _describe(benchmark), sections)
