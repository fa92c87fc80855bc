"""What commands print: counts, commands that work when pasted, one figure for one thing."""

import shlex
import shutil

import pytest
from calling import call
from PIL import Image

import segvote
from segvote.inputs.bags import list_unsorted_bags
from segvote.pipeline import looks
from segvote.settings import Settings

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})


@pytest.fixture
def own_run(scenes, tmp_path):
    for name in ("with", "without"):
        shutil.copytree(scenes / name, tmp_path / name)
    return segvote.annotate(tmp_path / "with", tmp_path / "without", tmp_path / "my run", QUICK, n_jobs=1)


def test_update_counts_images_that_came_and_went(own_run, tmp_path):
    (tmp_path / "with/with-000.png").unlink()
    with Image.open(tmp_path / "with/with-001.png") as image:
        image.rotate(180).save(tmp_path / "with/new.png")
    done = call("update", own_run.folder.path, "--jobs", 1)
    assert "images   12: 1 came, 1 went" in done.stdout


def test_annotate_ends_with_the_next_step(own_run, tmp_path, monkeypatch):
    done = call("extent", own_run.folder.path, 3, "--jobs", 1)
    line = done.stdout.splitlines()[-1]
    assert line.split(maxsplit=1) == ["next", shlex.join(["segvote", "review", str(own_run.folder.path)])]


def test_commands_of_the_report_work_when_pasted(own_run):
    page = own_run.folder.report_path.read_text()
    assert f"<code>segvote extent &#x27;{own_run.folder.path}&#x27; 3</code>" in page.replace("&#39;", "&#x27;")
    assert "segvote review ." not in page and "`" not in page.partition("<body")[2].partition("<script")[0]


@pytest.mark.parametrize("extension", ["gif", "png", "webp"])
def test_an_animated_picture_says_how_many_frames_it_has(tmp_path, extension):
    frames = [Image.new("RGB", (40, 30), (shade, 0, 0)) for shade in (0, 90, 180)]
    frames[0].save(tmp_path / f"a.{extension}", save_all=True, append_images=frames[1:])
    (bag,) = list_unsorted_bags(tmp_path)
    assert "first frame of 3" in bag.warning


def test_evaluate_has_one_figure_for_the_chosen_extent(finished_run, scenes):
    evaluation = segvote.evaluate(finished_run, scenes / "masks")
    (chosen,) = [one for one in evaluation.extents if one.chosen]
    figures = evaluation.to_dict()
    assert (chosen.corloc, chosen.miou) == (figures["corloc"], figures["miou"])


def test_predict_says_what_it_compares(finished_run, scenes, tmp_path):
    done = call("predict", finished_run.folder.path, scenes / "with", "-o", tmp_path / "new", "--jobs", 1)
    assert "score above" in done.stdout
    header, *rows = (tmp_path / "new/predictions.csv").read_text().splitlines()
    columns = header.split(",")
    for row in (dict(zip(columns, line.split(","), strict=True)) for line in rows):
        assert (row["contains"] == "True") == (float(row["score"]) > float(row["threshold"]))


def test_doctor_and_annotate_have_the_same_confidence(scenes, tmp_path, monkeypatch):
    monkeypatch.setattr(looks, "wants_closer_look", lambda closer, so_far: closer.detail == "auto")
    monkeypatch.setattr(looks, "LOOK_MARGIN", -9.0)
    folders = tmp_path / "with", tmp_path / "without"
    for folder in folders:
        folder.mkdir()
        for path in sorted((scenes / folder.name).iterdir())[:3]:
            shutil.copy(path, folder)
    settings = Settings(n_segments=40)
    run = segvote.annotate(*folders, tmp_path / "run", settings, n_jobs=1)
    found = segvote.doctor(*folders, settings, n_jobs=1).to_dict()["confidence"]
    assert run.settings.feature_options
    assert found == {name: run.confidence[name] for name in found}
