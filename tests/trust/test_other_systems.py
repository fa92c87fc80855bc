"""What macOS and Windows do differently, simulated here: nothing of this replaces a run on those systems."""

import hashlib
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest

from segvote import EXPORTS, annotate, export
from segvote.errors import BadInputError
from segvote.evaluation import benchmark
from segvote.evaluation.truth import _find_class
from segvote.io import files, images
from segvote.io.exports.base import ExportOptions
from segvote.io.files import refuse_links, write_bytes
from segvote.io.images import list_images
from segvote.io.imports import read_any
from segvote.io.names import fold_name
from segvote.settings import Settings

# A Python as on Windows: no locks and flags of POSIX, no right to make links, processes by spawn, text files in the
# encoding of the country. Every text file that segvote opens without naming its encoding is an error.
WINDOWS_LIKE = """
import os, sys, warnings
warnings.filterwarnings("error", category=EncodingWarning, module="segvote")
sys.modules["fcntl"] = None
for name in ("O_NOFOLLOW", "O_NONBLOCK", "fork", "mkfifo"):
    delattr(os, name)
def refuse(*_, **__):
    raise OSError(1314, "a required privilege is not held by the client")
os.symlink = os.link = refuse
from joblib.externals.loky.backend.context import set_start_method
set_start_method("spawn", force=True)
"""
WORK = """
def main():
    import segvote
    from segvote.datasets import make_scenes, write_scenes
    from segvote.settings import Settings
    write_scenes("scenes", make_scenes(n_with=3, n_without=3, size=(64, 48), object_area=(0.08, 0.16)))
    settings = Settings(features="color", n_segments=12, size=64)
    segvote.annotate("scenes/with", "scenes/without", "out", settings, n_jobs=2)
    for name in segvote.EXPORTS:
        segvote.export("out", name)
    with segvote.Run("out").folder.lock():
        try:
            segvote.update("out", n_jobs=1)
        except segvote.errors.BusyRunError as error:
            print("busy", error)

if __name__ == "__main__":
    main()
"""


def run_python(folder, script, *words, **environment):
    (folder / "script.py").write_text(script, encoding="utf-8")
    command = [sys.executable, "-X", "warn_default_encoding", "script.py", *words]
    plain = {"PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1252", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    return subprocess.run(command, cwd=folder, env=os.environ | plain | environment, capture_output=True, text=True)


def hash_masks(folder):
    masks = sorted((folder / "out" / "masks").rglob("*.png"))
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in masks}


def test_a_windows_like_system_gives_the_same_masks(tmp_path, monkeypatch, capsys):
    windows, here = tmp_path / "windows", tmp_path / "here"
    windows.mkdir()
    here.mkdir()
    done = run_python(windows, WINDOWS_LIKE + WORK)
    assert done.returncode == 0, done.stderr
    monkeypatch.chdir(here)
    names = {"__name__": "work"}
    exec(WORK.replace("n_jobs=2", "n_jobs=1"), names)  # noqa: S102 - our own
    names["main"]()
    for said in (done.stdout, capsys.readouterr().out):
        assert said.startswith("busy another segvote is writing to out"), said
    assert hash_masks(windows) == hash_masks(here) and len(hash_masks(here)) == 6


@pytest.mark.parametrize("words", ["--help", "annotate --help-all", "info"])
def test_output_fits_an_old_code_page(tmp_path, words):
    script = "import segvote.cli\nif __name__ == '__main__':\n    segvote.cli.main()\n"
    done = run_python(tmp_path, script, *words.split())
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr


def test_a_file_that_is_open_elsewhere_is_replaced_later(tmp_path, monkeypatch):
    tries, replace = [], os.replace

    def refuse_twice(*names):
        tries.append(names)
        if len(tries) <= 2:
            raise PermissionError(13, "the file is used by another process")
        replace(*names)

    monkeypatch.setattr(files, "_PAUSES", (0.0, 0.0, 0.0))
    monkeypatch.setattr(os, "replace", refuse_twice)
    write_bytes(tmp_path / "a.bin", b"new")
    assert (tmp_path / "a.bin").read_bytes() == b"new" and len(tries) == 3


def test_folders_without_inodes_are_all_listed(tmp_path, monkeypatch):
    for name in ("a.png", "one/b.png", "one/two/c.png", "three/d.png"):
        write_bytes(tmp_path / name, b"")
    stat = os.stat

    def number_nothing(path, **options):
        found = list(stat(path, **options))
        found[1] = found[2] = 0
        return os.stat_result(found)

    monkeypatch.setattr(images.os, "stat", number_nothing)
    assert [path.name for path in list_images(tmp_path)] == ["a.png", "b.png", "c.png", "d.png"]


def test_a_junction_out_of_a_run_is_refused(tmp_path, monkeypatch):
    def list_junction(place):
        """A folder that Windows says is a reparse point."""
        status = SimpleNamespace(st_file_attributes=0x400)
        yield SimpleNamespace(path=str(place), is_symlink=lambda: False, stat=lambda follow_symlinks: status)

    monkeypatch.setattr(files, "_HAS_JUNCTIONS", True)
    monkeypatch.setattr(files, "_list_entries", lambda folder: list_junction(tmp_path / "elsewhere"))
    with pytest.raises(BadInputError, match="link out of the run folder"):
        refuse_links(tmp_path / "run")
    monkeypatch.setattr(files, "_list_entries", lambda folder: list_junction(tmp_path / "run" / "masks"))
    refuse_links(tmp_path / "run")


def test_without_links_benchmarks_read_copies(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(1314, "a required privilege is not held by the client")

    monkeypatch.setattr(os, "symlink", refuse)
    write_bytes(tmp_path / "a.png", b"pixels")
    benchmark._link(tmp_path / "a.png", tmp_path / "b.png")
    assert (tmp_path / "b.png").read_bytes() == b"pixels" and not (tmp_path / "b.png").is_symlink()


@pytest.mark.parametrize("format_", ["coco", "cvat", "label-studio", "labelme"])
def test_text_with_line_ends_of_windows_is_read(tmp_path, finished_run, format_):
    path = export(finished_run.folder.path, format_, tmp_path / "plain", images="none", val_share=0)
    wanted = {one.name for one in read_any(path)}
    for file in [path] if path.is_file() else path.rglob("*.json"):
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert {one.name for one in read_any(path)} == wanted != set()


def test_a_label_map_saved_on_windows_names_classes(tmp_path):
    path = tmp_path / "labelmap.txt"
    path.write_bytes("\ufeff# label:color\r\nbackground:0,0,0::\r\ncar:1,1,1::\r\nKüh:2,2,2::\r\n".encode())
    assert [_find_class(name, path) for name in ("car", "Küh")] == [1, 2]


def test_names_that_differ_in_case_stay_apart(tmp_path, scenes):
    shutil.copytree(scenes, tmp_path / "in")
    first, second, *_ = sorted((tmp_path / "in" / "with").iterdir())
    first.rename(first.with_name("Cup.png"))
    second.rename(second.with_name("cup.PNG"))
    settings = Settings(features="color", n_segments=12, size=64)
    run = annotate(tmp_path / "in" / "with", tmp_path / "in" / "without", tmp_path / "out", settings, n_jobs=1)
    for name in EXPORTS:
        export(run, name, images=ExportOptions.images)
    below = [path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*")]
    assert len({fold_name(name) for name in below}) == len(below)
