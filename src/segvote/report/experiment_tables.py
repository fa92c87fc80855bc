"""Experiments as tables: rows of one comparison, of several sets, and their forms (terminal, Markdown, LaTeX, HTML).

A table is a list of rows of cells, the first row its head; a `Bold` cell is the best of its column.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from segvote.evaluation.compare_results import Combination, Comparison, Result
from segvote.report.markup import escape, read_static

HEADS = ["method", "CorLoc", "95 %", "own rule", "matched", "mIoU", "limit", "AP", "eKDE better by", "p", "s"]
TERMINAL = 80  # columns
NONE = "–"  # in the place of a figure
LATEX_SIGNS = {
    "&": r"\&",
    "%": r"\%",
    "_": r"\_",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "–": "--",
    "·": r"$\cdot$",
    "−": "$-$",
}


class Bold(str):
    """A cell to set off."""

    __slots__ = ()


def name_methods(combinations: Sequence[Combination]) -> dict[Combination, str]:
    """Names with as many parts as tell the combinations apart: voter, then features, then segmenter."""
    many_features = len({one.features for one in combinations}) > 1
    many_segmenters = len({one.segmenter for one in combinations}) > 1
    names = {}
    for one in combinations:
        parts = [one.voter, one.features if many_features else "", one.segmenter if many_segmenters else ""]
        names[one] = " · ".join(part for part in parts if part)
    return names


def list_comparison_rows(comparison: Comparison) -> list[list[str]]:
    """One set: a row per good combination, the best first."""
    ranked = comparison.rank()
    names = name_methods([result.combination for result in comparison.results])
    heads = [head.replace("eKDE", comparison.reference) for head in HEADS]
    rows = [_list_cells(comparison, result, names[result.combination]) for result in ranked]
    return [heads, *_set_off_best(rows, (1, 3, 4, 5, 7))]


def _list_cells(comparison: Comparison, result: Result, name: str) -> list[str]:
    corloc = comparison.measure_corloc(result)
    own, matched = (comparison.measure_corloc(result, rule).mean for rule in ("own", "matched"))
    difference = comparison.measure_difference(result)
    return [
        name,
        f"{corloc.mean:.2f}",
        f"{corloc.low:.2f}–{corloc.high:.2f}",
        f"{own:.2f}",
        f"{matched:.2f}",
        f"{result.measure_ious().mean():.3f}",
        f"{result.measure_limits().mean():.3f}",
        f"{result.segment_ap:.3f}",
        "" if difference is None else f"{difference.mean:+.3f}".replace("-", "−"),
        "" if difference is None else f"{difference.p_value:.3f}",
        f"{result.seconds:.1f}",
    ]


def _set_off_best(rows: list[list[str]], columns: Iterable[int]) -> list[list[str]]:
    for column in columns:
        known = [row[column] for row in rows if row[column] != NONE]
        best = max(known, key=float, default=None)
        for row in rows:
            if row[column] == best:
                row[column] = Bold(row[column])
    return rows


def list_failure_rows(comparison: Comparison) -> list[list[str]]:
    """Combinations without a result, and why."""
    names = name_methods([result.combination for result in comparison.results])
    return [["method", "reason"], *([names[one.combination], one.reason] for one in comparison.failed)]


def list_set_rows(comparisons: Mapping[str, Comparison]) -> list[list[str]]:
    """The paper's table, CorLoc by the common rule: rows are methods, the best mean first; columns sets or classes."""
    combinations = list(dict.fromkeys(one.combination for known in comparisons.values() for one in known.results))
    names = name_methods(combinations)
    values = {one: [_measure_corloc(known, one) for known in comparisons.values()] for one in combinations}
    means = {one: float(np.mean(found)) for one, found in values.items()}  # nan where a method is missing on a set
    order = sorted(combinations, key=lambda one: (-np.nan_to_num(means[one], nan=-1.0), one))
    rows = [[names[one], *map(_format, [*values[one], means[one]])] for one in order]
    return [["method", *comparisons, "mean"], *_set_off_best(rows, range(1, len(comparisons) + 2))]


def _measure_corloc(comparison: Comparison, combination: Combination) -> float:
    result = next((one for one in comparison.good if one.combination == combination), None)
    return float("nan") if result is None else float((result.measure_ious() > comparison.threshold).mean())


def _format(value: float) -> str:
    return NONE if np.isnan(value) else f"{value:.2f}"


def format_text(rows: Sequence[Sequence[str]]) -> str:
    """For terminals: columns aligned, the first to the left; columns that do not fit follow in a block below."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    blocks = ["\n".join(_align(rows, columns, widths)) for columns in _fit_columns(widths)]
    return "\n\n".join(blocks)


def _fit_columns(widths: Sequence[int]) -> list[list[int]]:
    """Numbers of the columns of each block, the first column, the name of a row, left out."""
    blocks: list[list[int]] = [[]]
    left = TERMINAL - widths[0]
    for column in range(1, len(widths)):
        if blocks[-1] and left < widths[column] + 2:
            blocks.append([])
            left = TERMINAL - widths[0]
        blocks[-1].append(column)
        left -= widths[column] + 2
    return blocks


def _align(rows: Sequence[Sequence[str]], columns: Sequence[int], widths: Sequence[int]) -> list[str]:
    return [
        "  ".join([row[0].ljust(widths[0]), *(row[column].rjust(widths[column]) for column in columns)]).rstrip()
        for row in rows
    ]


def format_markdown(rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    head, *body = [[_format_markdown_cell(cell) for cell in row] for row in rows]
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *body]) + "\n"


def _format_markdown_cell(cell: str) -> str:
    text = cell.replace("|", "\\|")
    return f"**{text}**" if isinstance(cell, Bold) else text


def format_latex(rows: Sequence[Sequence[str]]) -> str:
    """A LaTeX ``tabular`` with rules of the booktabs package."""
    head, *body = [" & ".join(map(_format_latex_cell, row)) + r" \\" for row in rows]
    columns = "l" + "r" * (len(rows[0]) - 1)
    start = rf"\begin{{tabular}}{{{columns}}}"
    lines = [start, r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def _format_latex_cell(cell: str) -> str:
    text = "".join(LATEX_SIGNS.get(sign, sign) for sign in cell)
    return rf"\textbf{{{text}}}" if isinstance(cell, Bold) else text


def format_page(title: str, subtitle: str, sections: Iterable[tuple[str, str]]) -> str:
    """A whole page; a section is its heading (text) and its content (HTML)."""
    body = "".join(f"<section><h2>{escape(head)}</h2>\n{content}</section>\n" for head, content in sections)
    style = "\n".join(read_static(name) for name in ("report.css", "compare.css"))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)} – segvote</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<header><div><p class="over">segvote</p>\n<h1>{escape(title)}</h1>\n'
        f"<p>{escape(subtitle)}</p></div></header>\n"
        f"<main>\n{body}</main>\n</body>\n</html>\n"
    )


def format_grid(
    heads: Sequence[str], rows: Iterable[Sequence[str]], best: int | None = None, words: bool = False
) -> str:
    """A table; cells are HTML, the first of each row is its name. `best` is the number of a row to set off.

    With `words` the cells are sentences instead of figures.
    """
    head = "".join(f'<th scope="col">{cell}</th>' for cell in heads)
    lines = []
    for number, (name, *cells) in enumerate(rows):
        mark = ' class="best"' if number == best else ""
        values = "".join(f"<td>{cell}</td>" for cell in cells)
        lines.append(f'<tr{mark}><th scope="row">{name}</th>{values}</tr>\n')
    kind = "grid words" if words else "grid"
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{head}</tr></thead><tbody>\n{"".join(lines)}'
        "</tbody></table></div>\n"
    )


def format_rows(rows: Sequence[Sequence[str]], best: int | None = None, words: bool = False) -> str:
    """The same of a table of text, the first row its head."""
    heads, *body = [[f"<b>{escape(one)}</b>" if isinstance(one, Bold) else escape(one) for one in row] for row in rows]
    return format_grid(heads, body, best, words)
