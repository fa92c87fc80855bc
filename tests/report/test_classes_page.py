"""The page of a run on several classes."""

from urllib.parse import unquote

import pytest
from typer.testing import CliRunner

from segvote.cli.annotate import choose_folders
from segvote.cli.app import load_commands
from segvote.datasets import make_scenes, write_scenes
from segvote.errors import BadInputError


def make_root(folder):
    write_scenes(folder, make_scenes(n_with=3, n_without=3, size=(120, 90), object_area=(0.08, 0.16)))
    root = folder / "root"
    root.mkdir()
    (folder / "with").rename(root / "<b>&things #1")
    (folder / "without").rename(root / "none")
    return root


def test_the_page_links_the_report_of_each_class(tmp_path):
    root, out = make_root(tmp_path), tmp_path / "out"
    options = ["--features", "color", "--n-segments", "30", "--size", "120", "--jobs", "1"]
    done = CliRunner().invoke(load_commands(), ["annotate", "--classes", str(root), "-o", str(out), *options])
    assert done.exit_code == 0, done.output
    assert str(out / "report.html") in done.stdout
    page = (out / "report.html").read_text()
    address = page.split('<a href="')[1].split('"')[0]
    assert (out / unquote(address)).is_file()
    assert "<b>&things" not in page
    assert page.count("data:image/jpeg") == 3
    assert "http:" not in page
    assert "https:" not in page


def test_the_command_wants_two_folders_or_classes(tmp_path):
    for folders in ([None, None, None], [tmp_path, None, None], [tmp_path, tmp_path, tmp_path]):
        with pytest.raises(BadInputError, match="expected two folders"):
            choose_folders(*folders, "out")
