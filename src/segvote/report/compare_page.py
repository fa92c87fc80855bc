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
from segvote.report.compare_markup import format_page, format_rows
from segvote.report.compare_tables import (
    format_latex,
    format_markdown,
    list_comparison_rows,
    list_failure_rows,
    name_methods,
)
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


def draw_precision(comparison: Comparison) -> str:
    """Precision over recall of the pixels, of the methods with the highest average precision."""
    names = name_methods([result.combination for result in comparison.results])
    best = sorted(comparison.good, key=lambda one: -one.pixel_ap)[:N_CURVES]
    lines = [
        Line(f"{names[one.combination]} {one.pixel_ap:.2f}", one.curve.recall, one.curve.precision) for one in best
    ]
    return draw_lines(lines, "Precision over recall, pixels of all images", "recall", "precision")


def draw_stress(curves: Sequence[StressCurve]) -> str:
    """CorLoc under one kind of stress, a curve per voter in the order given: one colour for it in all figures."""
    kind, levels = curves[0].kind, curves[0].levels
    names = [kind.format_level(level) for level in levels]
    title = f"CorLoc under {kind.title}"
    lines = [_make_stress_line(one) for one in curves]
    return draw_lines(lines, title, kind.title, "CorLoc", range(len(levels)), names, marks=True)


def _make_stress_line(curve: StressCurve) -> Line:
    known = {place: point.corloc for place, point in enumerate(curve.points) if point.corloc is not None}
    return Line(curve.voter, list(known), list(known.values()))


def _group_by_kind(stress: Sequence[StressCurve]) -> list[list[StressCurve]]:
    names = dict.fromkeys(one.kind.name for one in stress)
    return [[one for one in stress if one.kind.name == name] for name in names]
