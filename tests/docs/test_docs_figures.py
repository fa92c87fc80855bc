"""Every table of measured figures says when it was measured, and with which command."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(path for path in (ROOT / "docs").glob("*.md")) + [ROOT / "README.md"]
# A figure and its unit: "12.3 (.10 .. .20)", "3 of 50", ".2 s of one core"; more words are text.
MAX_LETTERS = 10
DATE = re.compile(r"20\d\d-\d\d-\d\d")
COMMAND = re.compile(r"(`|^ *)(python |make |segvote )[^`\n]+", re.MULTILINE)


def split_sections(text):
    """Sections with what stands before them under the headings around them, where a date may stand for all."""
    sections, around = [], {}
    for part in re.split(r"^(?=#+ )", text, flags=re.MULTILINE):
        level = len(part) - len(part.lstrip("#"))
        around = {known: found for known, found in around.items() if known < level}
        sections.append((part, "\n".join([*around.values(), part])))
        around[level] = part
    return sections


def list_tables(section):
    found = re.findall(r"(?:^ *\|.*\|[ \t]*\n)+", section + "\n", flags=re.MULTILINE)
    return [[row.strip().strip("|").split("|") for row in table.strip().splitlines()] for table in found]


def is_figure(cell):
    return any(sign.isdigit() for sign in cell) and "`" not in cell and sum(map(str.isalpha, cell)) <= MAX_LETTERS


def holds_figures(table):
    """Whether most cells beside the first column are figures."""
    cells = [cell.strip() for row in table[2:] for cell in row[1:] if cell.strip()]
    return bool(cells) and sum(map(is_figure, cells)) > len(cells) / 2


def list_undated(text):
    undated = []
    for part, context in split_sections(text):
        for table in list_tables(part):
            if holds_figures(table) and not (DATE.search(context) and COMMAND.search(context)):
                undated.append(" | ".join(cell.strip() for cell in table[0]))
    return undated


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_table_of_figures_has_a_date_and_a_command(page):
    assert list_undated(page.read_text(encoding="utf-8")) == []


def test_a_table_without_a_date_is_noticed():
    table = "| set | CorLoc |\n|---|---|\n| cows | .98 |\n"
    assert list_undated(f"# How well\n\n{table}") == ["set | CorLoc"]
    assert list_undated(f"# How well\n\n`make suite`, 2026-11-16:\n\n{table}") == []
    assert list_undated(f"# How well\n\n`make suite`, 2026-11-16.\n\n## Cows\n\n{table}") == []
    assert list_undated("# Files\n\n| file | what |\n|---|---|\n| `masks/` | 0 is background |\n") == []
