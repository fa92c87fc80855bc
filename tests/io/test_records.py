from dataclasses import dataclass, field

import pytest

from segvote.errors import DamagedFileError
from segvote.io.records import read_fields


@dataclass(frozen=True)
class Example:
    name: "str"
    count: "int"
    share: "float" = 0.5
    options: "dict[str, object]" = field(default_factory=dict)


def test_what_fits_is_taken():
    assert read_fields(Example, {"name": "a", "count": 3, "share": 1}, "x") == Example("a", 3, 1)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {"name": "a"},
        {"name": "a", "count": 1, "more": 2},
        {"name": 1, "count": 1},
        {"name": "a", "count": True},
        {"name": "a", "count": 1.0},
        {"name": "a", "count": 2**70},
        {"name": "a", "count": 1, "share": float("nan")},
        {"name": "a", "count": 1, "options": []},
    ],
)
def test_what_does_not_fit_is_refused_with_its_origin(data):
    with pytest.raises(DamagedFileError, match=r"run\.json"):
        read_fields(Example, data, "run.json")
