"""A benchmark as text, files and a page: our figures beside the paper's, the table over classes, heat maps."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from segvote.datasets.paper_table import PAPER_METHODS
from segvote.evaluation.benchmark import Benchmark
from segvote.io.atomic import write_text
from segvote.io.tables import write_json
from segvote.report.compare_gallery import format_gallery
from segvote.report.compare_markup import format_page, format_rows
from segvote.report.compare_tables import format_latex, format_markdown, list_set_rows
from segvote.report.markup import escape

INFERRED = "How many shots of each class the paper used is inferred."
# Why the column of the paper is empty.
NOT_WHOLE = "The paper's figures are means over all classes of the set; here not all were measured."
SAME = "less than one shot apart"
# Heat maps of each class: a row per image, a column per method.
N_IMAGES, N_METHODS = 3, 8
GRID_NOTE = "Images from the worst to the best of the leading method, evenly spread; the methods with the best CorLoc."


def list_benchmark_rows(benchmark: Benchmark) -> list[list[str]]:
    """The paper's methods and ours: CorLoc by their own rules, with second voting, by the common rule; the paper's."""
    rows = [["method", "voter", "features", "own rule", "second voting", "common rule", "paper", "remark"]]
    for row in benchmark.list_paper_rows():
        if np.isnan(row.corloc):
            continue
        paper = "" if row.paper is None else f"{row.paper:.2f}"
        figures = [f"{value:.2f}" for value in (row.corloc, row.printed, row.common)]
        remark = "; ".join([*[SAME][: row.is_same], *row.notes])
        rows.append([row.method, row.voter, row.features, *figures, paper, remark])
    return rows


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
    notes = "" if benchmark.is_whole or benchmark.paper_classes else f"{NOT_WHOLE}\n\n"
    write_text(out / "benchmark.md", f"# {benchmark.name}\n\n{_describe(benchmark)}\n\n{notes}{sections}")
    write_text(out / "benchmark.tex", "\n".join(map(format_latex, tables.values())))
    beside = list_benchmark_rows(benchmark)[1:]
    write_json(out / "benchmark.json", {"name": benchmark.name, "items": benchmark.n_items, "rows": beside})
    write_text(out / "benchmark.html", format_benchmark_page(benchmark))
    return out / "benchmark.html"


def _list_tables(benchmark: Benchmark) -> dict[str, list[list[str]]]:
    tables = {"Beside the paper": list_benchmark_rows(benchmark)}
    if benchmark.paper_classes:
        tables["Class by class, own rule: ours / the paper's"] = list_class_rows(benchmark)
    return {**tables, "CorLoc per class, common rule": list_set_rows(benchmark.classes)}


def _describe(benchmark: Benchmark) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in benchmark.n_items.items())
    worth = f"One of them is worth at most {benchmark.resolution:.3f} in the mean."
    return f"Items with truth: {counts}. {worth} {INFERRED}"


def format_benchmark_page(benchmark: Benchmark) -> str:
    """The tables and, for every class, heat maps side by side (the paper's Figure 2), as one file without scripts."""
    sections = [(head, format_rows(rows)) for head, rows in _list_tables(benchmark).items()]
    for name, comparison in benchmark.pictures.items():
        if grid := format_gallery(comparison, N_IMAGES, N_METHODS):
            sections.append((f"Heat maps: {name}", f"{grid}<p>{escape(GRID_NOTE)}</p>"))
    return format_page(f"Benchmark {benchmark.name}", _describe(benchmark), sections)
