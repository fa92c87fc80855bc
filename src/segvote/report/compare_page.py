"""One page about a comparison: table, failures, curves, heat maps side by side, robustness, LaTeX to copy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from segvote.evaluation.compare_results import Comparison
from segvote.evaluation.compare_rules import RULES
from segvote.evaluation.stress import StressCurve
from segvote.io.atomic import write_text
from segvote.io.tables import write_csv, write_json
from segvote.report.compare_curves import Line, draw_lines
from segvote.report.compare_gallery import format_gallery
from segvote.report.compare_markup import format_grid, format_page
from segvote.report.compare_tables import (
    Bold,
    format_latex,
    format_markdown,
    list_comparison_rows,
    list_failure_rows,
    name_methods,
)
from segvote.report.markup import escape

__all__ = ["draw_precision", "draw_stress", "format_comparison_page", "write_comparison"]

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


def write_comparison(comparison: Comparison, stress: Sequence[StressCurve] = (), title: str = "Comparison") -> Path:
    """Write ``comparison.html``, which is returned, ``.md``, ``.tex``, ``.csv`` and ``.json`` into its folder."""
    folder, rows = comparison.folder, list_comparison_rows(comparison)
    write_text(folder / "comparison.md", format_markdown(rows))
    write_text(folder / "comparison.tex", format_latex(rows))
    table = list(list_figures(comparison))
    write_csv(folder / "comparison.csv", table, list(table[0]) if table else [])
    write_json(folder / "comparison.json", table)
    write_text(folder / "comparison.html", format_comparison_page(comparison, stress, title))
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


def format_comparison_page(comparison: Comparison, stress: Sequence[StressCurve], title: str) -> str:
    """The page as text, self-contained and without scripts."""
    rows = list_comparison_rows(comparison)
    sections = [("Methods, the best first", _format_rows(rows) + EXPLANATION)]
    if comparison.failed:
        sections.append(("Without a result", _format_rows(list_failure_rows(comparison), words=True)))
    notes = [(one.combination.voter, note) for one in comparison.good for note in one.notes]
    if notes:
        items = "".join(f"<li><b>{escape(voter)}</b>: {escape(note)}</li>" for voter, note in notes)
        sections.append(("What voters warned of", f"<ul>{items}</ul>"))
    if comparison.good:
        curves = f'<div class="curves"><figure>{draw_precision(comparison)}</figure></div>'
        sections.append(("Precision over recall", curves))
        sections.append(("Heat maps side by side", format_gallery(comparison)))
    if stress:
        figures = "".join(f"<figure>{draw_stress(curves)}</figure>" for curves in _group_by_kind(stress))
        sections.append(("Robustness", f'<div class="curves">{figures}</div>'))
    # Line by line: `escape` takes the end of a line for a control character.
    latex = "\n".join(map(escape, format_latex(rows).splitlines()))
    sections.append(("LaTeX", f"<pre>{latex}</pre>"))
    n_images = len(comparison.good[0].names) if comparison.good else 0
    methods = f"{len(comparison.results)} methods on {n_images} images with truth"
    subtitle = f"{methods}; found above {comparison.threshold:g}"
    return format_page(title, subtitle, sections)


def _format_rows(rows: Sequence[Sequence[str]], words: bool = False) -> str:
    cells = [[f"<b>{escape(c)}</b>" if isinstance(c, Bold) else escape(c) for c in row] for row in rows]
    return format_grid(cells[0], cells[1:], best=None if words else 0, words=words)


def draw_precision(comparison: Comparison, n_curves: int = N_CURVES) -> str:
    """Precision over recall of the pixels, of the methods with the highest average precision."""
    names = name_methods([result.combination for result in comparison.results])
    best = sorted(comparison.good, key=lambda one: -one.pixel_ap)[:n_curves]
    lines = [
        Line(f"{names[one.combination]} {one.pixel_ap:.2f}", one.curve.recall, one.curve.precision) for one in best
    ]
    return draw_lines(lines, "Precision over recall, pixels of all images", "recall", "precision")


def draw_stress(curves: Sequence[StressCurve], measure: str = "corloc") -> str:
    """Curves of one kind of stress, one per voter, in the order given: a voter has one colour in all figures.

    Parameters
    ----------
    curves
        Of one kind.
    measure
        ``"corloc"`` or ``"ap"``.
    """
    kind = curves[0].kind
    lines = [_make_stress_line(one, measure) for one in curves]
    levels = curves[0].levels
    title = "CorLoc" if measure == "corloc" else "segment AP"
    names = [kind.format_level(level) for level in levels]
    return draw_lines(lines, f"{title} under {kind.title}", kind.title, title, range(len(levels)), names, marks=True)


def _make_stress_line(curve: StressCurve, measure: str) -> Line:
    values = [getattr(point, measure) for point in curve.points]
    known = [place for place, value in enumerate(values) if value is not None]
    return Line(curve.voter, known, [values[place] for place in known])


def _group_by_kind(stress: Sequence[StressCurve]) -> list[list[StressCurve]]:
    names = dict.fromkeys(one.kind.name for one in stress)
    return [[one for one in stress if one.kind.name == name] for name in names]
