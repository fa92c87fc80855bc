"""A project that was moved: images are found relative to the run, by content, or where `update` is told."""

import shutil
import sys
from pathlib import Path

import pytest

import segvote
from segvote.errors import BadInputError
from segvote.run.run import Run
from segvote.settings import Settings

sys.path.append(str(Path(__file__).parents[1] / "cli"))
from calling import call

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})


@pytest.fixture
def project(scenes, tmp_path):
    for name in ("with", "without"):
        shutil.copytree(scenes / name, tmp_path / "old" / name)
    folder = tmp_path / "old"
    segvote.annotate(folder / "with", folder / "without", folder / "out", QUICK, n_jobs=1)
    return folder


def test_a_moved_project_works_as_before(project, tmp_path):
    new = project.rename(tmp_path / "new")
    segvote.export(new / "out", "yolo")
    assert len(segvote.set_extent(new / "out", 3, n_jobs=1)) == 12
    assert len(segvote.update(new / "out", n_jobs=1)) == 12
    assert len(segvote.annotate(new / "with", new / "without", new / "out", QUICK, n_jobs=1)) == 12


def test_a_copied_project_reads_its_own_images(project, tmp_path):
    shutil.copytree(project, tmp_path / "new")
    (tmp_path / "new/with/with-000.png").unlink()
    assert len(segvote.update(tmp_path / "new/out", n_jobs=1)) == 11


def test_a_run_moved_alone_finds_its_images(project, tmp_path):
    (tmp_path / "elsewhere/deep").mkdir(parents=True)
    moved = shutil.move(project / "out", tmp_path / "elsewhere/deep/out")
    assert len(segvote.update(moved, n_jobs=1)) == 12


def test_update_takes_a_new_place_of_the_images(project, tmp_path):
    before = Run(project / "out").read_mask(0)
    images = shutil.move(project, tmp_path / "a")
    out = shutil.move(f"{images}/out", tmp_path / "out")
    folders = ["--with", f"{images}/with", "--without", f"{images}/without"]
    done = call("update", out, *folders, "--jobs", 1)
    assert done.returncode == 0, done.stderr
    assert Run(out).inputs.with_folder == f"{images}/with" and (Run(out).read_mask(0) == before).all()


def test_lost_images_leave_a_run_finished(project, tmp_path):
    out = shutil.move(project / "out", tmp_path / "out")
    shutil.rmtree(project)
    for act in (lambda: segvote.set_extent(out, 3, n_jobs=1), lambda: segvote.update(out, n_jobs=1)):
        with pytest.raises(BadInputError, match=r"--with"):
            act()
        assert Run(out).record.complete and Run(out).extent == 2
    segvote.export(out, "png", tmp_path / "masks", images="none")


def test_an_image_in_another_folder_is_found_by_content(project):
    (project / "with/sub").mkdir()
    shutil.move(project / "with/with-000.png", project / "with/sub/first.png")
    assert Run(project / "out").find_image(0) == project / "with/sub/first.png"
    segvote.export(project / "out", "yolo")
