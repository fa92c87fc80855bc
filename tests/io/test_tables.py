"""The same content gives the same bytes, and values that JSON cannot hold are refused."""

import csv

import numpy as np
import pytest

from segvote.errors import BadInputError, DamagedFileError
from segvote.io.tables import format_json, read_json, write_csv, write_json


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("nan"), np.array([np.nan])])
def test_json_refuses_numbers_that_are_not_finite(value):
    with pytest.raises(BadInputError, match="finite"):
        format_json({"x": value})


def test_json_comes_back(tmp_path):
    data = {"name": "Kühe \udcff", "x": 0.1, "none": None}
    write_json(tmp_path / "a.json", data)
    assert read_json(tmp_path / "a.json") == data


@pytest.mark.parametrize("text", ["{", '{"x": NaN}', "[" * 100_000, ""])
def test_damaged_json_is_named(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DamagedFileError, match=r"a\.json"):
        read_json(tmp_path / "a.json")


def test_files_beyond_the_limit_and_missing_ones_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("segvote.io.tables.MAX_BYTES", 10)
    write_json(tmp_path / "a.json", list(range(100)))
    with pytest.raises(BadInputError, match="at most 10 bytes"):
        read_json(tmp_path / "a.json")
    with pytest.raises(BadInputError, match="cannot be read"):
        read_json(tmp_path / "b.json")


def test_a_table_is_written_with_commas_quotes_and_line_ends(tmp_path):
    rows = [{"name": 'a "b", c\nd', "x": 0.1}, {"name": "é", "x": None}]
    write_csv(tmp_path / "a.csv", rows, ["name", "x"])
    assert (tmp_path / "a.csv").read_text() == 'name,x\n"a ""b"", c\nd",0.1\né,\n'


@pytest.mark.parametrize("name", ["=1+1.png", "+a.png", "-a.png", "@a.png", "\ta.png"])
def test_no_cell_is_a_formula(tmp_path, name):
    write_csv(tmp_path / "a.csv", [{"name": name, "x": -0.5}], ["name", "x"])
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file))[1] == [f"'{name}", "-0.5"]
