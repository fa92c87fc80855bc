"""Public data sets as experiments: links, frames, classes, and the paper's figures beside ours."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from segvote.cli.app import load_commands
from segvote.datasets import DATASETS
from segvote.datasets.base import DataItem, DataSet
from segvote.evaluation.benchmark import Benchmark, benchmark
from segvote.evaluation.benchmark_folders import WHOLE, choose_frames, lay_out_class
from segvote.evaluation.compare import Plan, compare
from segvote.evaluation.compare_results import Combination, Comparison, Result
from segvote.evaluation.compare_stage import RULES
from segvote.metrics import IMAGE_THRESHOLD, VIDEO_THRESHOLD
from segvote.report.experiment_pages import (
    list_benchmark_notes,
    list_benchmark_rows,
    list_class_rows,
    write_benchmark,
)
from segvote.run.settings import Settings
from segvote.types import WITH, WITHOUT

QUICK = Settings(features="color", n_segments=20, size=80)
PLAN = Plan(voters=("ekde",), features=("color",))


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    """Two videos with a red patch, two without, four frames each, masks for two frames."""
    root, rng = tmp_path_factory.mktemp("videos") / "red", np.random.default_rng(0)
    for bag_label in (WITH, WITHOUT):
        for video in "ab":
            for number in range(4):
                frame = rng.integers(60, 120, (40, 60, 3)).astype(np.uint8)
                mask = np.zeros((40, 60), dtype=np.uint8)
                mask[10:30, 10 + 5 * number : 35 + 5 * number] = 255
                if bag_label == WITH:
                    frame[mask > 0] = [220, 20, 20]
                path = root / bag_label / video / f"{number:05d}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(frame).save(path)
                if bag_label == WITH and number % 2:
                    target = root / "masks" / video / f"{number:05d}.png"
                    target.parent.mkdir(parents=True, exist_ok=True)
                    Image.fromarray(mask).save(target)
    return root


def make_item(n_frames, known, tmp_path):
    frames = tuple(tmp_path / f"{number}.jpg" for number in range(n_frames))
    return DataItem("x", WITH, frames, True, {number: lambda: np.zeros((1, 1)) for number in known})


def test_frames_with_truth_are_taken_first(tmp_path):
    assert choose_frames(make_item(10, [3, 7], tmp_path), 2) == [3, 7]
    assert choose_frames(make_item(10, [3], tmp_path), 3) == [0, 3, 9]
    assert choose_frames(make_item(2, [], tmp_path), 5) == [0, 1]
    assert len(choose_frames(make_item(10, range(10), tmp_path), 4)) == 4


def test_a_class_is_laid_out_as_links(videos, tmp_path):
    data = DATASETS["neutral"](videos)
    laid = lay_out_class(data, "red", tmp_path / "images", n_frames=3, max_items=None)
    assert laid.is_video
    assert laid.n_items == 2
    assert len(list(laid.folders[0].iterdir())) == len(list(laid.folders[1].iterdir())) == 6
    assert set(laid.groups.values()) == {"with/a", "with/b"}
    assert len(laid.readers) == 4
    assert all((reader().mask == 255).sum() == 500 for reader in laid.readers.values())
    again = lay_out_class(data, "red", tmp_path / "images", n_frames=1, max_items=1)
    assert len(list(again.folders[0].iterdir())) == 1


def test_videos_are_judged_as_wholes_by_the_threshold_for_videos(videos, tmp_path):
    done = benchmark("neutral", videos, tmp_path / "out", PLAN, QUICK, n_jobs=1)
    comparison = done.classes["red"]
    assert comparison.threshold == VIDEO_THRESHOLD
    (result,) = comparison.good
    assert result.names == ["with/a", "with/b"]
    assert comparison.measure_corloc(result).mean == 1.0
    assert done.n_items == {"red": 2}
    assert done.resolution == 0.5


@pytest.mark.parametrize("truth", ["masks", "boxes"])
def test_whole_videos_are_judged_by_their_key_frames(videos, tmp_path, truth):
    data = DATASETS["neutral"](videos)
    if truth == "boxes":
        items = tuple(replace(item, masks={}, boxes=make_boxes(item)) for item in data.items["red"])
        data = DataSet("made", {"red": items})
    laid = lay_out_class(data, "red", tmp_path / "images", WHOLE, None)
    settings = replace(QUICK, frames="video")
    done = compare(*laid.folders, laid.readers, tmp_path / "out", PLAN, settings, threshold=VIDEO_THRESHOLD, n_jobs=1)
    (result,) = done.good
    assert result.names == ["with/00000", "with/00001"]
    assert done.measure_corloc(result).mean == 1.0
    unions = {union for _, union in result.overlaps["common"]}
    assert truth == "masks" or unions == {2.0}  # one for each frame with boxes


def make_boxes(item):
    return {number: partial(np.array, [[10 + 5 * number, 10, 35 + 5 * number, 30]]) for number in item.masks}


def test_images_are_judged_by_the_threshold_for_images(scenes, tmp_path):
    done = benchmark("pittcar", scenes, tmp_path / "out", PLAN, QUICK, n_jobs=1, max_items=4)
    assert done.classes["car"].threshold == IMAGE_THRESHOLD
    assert done.n_items == {"car": 4}


def make_benchmark(tmp_path, found, notes=(), name="pittcar", classes=("car",), voter="crane"):
    overlaps = {rule: [(1.0 if place < found else 0.0, 1.0) for place in range(100)] for rule in RULES}
    names = [str(i) for i in range(100)]
    result = Result(Combination("ward", "bow", voter), "k", names, overlaps=overlaps, notes=list(notes))
    comparison = Comparison(tmp_path, tmp_path, "ekde", 0.5, [result])
    return Benchmark(name, dict.fromkeys(classes, comparison), dict.fromkeys(classes, 100))


@pytest.mark.parametrize(("found", "remark"), [(21, "="), (30, "")])
def test_a_difference_below_one_shot_is_called_none(tmp_path, found, remark):
    rows = list_benchmark_rows(make_benchmark(tmp_path, found))
    figure = f"{found / 100:.2f}"
    assert rows[1:] == [["CRANE", "crane", "bow", figure, figure, figure, "0.21", remark]]


def test_a_row_that_selects_nothing_says_why(tmp_path):
    why = "the printed iteration selected no segment (rho = 0.970 <= 1, the only fixed point is w = 0)"
    warned = make_benchmark(tmp_path, 0, notes=[why], voter="ekde-paper")
    assert list_benchmark_notes(warned) == [f"eKDE: car: {why}"]
    assert "the only fixed point" in write_benchmark(warned, tmp_path).read_text()
    assert "the only fixed point" in (tmp_path / "benchmark.md").read_text()


def test_a_class_is_compared_with_its_own_figure(tmp_path):
    known = make_benchmark(tmp_path, 33, name="jain-grauman", classes=("cat",))
    assert list_benchmark_rows(known)[1][-2:] == ["0.33", "="]
    assert list_class_rows(known) == [["method", "cat"], ["CRANE", "0.33 / 0.33 ="]]
    other = make_benchmark(tmp_path, 30, name="davis", classes=("cow",))
    assert list_benchmark_rows(other)[1][-2:] == ["", ""]
    assert list_class_rows(other)[1] == ["CRANE", "0.30"] and not other.has_paper


def test_as_paper_is_the_papers_recipe(videos, tmp_path, monkeypatch):
    monkeypatch.delenv("SEGVOTE_VGG19", raising=False)
    arguments = ["benchmark", "neutral", str(videos), "-o", str(tmp_path / "out"), "--as-paper", "--jobs", "1"]
    done = CliRunner().invoke(load_commands(), [*arguments, "--frames", "2", "--n-segments", "15"])
    assert done.exit_code == 0, done.output
    settings = json.loads(next((tmp_path / "out").rglob("run.json")).read_text())["settings"]
    assert (settings["segmenter"], settings["size"]) == ("gpb", 224)
    assert all(f"\n{method} " in done.stdout for method in ("eKDE", "OBoW", "MILBoost", "CRANE"))
    assert "note: eKDE_deep: red: features vgg19 need a weight file" in done.output


def test_benchmarks_are_written_in_four_formats(tmp_path):
    page = write_benchmark(make_benchmark(tmp_path, 30), tmp_path).read_text()
    text = (tmp_path / "benchmark.md").read_text()
    assert "| CRANE | crane | bow | 0.30 | 0.30 | 0.30 | 0.21 |" in text
    assert "is inferred" in text and "is inferred" in page and "<td>0.21</td>" in page
    assert json.loads((tmp_path / "benchmark.json").read_text())["items"] == {"car": 100}
    assert "tabular" in (tmp_path / "benchmark.tex").read_text()


def test_the_command_prints_the_table(videos, tmp_path):
    arguments = ["benchmark", "neutral", str(videos), "-o", str(tmp_path / "out"), "--voters", "ekde"]
    arguments += ["--segmenter", "slic", "--voter-option", "n_neighbors=7"]
    done = CliRunner().invoke(load_commands(), [*arguments, "--features", "color", "--jobs", "1", "--frames", "2"])
    assert done.exit_code == 0, done.output
    [settings] = {path.read_text() for path in (tmp_path / "out").rglob("run.json")}
    assert '"segmenter": "slic"' in settings
    assert "red" in done.stdout
    assert (tmp_path / "out/benchmark.md").is_file()
    page = (tmp_path / "out/benchmark.html").read_text()
    assert (
        "Figure 1, examples: red" in page and "Figure 2, heat maps: red" in page and page.count("data:image/jpeg") >= 2
    )
