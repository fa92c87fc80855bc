"""An explanation of a score as one self-contained HTML page, without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from segvote.io.files import write_text
from segvote.io.images import resize_image
from segvote.pipeline.explain import NEIGHBOUR, SegmentExplanation, VoteLine, format_amount
from segvote.report.crops import CROP_SOURCE_SIZE, draw_crop
from segvote.report.markup import render
from segvote.report.thumbnails import Picture, make_picture
from segvote.run.run import Run

N_PICTURES = 12  # of segments that voted for or against


def write_explanation(path: Path | str, explanation: SegmentExplanation, run: Run) -> None:
    """Write the page; see `format_page`."""
    write_text(path, format_page(explanation, run))


def format_page(explanation: SegmentExplanation, run: Run) -> str:
    """HTML of one explanation: the segment, the sum that makes its score, the greatest votes as pictures."""
    result = "object" if explanation.selected else "background"
    note = " (user label)" if explanation.user_label >= 0 else ""
    return render(
        "explanation.html.j2",
        title=f"{run.bags[explanation.bag].name}, segment {explanation.segment}",
        subtitle=f"{result}{note}, score {explanation.score:+.4f}; object above {explanation.threshold:+.4f}",
        crop=_draw_crop(run, explanation.bag, explanation.segment),
        amounts=_list_amounts(explanation),
        sides=[
            _describe_side(run, *side)
            for side in (("for", explanation.list_best(1)), ("against", explanation.list_best(-1)))
        ],
    )


def _list_amounts(explanation: SegmentExplanation) -> list[tuple[str, str]]:
    amounts = {
        "votes for": sum(line.amount for line in explanation.list_best(1)),
        "votes against": sum(line.amount for line in explanation.list_best(-1)),
        "neighbours in the same image": explanation.sum_amounts(NEIGHBOUR),
        "intercept": explanation.constant,
        "score": explanation.score,
    }
    return [("", "amount"), *((name, format_amount(amount)) for name, amount in amounts.items())]


def _draw_crop(run: Run, bag: int, segment: int) -> Picture:
    image = resize_image(run.read_image(bag), CROP_SOURCE_SIZE)
    return make_picture(draw_crop(run, bag, segment, image), run.bags[bag].name)


def _describe_side(run: Run, direction: str, lines: list[VoteLine]) -> dict[str, Any]:
    shown, left = lines[:N_PICTURES], lines[N_PICTURES:]
    return {
        "direction": direction,
        "n_lines": len(lines),
        "votes": [(line, run.bags[line.bag].name, _draw_crop(run, line.bag, line.segment)) for line in shown],
        "n_left": len(left),
        "rest": sum(line.amount for line in left),
    }
