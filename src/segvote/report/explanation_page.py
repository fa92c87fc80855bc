"""An explanation of a score as one self-contained HTML page, without scripts."""

from __future__ import annotations

from pathlib import Path

from segvote.io.files import write_text
from segvote.io.images import resize_image
from segvote.pipeline.explain import NEIGHBOUR, SegmentExplanation, VoteLine, format_amount
from segvote.report import markup
from segvote.report.crops import CROP_SOURCE_SIZE, draw_crop
from segvote.report.markup import escape
from segvote.report.thumbnails import format_picture
from segvote.run.run import Run

N_PICTURES = 12  # of segments that voted for or against


def write_explanation(path: Path | str, explanation: SegmentExplanation, run: Run) -> None:
    """Write the page; see `format_page`."""
    write_text(path, format_page(explanation, run))


def format_page(explanation: SegmentExplanation, run: Run) -> str:
    """HTML of one explanation: the segment, the sum that makes its score, the greatest votes as pictures."""
    name = run.bags[explanation.bag].name
    result = "object" if explanation.selected else "background"
    note = " (user label)" if explanation.user_label >= 0 else ""
    crop = _format_crop(run, explanation.bag, explanation.segment)
    sections = [("Score", f'<div class="pictures">{crop}{_format_sum(explanation)}</div>')]
    for title, lines in (("for", explanation.list_best(1)), ("against", explanation.list_best(-1))):
        sections.append((f"Voted {title} it: {len(lines)} segments", _format_side(lines, run)))
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


def _format_crop(run: Run, bag: int, segment: int) -> str:
    image = resize_image(run.read_image(bag), CROP_SOURCE_SIZE)
    return format_picture(draw_crop(run, bag, segment, image), run.bags[bag].name)


def _format_side(lines: list[VoteLine], run: Run) -> str:
    items = [
        f"<figure>{_format_crop(run, line.bag, line.segment)}<figcaption>"
        f"<b>{line.amount:+.4f}</b><br>{escape(run.bags[line.bag].name)}, {line.place}</figcaption></figure>"
        for line in lines[:N_PICTURES]
    ]
    rest = sum(line.amount for line in lines[N_PICTURES:])
    more = f"<p>{len(lines) - N_PICTURES} more: {rest:+.4f}</p>" if len(lines) > N_PICTURES else ""
    return f'<div class="pictures">{"".join(items)}</div>{more}\n'
