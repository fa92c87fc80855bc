"""A benchmark as text and files: our figures beside the paper's, and the table over classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from segvote.evaluation.benchmark import Benchmark
from segvote.io.atomic import write_text
from segvote.io.tables import write_json
from segvote.report.compare_tables import format_latex, format_markdown, list_set_rows

__all__ = ["list_benchmark_rows", "write_benchmark"]


INFERRED = "How many shots of each class the paper used is inferred."
# Why the column of the paper is empty.
NOT_WHOLE = "The paper's figures are means over all classes of the set; here not all were measured.\n\n"


def list_benchmark_rows(benchmark: Benchmark) -> list[list[str]]:
    """The paper's methods and ours: CorLoc by their own rules and by the common one, the paper's figure, a remark."""
    rows = [["method", "voter", "features", "own rule", "common rule", "paper", "remark"]]
    for row in benchmark.list_paper_rows():
        if np.isnan(row.corloc):
            continue
        paper = "" if row.paper is None else f"{row.paper:.2f}"
        remark = "; ".join([*["less than one shot apart"][: row.is_same], *row.notes])
        cells = [row.method, row.voter, row.features, f"{row.corloc:.2f}", f"{row.common:.2f}", paper, remark]
        rows.append(cells)
    return rows


def write_benchmark(benchmark: Benchmark, out: Path | str) -> Path:
    """Write ``benchmark.md``, ``.tex`` and ``.json``.

    Returns
    -------
    Path
        The Markdown file.
    """
    out = Path(out)
    classes, beside = list_set_rows(benchmark.classes), list_benchmark_rows(benchmark)
    counts = ", ".join(f"{name} {count}" for name, count in benchmark.n_items.items())
    text = (
        f"# {benchmark.name}\n\nItems with truth: {counts}. One of them is worth at most "
        f"{benchmark.resolution:.3f} in the mean. {INFERRED}\n\n## Beside the paper\n\n{format_markdown(beside)}\n"
        f"{'' if benchmark.is_whole else NOT_WHOLE}## CorLoc per class, common rule\n\n{format_markdown(classes)}"
    )
    write_text(out / "benchmark.md", text)
    write_text(out / "benchmark.tex", format_latex(classes) + "\n" + format_latex(beside))
    write_json(out / "benchmark.json", {"name": benchmark.name, "items": benchmark.n_items, "rows": beside[1:]})
    return out / "benchmark.md"
