"""Tests are skipped on a system by what their text needs, and on Linux none is."""

import importlib.util
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "conftest.py"
SPEC = importlib.util.spec_from_file_location("shared_conftest", PATH)
shared = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(shared)


def use_a_link(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path)


def read_status():
    return Path("/proc/self/status").read_text()


def use_nothing():
    return 1


@pytest.mark.parametrize(
    ("function", "expected"),
    [(use_a_link, {"win32"}), (read_status, {"win32", "darwin"}), (use_nothing, set())],
)
def test_a_test_is_skipped_where_its_system_lacks_something(function, expected):
    assert {one for one in ("win32", "darwin", "linux") if shared.needs_missing(function, one)} == expected


def test_ignored_files_exist():
    assert shared.collect_ignore == [] or sys.platform != "linux"
    names = ["trust", "trust/test_attacks.py", "trust/test_odd_names.py", "trust/test_server.py"]
    assert all((PATH.parent / name).exists() for name in names)
