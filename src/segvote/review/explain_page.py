"""An explanation as one self-contained HTML page, without scripts."""

from __future__ import annotations

from pathlib import Path

from segvote.io.files import write_text
from segvote.report import markup
from segvote.report.markup import escape
from segvote.report.thumbnails import format_picture
from segvote.review.pictures import Pictures
from segvote.run.run import Run
from segvote.steps.explain import NEIGHBOUR, SegmentExplanation, VoteLine, format_amount

N_PICTURES = 12  # of segments that voted for or against


def write_explanation(path: Path | str, explanation: SegmentExplanation, run: Run) -> None:
    """Write the page; see `format_page`."""
    write_text(path, format_page(explanation, run))


def format_page(explanation: SegmentExplanation, run: Run) -> str:
    """HTML of one explanation: the segment, the sum that makes its score, the greatest votes as pictures."""
    pictures, name = Pictures(run), run.bags[explanation.bag].name
    result = "object" if explanation.selected else "background"
    note = " (user label)" if explanation.user_label >= 0 else ""
    crop = format_picture(pictures.draw_crop(explanation.bag, explanation.segment), name)
    sections = [("Score", f'<div class="pictures">{crop}{_format_sum(explanation)}</div>')]
    for title, lines in (("for", explanation.list_best(1)), ("against", explanation.list_best(-1))):
        sections.append((f"Voted {title} it: {len(lines)} segments", _format_side(lines, run, pictures)))
    subtitle = f"{result}{note}, score {explanation.score:+.4f}; object above {explanation.threshold:+.4f}"
    return markup.format_page(f"{name}, segment {explanation.segment}", subtitle, sections)


def _format_sum(explanation: SegmentExplanation) -> str:
    rows = [
        ("votes for", sum(line.amount for line in explanation.list_best(1))),
        ("votes against", sum(line.amount for line in explanation.list_best(-1))),
        ("neighbours in the same image", explanation.sum_amounts(NEIGHBOUR)),
        ("intercept", explanation.constant),
        ("score", explanation.score),
    ]
    return markup.format_grid(["", "amount"], [(name, format_amount(amount)) for name, amount in rows])


def _format_side(lines: list[VoteLine], run: Run, pictures: Pictures) -> str:
    items = [
        f"<figure>{format_picture(pictures.draw_crop(line.bag, line.segment), run.bags[line.bag].name)}<figcaption>"
        f"<b>{line.amount:+.4f}</b><br>{escape(run.bags[line.bag].name)}, {line.place}</figcaption></figure>"
        for line in lines[:N_PICTURES]
    ]
    rest = sum(line.amount for line in lines[N_PICTURES:])
    more = f"<p>{len(lines) - N_PICTURES} more: {rest:+.4f}</p>" if len(lines) > N_PICTURES else ""
    return f'<div class="pictures">{"".join(items)}</div>{more}\n'
