"""An export holds pairs of a picture and its own mask, all of one result, and writes into its own folder only."""

import shutil
import sys
from pathlib import Path

import pytest
from PIL import Image, ImageOps

import segvote
from segvote.errors import BadInputError, BusyRunError
from segvote.io import EXPORTS
from segvote.io.imports import read_any
from segvote.pipeline import export as exporting
from segvote.run.run import Run
from segvote.settings import Settings

sys.path.append(str(Path(__file__).parents[1] / "cli"))
from calling import call

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})


def mirror(path):
    with Image.open(path) as image:
        mirrored = ImageOps.mirror(image)
    mirrored.save(path)


@pytest.mark.parametrize("format_", EXPORTS)
@pytest.mark.parametrize("change", [mirror, lambda path: path.unlink()])
def test_a_changed_picture_is_left_out_and_named(own_run, tmp_path, format_, change):
    change(own_run.find_image(0))
    named = []
    segvote.export(own_run, format_, tmp_path / "out", on_problem=named.append)
    assert [problem.name for problem in named] == ["with/with-000.png"]
    assert not [path for path in (tmp_path / "out").rglob("*") if "with-000" in path.name.replace("without", "")]


def test_left_out_pictures_end_in_another_exit_code(own_run, tmp_path):
    mirror(own_run.find_image(0))
    done = call("export", own_run.folder.path, "--format", "coco", "-o", tmp_path / "out")
    assert done.returncode == 3
    assert "left out: with/with-000.png" in done.stderr and "segvote update" in done.stderr


def test_masks_alone_need_no_pictures(own_run, tmp_path):
    shutil.rmtree(own_run.find_image(0).parent)
    path = segvote.export(own_run, "coco", tmp_path / "out", images="none", val_share=0)
    assert len(list(read_any(path))) == 12


def test_an_export_of_no_picture_is_an_error(own_run, tmp_path):
    for index in range(12):
        mirror(own_run.find_image(index))
    with pytest.raises(BadInputError, match="none of the 12 images"):
        segvote.export(own_run, "coco", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_run_written_during_an_export_is_an_error(own_run, tmp_path, monkeypatch):
    def interfere(annotations):
        yield next(annotations)
        segvote.set_extent(own_run.folder.path, 4, n_jobs=1)
        yield from annotations

    monkeypatch.setattr(exporting, "add_frame_pictures", interfere)
    with pytest.raises(BusyRunError, match="written again"):
        segvote.export(own_run, "png", tmp_path / "out")


@pytest.mark.parametrize("place", ["exports", "exports/png", "masks/with", "masks/with/with-000.png", "votes"])
def test_no_link_leads_out_of_a_run(run_copy, tmp_path, place):
    outside, inside = tmp_path / "outside", run_copy / place
    inside.parent.mkdir(exist_ok=True)
    if inside.exists():
        shutil.move(inside, outside)
    else:
        outside.mkdir()
    inside.symlink_to(outside)
    before = sorted(outside.rglob("*"))
    with pytest.raises(BadInputError, match="link out of the run folder"):
        segvote.export(run_copy, "png", overwrite=True)
    with pytest.raises(BadInputError, match="link out of the run folder"):
        Run(run_copy)
    assert sorted(outside.rglob("*")) == before


def test_no_link_leads_out_of_a_run_on_classes(scenes, tmp_path):
    shutil.copytree(scenes / "with", tmp_path / "root/cup")
    shutil.copytree(scenes / "without", tmp_path / "root/none")
    segvote.annotate_classes(tmp_path / "root", tmp_path / "run", QUICK, n_jobs=1)
    (tmp_path / "outside").mkdir()
    (tmp_path / "run/exports").symlink_to(tmp_path / "outside")
    with pytest.raises(BadInputError, match="link out of the run folder"):
        segvote.export(tmp_path / "run", "png")
    assert not list((tmp_path / "outside").iterdir())
