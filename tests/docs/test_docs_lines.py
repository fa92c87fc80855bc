"""The script that puts paragraphs on one line changes no page as it is shown."""

import re
import sys

from markdown_it import MarkdownIt
from markdown_pages import DOCS, PAGES

sys.path.insert(0, str(DOCS / "_ext"))
from unwrap import unwrap


def render(text):
    return re.sub(r"\s+", " ", MarkdownIt("commonmark").enable("table").render(text))


def test_unwrapped_pages_are_shown_as_before():
    assert unwrap("a\nb\n\n- c\n  d\n\n```\ne\nf\n```\n") == "a b\n\n- c d\n\n```\ne\nf\n```\n"
    assert [page.name for page in PAGES if render(page.read_text()) != render(unwrap(page.read_text()))] == []
