"""Pages of the documentation: their links, headings and blocks of code."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
TOP = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")]
PAGES = [*TOP, *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("research/*.md"))]


class Block(NamedTuple):
    line: int
    language: str  # empty for an indented block
    code: str


def read_page(path: Path) -> str:
    """Text of a page; of a notebook, its Markdown cells."""
    if path.suffix != ".ipynb":
        return path.read_text()
    cells = json.loads(path.read_text())["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def list_blocks(text: str) -> list[Block]:
    """Blocks of code."""
    found = [token for token in MarkdownIt().parse(text) if token.type in ("fence", "code_block")]
    return [Block(token.map[0] + 1, token.info.strip(), token.content) for token in found]


def list_links(text: str) -> list[str]:
    """Targets of links and pictures."""
    children = [child for token in MarkdownIt().parse(text) for child in token.children or ()]
    return [unquote(str(child.attrGet("href") or child.attrGet("src"))) for child in children if child.attrs]


def list_anchors(text: str) -> set[str]:
    """Names that headings have as targets, as GitHub and Sphinx make them."""
    tokens = MarkdownIt().parse(text)
    headings = [text.content for head, text in itertools.pairwise(tokens) if head.type == "heading_open"]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}
