"""The page of a run on several classes."""

import json
import subprocess
import sys
from urllib.parse import unquote

import pytest

import segvote
from segvote import Settings
from segvote.cli.annotate import choose_folders
from segvote.datasets import write_scenes
from segvote.errors import BadInputError

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})


def make_root(folder):
    write_scenes(folder, n_with=3, n_without=3, size=(120, 90), object_area=(0.08, 0.16))
    root = folder / "root"
    root.mkdir()
    (folder / "with").rename(root / "<b>&things #1")
    (folder / "without").rename(root / "none")
    return root


def test_the_page_links_the_report_of_each_class(tmp_path):
    runs = segvote.annotate_classes(make_root(tmp_path), tmp_path / "out", QUICK, n_jobs=1)
    page = runs.folder.report_path.read_text()
    address = page.split('<a href="')[1].split('"')[0]
    assert (runs.folder.path / unquote(address)).is_file()
    assert "<b>&things" not in page
    assert page.count("data:image/jpeg") == 3
    assert "http:" not in page
    assert "https:" not in page


def test_the_command_says_where_everything_lies(tmp_path):
    root = make_root(tmp_path)
    command = [sys.executable, "-m", "segvote", "annotate", "--classes", root, "-o", tmp_path / "out"]
    quick = ["--features", "color", "--n-segments", "30", "--size", "120", "--jobs", "1"]
    done = subprocess.run([*map(str, command), *quick], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "out/report.html") in done.stdout
    record = json.loads((tmp_path / "out/classes.json").read_text())
    assert record["complete"] is True


def test_the_command_wants_two_folders_or_classes(tmp_path):
    for folders in ([None, None, None], [tmp_path, None, None], [tmp_path, tmp_path, tmp_path]):
        with pytest.raises(BadInputError, match="expected two folders"):
            choose_folders(*folders)
