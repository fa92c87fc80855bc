"""Makes the table of docs/reliability.md from the ledger that the tests of this folder kept.

`python tests/trust/table.py LEDGER PAGE` replaces what stands between the two marks of the page.
"""

import json
import sys
from pathlib import Path

START, END = "<!-- made by `make trust` -->\n", "<!-- end -->\n"


def read_rows(ledger):
    """Row to [tried, lost, test], in the order of the text; the test is the one that tried most."""
    rows = {}
    for line in sorted(ledger.read_text(encoding="utf-8").splitlines()):
        entry = json.loads(line)
        row = rows.setdefault(entry["row"], [0, 0, "", 0])
        row[0] += entry["tried"]
        row[1] += entry["lost"]
        if entry["tried"] >= row[3]:
            row[2:] = entry["test"], entry["tried"]
    return dict(sorted(rows.items(), key=lambda item: (item[1][2], item[0])))


def format_table(rows):
    lines = ["| tried | times | survived | lost | test |", "|---|---:|---:|---:|---|"]
    for name, (tried, lost, test, _) in rows.items():
        place = test.removeprefix("tests/trust/")
        lines.append(f"| {name} | {tried:,} | {tried - lost:,} | {lost} | `{place}` |")
    total, lost = (sum(row[place] for row in rows.values()) for place in (0, 1))
    return "\n".join([*lines, f"| **all** | **{total:,}** | **{total - lost:,}** | **{lost}** | |", ""])


def fill_page(page, table):
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(START)
    page.write_text(before + START + "\n" + table + "\n" + END + rest.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    fill_page(Path(sys.argv[2]), format_table(read_rows(Path(sys.argv[1]))))
