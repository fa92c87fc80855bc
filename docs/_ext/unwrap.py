"""Put every paragraph and list item of the Markdown pages on one line: an editor wraps it, a change shows as one line.

python docs/_ext/unwrap.py
"""

from __future__ import annotations

from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "research").glob("*.md")]
KEPT = (":::", "$$", "<!--", "{")  # directives, formulas and comments, which look like paragraphs
PARSER = MarkdownIt("commonmark").enable("table")


def is_kept(lines: list[str]) -> bool:
    """Whether the line ends of a paragraph mean something."""
    return any(line.strip().startswith(KEPT) or "$$" in line or line.endswith(("  ", "\\")) for line in lines)


def unwrap(text: str) -> str:
    """The text of a page with one line for each paragraph."""
    lines = text.split("\n")
    for token in reversed([token for token in PARSER.parse(text) if token.type == "paragraph_open"]):
        start, end = token.map
        if end - start > 1 and not is_kept(lines[start:end]):
            lines[start:end] = [" ".join([lines[start].rstrip(), *(line.strip() for line in lines[start + 1 : end])])]
    return "\n".join(lines)


def main() -> None:
    for path in PAGES:
        if path.name != "licences.md":  # written by tests/trust/supply.py
            path.write_text(unwrap(path.read_text()))


if __name__ == "__main__":
    main()
