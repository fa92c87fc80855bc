"""Words that help texts, comments and pages do without: a sentence names its subject."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORDS = re.compile(r"\b(whoever|nobody|somebody|anybody|someone|anyone|for ever)\b", re.IGNORECASE)
FILES = [
    *ROOT.glob("*.md"),
    *(ROOT / "docs").glob("*.md"),
    *(ROOT / "docs" / "research").glob("*.md"),
    *(path for kind in ("py", "html", "js") for path in (ROOT / "src").rglob(f"*.{kind}")),
]


def test_sentences_name_their_subject():
    found = [(path.relative_to(ROOT).as_posix(), word) for path in FILES for word in WORDS.findall(path.read_text())]
    assert len(FILES) > 200
    assert found == []
