"""Links: each goes to a page that exists, and to a heading on it that exists."""

import re

from markdown_pages import DOCS, PAGES, list_anchors, list_blocks, list_links, read_page

TUTORIAL = DOCS / "tutorial.ipynb"
MADE_BY_BUILD = re.compile(r"^(\.\./)?auto_(examples|gallery)/")
ALL_PAGES = [*PAGES, TUTORIAL]


def list_listed_pages():
    """Names in the tables of contents of the index."""
    trees = [block.code for block in list_blocks((DOCS / "index.md").read_text()) if block.language == "{toctree}"]
    lines = [line.strip() for tree in trees for line in tree.splitlines()]
    return [line for line in lines if line and not line.startswith(":")]


def list_broken_links(page):
    broken = []
    for link in list_links(read_page(page)):
        target, _, anchor = link.partition("#")
        if re.match(r"[a-z]+:", target) or MADE_BY_BUILD.match(target):
            continue
        path = page.parent / target if target else page
        anchored = path.suffix in (".md", ".ipynb") and anchor
        if not path.exists() or (anchored and anchor not in list_anchors(read_page(path))):
            broken.append(f"{page.name}: {link}")
    return broken


def test_internal_links_go_to_pages_and_headings_that_exist():
    assert [link for page in ALL_PAGES for link in list_broken_links(page)] == []


def test_every_page_is_listed_once():
    paths = [*(page for page in PAGES if page.is_relative_to(DOCS)), TUTORIAL]
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in paths} - {"index"}
    listed = [name for name in list_listed_pages() if not MADE_BY_BUILD.match(name)]
    assert sorted(listed) == sorted(pages)
