import json
import sys

import pytest

from segvote.errors import DamagedFileError, MissingPartError, UnknownNameError
from segvote.io.shards import SHARDS, check_shards, read_shard, write_shard

ROWS = [
    {"name": 'a "1".png', "score": 0.25, "contains": True, "problem": "", "objects": [[{"area": 3}]], "record": None},
    {"name": "[b.png", "score": 0.0, "contains": False, "problem": "no", "objects": [], "record": {"area": 0.5}},
]


@pytest.mark.parametrize("name", SHARDS)
def test_rows_come_back_as_they_were(tmp_path, name):
    if name == "parquet":
        pytest.importorskip("pyarrow")
    path = tmp_path / f"part.{name}"
    write_shard(path, ROWS)
    first = path.read_bytes()
    assert read_shard(path) == ROWS
    write_shard(path, read_shard(path))
    assert path.read_bytes() == first


def test_each_line_is_a_record_of_json(tmp_path):
    write_shard(tmp_path / "part.jsonl", ROWS)
    assert [json.loads(line) for line in (tmp_path / "part.jsonl").read_text().splitlines()] == ROWS


@pytest.mark.parametrize("data", [b"{", b"\xff", b""])
def test_a_damaged_shard_is_named(tmp_path, data):
    (tmp_path / "part.jsonl").write_bytes(data or b"nan\n")
    with pytest.raises(DamagedFileError, match=r"part\.jsonl cannot be read"):
        read_shard(tmp_path / "part.jsonl")


def test_parquet_without_pyarrow_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingPartError, match=r"segvote\[parquet\]"):
        check_shards("parquet")
    with pytest.raises(UnknownNameError, match="jsonl, parquet"):
        check_shards("csv")
