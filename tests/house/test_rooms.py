"""What a function needs comes in as a parameter, and a room is small enough to be taken in at a glance."""

from pathlib import Path

import segvote

MOST_MODULES = 20


def test_no_context_variable_hands_on_what_a_parameter_should():
    files = sorted(Path(segvote.__file__).parent.rglob("*.py"))
    assert [path.name for path in files if "ContextVar" in path.read_text(encoding="utf-8")] == []


def test_no_room_has_more_modules_than_a_reader_takes_in():
    root = Path(segvote.__file__).parent
    counts = {path: len(list(path.glob("*.py"))) for path in (root, *root.rglob("*")) if path.is_dir()}
    crowded = {path.relative_to(root).as_posix(): count for path, count in counts.items() if count > MOST_MODULES}
    assert crowded == {}


def test_no_two_test_files_share_a_name():
    # Without packages around them, pytest takes the second for the first.
    names = [path.name for path in Path(__file__).parents[1].rglob("test_*.py")]
    assert sorted({name for name in names if names.count(name) > 1}) == []
