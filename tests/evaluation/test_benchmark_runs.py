"""Public data sets as experiments: links, frames, classes, and the paper's figures beside ours."""

import json
import shutil

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from segvote.cli.app import load_commands
from segvote.datasets import DATASETS
from segvote.datasets.base import DataItem
from segvote.errors import MissingPartError
from segvote.evaluation import benchmark
from segvote.evaluation.benchmark import Benchmark, benchmark_classes, choose_frames, link_class
from segvote.evaluation.compare import list_combinations
from segvote.evaluation.comparison import Combination, Comparison, Result
from segvote.evaluation.rules import RULES
from segvote.metrics import IMAGE_THRESHOLD, VIDEO_THRESHOLD
from segvote.pipeline.workers import Resources
from segvote.report.experiments import list_benchmark_tables, list_class_rows, list_paper_rows, write_benchmark
from segvote.settings import Settings
from segvote.types import WITH

QUICK = Settings(features="color", n_segments=20, size=80)
EKDE = list_combinations(["ekde"], ["color"])


@pytest.mark.parametrize(
    ("n_frames", "known", "wanted", "chosen"),
    [(10, [3, 7], 2, [3, 7]), (10, [3], 3, [0, 3, 9]), (2, [], 5, [0, 1]), (10, range(10), 4, [0, 3, 6, 9])],
)
def test_frames_with_truth_are_taken_first(tmp_path, n_frames, known, wanted, chosen):
    frames = tuple(tmp_path / f"{number}.jpg" for number in range(n_frames))
    item = DataItem("x", WITH, frames, True, {number: lambda: np.zeros((1, 1)) for number in known})
    assert choose_frames(item, wanted) == chosen


def test_the_images_of_a_class_are_links(videos, tmp_path):
    data = DATASETS["neutral"](videos)
    found = link_class(data, "red", tmp_path / "images", n_frames=3, max_items=9)
    assert found.is_video
    assert found.n_items == 2
    assert len(list(found.folders[0].iterdir())) == len(list(found.folders[1].iterdir())) == 6
    assert {found.groups[f"with/{path.name}"] for path in found.folders[0].iterdir()} == {"with/a", "with/b"}
    assert len(found.readers) == 4
    assert all((reader().mask == 255).sum() == 500 for reader in found.readers.values())
    again = link_class(data, "red", tmp_path / "images", n_frames=1, max_items=1)
    assert len(list(again.folders[0].iterdir())) == 1


def test_videos_are_judged_as_wholes_by_their_threshold(videos, tmp_path):
    done = benchmark_classes("neutral", videos, tmp_path / "out", EKDE, QUICK, resources=Resources(1))
    comparison = done.classes["red"]
    assert comparison.threshold == VIDEO_THRESHOLD
    (result,) = comparison.good
    assert result.names == ["with/a", "with/b"]
    assert comparison.measure_corloc(result).mean == 1.0
    assert done.n_items == {"red": 2}
    assert done.resolution == 0.5


def make_tang(videos, root):
    """The videos as shots of two classes, with segment 1 as the object of cars."""
    for name, source in (("car", "with"), ("cat", "without")):
        for number, video in enumerate(sorted((videos / source).iterdir())):
            shot = root / name / f"data/{number:04d}/shots/001"
            (shot / "segments").mkdir(parents=True)
            (shot / "labels.txt").write_text("1 1\n0 0\n")
            for place, frame in enumerate(sorted(video.iterdir()), start=1):
                shutil.copy(frame, shot / f"frame{place:04d}.jpg")  # readers look at the content
                mask = videos / "masks" / video.name / frame.name
                segments = np.asarray(Image.open(mask)) // 255 if source == "with" and mask.is_file() else None
                if segments is not None or source == "without":
                    Image.fromarray(np.zeros((40, 60), np.uint8) if segments is None else segments).save(
                        shot / f"segments/{place:04d}.png"
                    )
    return root


def test_segment_truth_of_shots_is_measured_beside_the_paper(videos, tmp_path):
    rows = {"CRANE": ("crane", "color")}
    arguments = (
        make_tang(videos, tmp_path / "shots"),
        tmp_path / "out",
        list_combinations(["crane"], ["color"]),
        QUICK,
    )
    done = benchmark_classes("tang-segments", *arguments, rows=rows, class_name="car", resources=Resources(n_jobs=1))
    assert done.n_items == {"car": 2} and done.classes["car"].threshold == VIDEO_THRESHOLD
    assert list_paper_rows(done)[1][-2] == "0.75"  # CRANE on cars in Table 1


def test_images_are_judged_by_the_threshold_for_images(scenes, tmp_path):
    done = benchmark_classes("pittcar", scenes, tmp_path / "out", EKDE, QUICK, resources=Resources(1), max_items=4)
    assert (done.classes["car"].threshold, done.n_items) == (IMAGE_THRESHOLD, {"car": 4})


def make_benchmark(tmp_path, found, notes=(), name="pittcar", classes=("car",), voter="crane"):
    overlaps = {rule: [(1.0 if place < found else 0.0, 1.0) for place in range(100)] for rule in RULES}
    names = [str(i) for i in range(100)]
    result = Result(Combination("ward", "bow", voter), names, overlaps=overlaps, notes=list(notes))
    comparison = Comparison(tmp_path, tmp_path, "ekde", 0.5, [result])
    return Benchmark(name, dict.fromkeys(classes, comparison), dict.fromkeys(classes, 100))


@pytest.mark.parametrize(("found", "remark"), [(21, "="), (30, "")])
def test_a_difference_below_one_shot_is_called_none(tmp_path, found, remark):
    rows = list_paper_rows(make_benchmark(tmp_path, found))
    figure = f"{found / 100:.2f}"
    assert rows[1:] == [["CRANE", "crane", "bow", figure, figure, figure, "0.21", remark]]


def test_a_class_is_compared_with_its_own_figure(tmp_path):
    known = make_benchmark(tmp_path, 33, name="jain-grauman", classes=("cat",))
    assert list_paper_rows(known)[1][-2:] == ["0.33", "="]
    assert list_class_rows(known) == [["method", "cat"], ["CRANE", "0.33 / 0.33 ="]]
    assert list_paper_rows(make_benchmark(tmp_path, 33, name="tang-segments", classes=("cat",)))[1][-2:] == [
        "0.33",
        "=",
    ]
    other = make_benchmark(tmp_path, 30, name="davis", classes=("cow",))
    assert list_paper_rows(other)[1][-2:] == ["", ""]
    assert len(list_benchmark_tables(known)) == 3 and len(list_benchmark_tables(other)) == 2


def test_a_benchmark_is_written_with_its_notes(tmp_path):
    why = "the printed iteration selected no segment (rho = 0.970, the only fixed point is w = 0)"
    warned = make_benchmark(tmp_path, 30, notes=[why], voter="ekde-paper")
    assert warned.list_notes() == [f"eKDE: car: {why}"]
    page, text = write_benchmark(warned, tmp_path).read_text(), (tmp_path / "benchmark.md").read_text()
    assert "| eKDE | ekde-paper | bow | 0.30 | 0.30 | 0.30 | 0.49 |" in text and "<td>0.49</td>" in page
    assert all("is inferred" in one and "the only fixed point" in one for one in (text, page))
    assert json.loads((tmp_path / "benchmark.json").read_text())["items"] == {"car": 100}


def run_command(videos, out, *options):
    arguments = ["benchmark", "neutral", videos, "-o", out, "--jobs", 1, "--frames", 2, *options]
    done = CliRunner().invoke(load_commands(), list(map(str, arguments)))
    assert done.exit_code == 0, done.output
    return done, json.loads(next(out.rglob("run.json")).read_text())["settings"]


@pytest.mark.parametrize(
    ("here", "chosen"), [(("vgg16", "vgg19"), "vgg19"), (("vgg16",), "vgg16"), ((), "vgg19")], ids=len
)
def test_as_paper_takes_vgg16_where_vgg19_is_missing(here, chosen, monkeypatch):
    def make(name):
        if name not in here:
            raise MissingPartError(name)

    monkeypatch.setattr(benchmark, "make_features", make)
    rows, _, _ = benchmark.choose_recipe(None, [], True, None, 100)
    assert rows["eKDE_deep"] == ("ekde-paper", chosen) and rows["eKDE"] == ("ekde-paper", "bow")


def test_as_paper_is_the_papers_recipe(videos, tmp_path, monkeypatch):
    monkeypatch.delenv("SEGVOTE_VGG19", raising=False)
    monkeypatch.setattr(benchmark, "PAPER_NETWORKS", ("vgg19",))
    done, settings = run_command(videos, tmp_path / "out", "--as-paper", "--n-segments", 15, "--max-items", 1)
    assert (settings["segmenter"], settings["size"]) == ("gpb", 224)
    assert all(f"\n{method} " in done.stdout for method in ("eKDE", "OBoW", "MILBoost", "CRANE"))
    assert "note: eKDE_deep: red: features vgg19 need a weight file" in done.output


def test_the_command_prints_the_table_and_writes_the_page(videos, tmp_path):
    options = ["--voters", "ekde,f-neg+finish", "--features", "color", "--segmenter", "slic"]
    done, settings = run_command(videos, tmp_path, *options, "--voter-option", "n_neighbors=7")
    assert settings["segmenter"] == "slic"
    assert "red" in done.stdout and "f-neg+finish" in done.stdout
    page = (tmp_path / "benchmark.html").read_text()
    assert "Figure 1, examples: red" in page and "Figure 2, heat maps: red" in page
    assert page.count("data:image/jpeg") >= 2
