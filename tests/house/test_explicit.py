"""What a function needs comes in as a parameter: nothing is handed on behind its back."""

from pathlib import Path

import segvote


def test_no_context_variable_hands_on_what_a_parameter_should():
    files = sorted(Path(segvote.__file__).parent.rglob("*.py"))
    assert [path.name for path in files if "ContextVar" in path.read_text(encoding="utf-8")] == []
