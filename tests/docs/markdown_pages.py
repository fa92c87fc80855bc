"""What the tests of the documentation read: pages, their links, headings and blocks of code."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("research/*.md"))]
FENCE = re.compile(
    r"^(?P<indent> *)(?P<fence>```+|~~~+)(?P<language>[^\n]*)\n(?P<code>.*?)^(?P=indent)(?P=fence) *$", re.M | re.S
)
INDENTED = re.compile(r"(?:^\n|\A)((?:^    .*\n(?:\n(?=    ))?)+)", re.M)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+(?:\([^()]*\))?)\)")


@dataclass(frozen=True)
class Block:
    """A block of code: where it begins, its language, its text without the indentation."""

    line: int
    language: str
    code: str


def read_page(path: Path) -> str:
    """Text of a page; of a notebook, its Markdown cells."""
    if path.suffix != ".ipynb":
        return path.read_text()
    cells = json.loads(path.read_text())["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")


def list_blocks(text: str) -> list[Block]:
    """Fenced blocks, and indented ones with the language ``""``."""
    blocks = [_make_block(text, found.start(), found["language"], found["code"]) for found in FENCE.finditer(text)]
    # Indented code only outside fences, which are blanked without moving any line.
    rest = FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)
    blocks += [_make_block(rest, found.start(1), "", found[1]) for found in INDENTED.finditer(rest)]
    return sorted(blocks, key=lambda block: block.line)


def _make_block(text: str, start: int, language: str, code: str) -> Block:
    margin = min((len(line) - len(line.lstrip()) for line in code.splitlines() if line.strip()), default=0)
    lines = [line[margin:] for line in code.splitlines()]
    return Block(text.count("\n", 0, start) + 1, language.strip(), "\n".join(lines))


def list_links(text: str) -> list[str]:
    """Targets of links and pictures outside code."""
    without_code = re.sub(r"(`+)(?!`).*?\1", "", FENCE.sub("", text), flags=re.S)
    return LINK.findall(without_code) + LINK.findall(
        "\n".join(re.findall(r"\[`[^\n]*?\]\([^)\s]+\)", FENCE.sub("", text)))
    )


def list_anchors(text: str) -> set[str]:
    """Names that headings have as targets, as GitHub and Sphinx make them."""
    headings = re.findall(r"^#{1,6} +(.+?) *#*$", FENCE.sub("", text), re.M)
    return {make_slug(heading) for heading in headings}


def make_slug(heading: str) -> str:
    words = re.sub(r"[^\w\- ]", "", heading.lower())
    return words.strip().replace(" ", "-")
