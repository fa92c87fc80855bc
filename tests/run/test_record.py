"""Schemas of run.json: what they accept, what they refuse, and what a run writes."""

import contextlib

import numpy as np
import pytest
from msgspec import to_builtins

from segvote.errors import DamagedFileError, SegvoteError
from segvote.io.tables import convert_record
from segvote.run.record import Inputs, RunRecord, describe_search, make_record
from segvote.run.run_folder import RunFolder
from segvote.settings import Settings, read_settings

FIRST = ("bags", 0)


def read(record):
    return convert_record(record, RunRecord, "run.json")


def change(record, *place_and_value):
    """A copy of a record with another value at a place."""
    key, *rest = place_and_value
    if not rest:
        return key
    items = dict(record) if isinstance(record, dict) else list(record)
    items[key] = change(items[key] if len(rest) > 1 else None, *rest)
    return items


@pytest.mark.parametrize(
    ("recall", "expected"),
    [
        (1.0, {"neighbours": "exact", "recall": 1.0}),
        (0.96789, {"neighbours": "approximate", "recall": 0.9679}),
        (None, {}),
    ],
)
def test_the_search_is_recorded(recall, expected):
    assert describe_search(recall) == expected
    written = to_builtins(make_record(Inputs("/a", "/b"), Settings(), "", True, search=expected))
    assert written.get("search", {}) == expected and written["inputs"] == {"with": "/a", "without": "/b"}


def test_a_finished_run_fits_its_schema(finished_run):
    found = read(to_builtins(finished_run.record))
    assert found.bags == finished_run.bags and found.complete
    assert found.search == {"neighbours": "exact", "recall": 1.0}


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        (("complete",), "yes", "expected `bool`, got `str` at `.complete`"),
        (("problems",), [{"name": "a"}], "missing required field `reason` at `.problems"),
        (("inputs",), {"with": "a"}, "missing required field `without` at `.inputs`"),
        ((*FIRST, "height"), 0, "expected `int` >= 1 at `.bags.*height`"),
        ((*FIRST, "score"), float("inf"), "expected `float` <= "),
        ((*FIRST, "digest"), "../x", "matching regex"),
        ((*FIRST, "bag_label"), "maybe", r"matching regex .* at `.bags.0..bag_label"),
        ((*FIRST, "name"), "with/../../x", "not a path below a folder"),
        ((*FIRST, "name"), "else/x", "not the name of a bag"),
    ],
)
def test_what_does_not_fit_is_named(finished_run, place, value, reason):
    with pytest.raises(DamagedFileError, match=rf"^run\.json: .*{reason}.*; restore the file"):
        read(change(to_builtins(finished_run.record), *place, value))


def test_settings_come_back_from_a_record():
    settings = Settings(border_prior=0.5, exclude_mislabelled=False, smoothing=0.1, extent=3)
    assert read_settings(settings.to_dict(), "run.json") == settings


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({"shape": 3}, "unknown field `shape`"),
        ({"fps": float("inf")}, "fps"),
        ({"window": "s3://nowhere/x"}, "unknown window"),
        ([], "expected `object`, got `array`"),
    ],
)
def test_settings_that_do_not_fit_are_named(data, reason):
    with pytest.raises(DamagedFileError, match=reason):
        read_settings(data, "run.json")


def test_no_flipped_bit_of_a_record_is_another_record(run_copy):
    path = run_copy / "run.json"
    content, known = path.read_bytes(), RunFolder(run_copy).read_record()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(content), 300):
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(0, 8))
        path.write_bytes(flipped)
        with contextlib.suppress(SegvoteError):
            assert RunFolder(run_copy).read_record() == known, (place, flipped[place - 20 : place + 20])
