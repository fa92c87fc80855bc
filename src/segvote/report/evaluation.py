"""One page about how good a run is: the figures with their intervals and limits, the curve, a row per image."""

from __future__ import annotations

from pathlib import Path

from segvote.evaluation.evaluate import Evaluation
from segvote.io.files import write_text
from segvote.metrics import InstanceCounts
from segvote.report.experiment_tables import format_grid, format_page
from segvote.report.figures import Line, draw_lines
from segvote.report.markup import escape


def write_evaluation_page(evaluation: Evaluation, path: Path | str, title: str) -> None:
    """Write the page, self-contained, without scripts."""
    write_text(path, format_evaluation_page(evaluation, title))


def format_evaluation_page(evaluation: Evaluation, title: str) -> str:
    """The page as text; `title` is what was evaluated."""
    curve = evaluation.ranking.curve
    figure = draw_lines(
        [Line("pixels of all images", curve.recall, curve.precision)], "Precision over recall", "recall", "precision"
    )
    return format_page(
        f"Evaluation of {title}",
        f"{evaluation.n_images} images with truth; found means an overlap above {evaluation.threshold:g} "
        f"({evaluation.criterion} criterion)",
        [
            ("Figures", _format_figures(evaluation)),
            *_list_extents(evaluation),
            ("Precision over recall", figure),
            ("Images, the worst first", _format_images(evaluation)),
        ],
    )


def _format_figures(evaluation: Evaluation) -> str:
    figures = evaluation.to_dict()
    rows = [
        ["CorLoc", f"{figures['corloc']:.3f}", _span(figures, "corloc"), f"{figures['limit_corloc']:.3f}"],
        ["Mean IoU", f"{figures['miou']:.3f}", _span(figures, "miou"), f"{figures['limit_miou']:.3f}"],
        ["Segment AP", f"{figures['segment_ap']:.3f}", "", ""],
        ["Pixel AP", f"{figures['pixel_ap']:.3f}", "", ""],
        ["Boundary F", _format_figure(figures["boundary_f"]), "", ""],
        *(
            [f"{name} within 2 pixels", _format_figure(figures[key]), "", ""]
            for name, key in (("Precision", "pixel_precision"), ("Recall", "pixel_recall"), ("F", "pixel_f"))
        ),
        *_list_instance_rows(evaluation.instances),
    ]
    note = (
        "<p>The limit is what these segments would reach if every one were labelled by the truth: a low result under a "
        "high limit is the voter's fault, a low limit the segmenter's.</p>"
    )
    return format_grid(["", "result", "95 % interval", "limit of the segments"], rows) + note


def _list_extents(evaluation: Evaluation) -> list[tuple[str, str]]:
    """A table of all extents; nothing for runs with videos."""
    rows = [
        [f"{one.level}{' (chosen)' if one.chosen else ''}", f"{one.corloc:.3f}", f"{one.miou:.3f}"]
        for one in evaluation.extents
    ]
    table = format_grid(["extent", "CorLoc", "mean IoU"], rows)
    return [("Extents, by whole segments", table)] if rows else []


def _list_instance_rows(counts: InstanceCounts | None) -> list[list[str]]:
    if counts is None:
        return []
    return [
        [f"Instances found of {counts.n_true}", _format_figure(counts.recall), "", ""],
        [f"Right of {counts.n_marked} marked instances", _format_figure(counts.precision), "", ""],
    ]


def _format_figure(figure: float | None) -> str:
    return "–" if figure is None else f"{figure:.3f}"


def _span(figures: dict, name: str) -> str:
    return f"{figures[name + '_low']:.3f} – {figures[name + '_high']:.3f}"


def _format_images(evaluation: Evaluation) -> str:
    rows = [
        [
            escape(image.name),
            f"{image.iou:.3f}",
            f"{image.limit:.3f}",
            _format_figure(image.boundary_f),
            _format_figure(None if image.pixels is None else image.pixels.f),
            "yes" if image.iou > evaluation.threshold else "no",
            "–" if image.instances is None else f"{image.instances.n_matched} of {image.instances.n_true}",
        ]
        for image in sorted(evaluation.images, key=lambda image: (image.iou, image.name))
    ]
    return format_grid(["image", "IoU", "limit", "boundary F", "F, 2 px", "found", "instances"], rows)
