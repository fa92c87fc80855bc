"""An explanation as one page that needs nothing else: pictures inside, no script, nothing fetched."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

from segvote.io.atomic import write_text
from segvote.io.overlays import encode_jpeg
from segvote.review.pictures import Pictures
from segvote.run.run import Run
from segvote.steps.explain import NEIGHBOUR, SegmentExplanation, VoteLine, format_amount

STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2.5rem auto; padding: 0 1.25rem; color: light-dark(#1a1c2b, #e8e9f1);
       background: light-dark(#fff, #12131c); }
h1 { font-size: 1.3rem; margin: 0; } h2 { font-size: 1rem; margin: 2.2rem 0 .7rem; }
p { margin: .2rem 0; } .quiet { color: light-dark(#5f6377, #9a9eb2); }
header { display: flex; gap: 1.2rem; align-items: center; } img { border-radius: 8px; display: block; }
table { border-collapse: collapse; margin-top: 1.4rem; font-variant-numeric: tabular-nums; }
td { padding: .15rem 0; } td + td { text-align: right; padding-left: 2.5rem; }
tr:last-child td { border-top: 1px solid light-dark(#ccd, #445); font-weight: 600; }
ul { list-style: none; padding: 0; display: grid; grid-template-columns: repeat(auto-fill, 8rem); gap: 1rem; }
li img { width: 8rem; height: 8rem; object-fit: cover; } li b { font-variant-numeric: tabular-nums; }
li span { display: block; font-size: .8rem; overflow-wrap: anywhere; }
.for b { color: light-dark(#0b7a55, #3fdca6); } .against b { color: light-dark(#b81f6b, #ff7db9); }
"""


def write_explanation(path: Path | str, explanation: SegmentExplanation, run: Run, n_pictures: int = 12) -> None:
    """Write the page; see `format_page`."""
    write_text(path, format_page(explanation, run, n_pictures))


def format_page(explanation: SegmentExplanation, run: Run, n_pictures: int = 12) -> str:
    """HTML of one explanation: the segment, the sum that makes its score, the greatest votes as pictures."""
    pictures = Pictures(run)
    record = run.bags[explanation.bag]
    result = "object" if explanation.selected else "background"
    note = " (user label)" if explanation.user_label >= 0 else ""
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'\">"
        f"<title>{escape(record.name)}, segment {explanation.segment}</title><style>{STYLE}</style>"
        f"<header>{_draw(pictures, explanation.bag, explanation.segment)}<div><h1>{escape(record.name)}</h1>"
        f"<p>segment {explanation.segment}: {result}{note}, score {explanation.score:+.4f}</p>"
        f"<p class='quiet'>object above {explanation.threshold:+.4f} in this image</p></div></header>"
        f"{_format_sum(explanation)}"
        f"{_format_side('for', 'Voted for it', explanation.list_best(1), run, pictures, n_pictures)}"
        f"{_format_side('against', 'Voted against it', explanation.list_best(-1), run, pictures, n_pictures)}"
        "</html>\n"
    )


def _format_sum(explanation: SegmentExplanation) -> str:
    rows = [
        ("votes for", sum(line.amount for line in explanation.list_best(1))),
        ("votes against", sum(line.amount for line in explanation.list_best(-1))),
        ("neighbours in the same image", explanation.sum_amounts(NEIGHBOUR)),
        ("intercept", explanation.constant),
        ("score", explanation.score),
    ]
    return "<table>" + "".join(f"<tr><td>{name}<td>{format_amount(amount)}" for name, amount in rows) + "</table>"


def _format_side(kind: str, title: str, lines: list[VoteLine], run: Run, pictures: Pictures, n_pictures: int) -> str:
    items = [
        f"<li>{_draw(pictures, line.bag, line.segment)}<b>{line.amount:+.4f}</b>"
        f"<span class='quiet'>{escape(run.bags[line.bag].name)}, {line.place}</span>"
        for line in lines[:n_pictures]
    ]
    rest = sum(line.amount for line in lines[n_pictures:])
    more = f"<p class='quiet'>{len(lines) - n_pictures} more: {rest:+.4f}</p>" if len(lines) > n_pictures else ""
    return f"<h2>{title}: {len(lines)} segments</h2><ul class='{kind}'>{''.join(items)}</ul>{more}"


def _draw(pictures: Pictures, bag: int, segment: int) -> str:
    data = base64.b64encode(encode_jpeg(pictures.draw_crop(bag, segment))).decode()
    return f"<img width='128' height='128' alt='' src='data:image/jpeg;base64,{data}'>"
