"""A sample of the images votes, the others are predicted by the model of its vote."""

import shutil
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import segvote
from segvote import annotate
from segvote.datasets import make_scenes, write_scenes
from segvote.errors import BadInputError
from segvote.features import make_features
from segvote.io.masks import read_mask
from segvote.io.tables import read_json
from segvote.metrics import measure_iou
from segvote.pipeline import blocks, others, sample, table
from segvote.pipeline.model import read_model
from segvote.pipeline.opening import list_other_bags, list_run_bags
from segvote.pipeline.predictor import Predictor
from segvote.pipeline.sample import count_voters, parse_vote_on
from segvote.pipeline.table import gather_table
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.run import Run
from segvote.settings import Settings

sys.path.append(str(Path(__file__).parents[1] / "cli"))
from calling import call

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})
SAMPLED = replace(QUICK, vote_on="8")


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """``with`` and ``without`` of nine scenes each, and masks."""
    folder = tmp_path_factory.mktemp("many")
    write_scenes(folder, make_scenes(n_with=9, n_without=9, size=(160, 120), object_area=(0.08, 0.16), seed=3))
    return folder


@pytest.fixture(scope="module")
def sampled(many, tmp_path_factory):
    """A run on eight of the scenes; only for reading."""
    return annotate(many / "with", many / "without", tmp_path_factory.mktemp("sampled") / "run", SAMPLED, n_jobs=1)


@pytest.fixture
def copied(sampled, tmp_path):
    return Run(shutil.copytree(sampled.folder.path, tmp_path / "run"))


def read_files(folder, without=("log.jsonl", ".lock", "review.sqlite")):
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in without]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def list_results(folder):
    """The files that a user of the masks reads."""
    kept = ("masks/", "heatmaps/", "annotations.coco.json", "votes/predicted/")
    return {name: data for name, data in read_files(folder).items() if name.startswith(kept)}


def name_voters(run):
    return sorted(bag.digest for bag in run.bags)


@pytest.mark.parametrize(
    ("n_with", "n_without", "n_voters", "expected"),
    [(50, 50, 20, (10, 10)), (5, 50, 20, (5, 15)), (50, 5, 21, (16, 5)), (50, 60, 21, (10, 11)), (3, 4, 20, (3, 4))],
)
def test_the_smaller_folder_votes_first(n_with, n_without, n_voters, expected):
    assert count_voters(n_with, n_without, n_voters) == expected


@pytest.mark.parametrize("text", ["", "3", "-5", "4.5", "²", "many", "9" * 30])
def test_a_bad_number_is_one_clear_line(many, tmp_path, text):
    done = call("annotate", many / "with", many / "without", "-o", tmp_path / "out", f"--vote-on={text}")
    assert done.returncode != 0 and len(done.stderr.strip().splitlines()) == 1
    assert "auto, all or a number of images from 4 on with --vote-on" in done.stderr
    assert not (tmp_path / "out").exists()


def test_words_and_numbers_are_read():
    assert [parse_vote_on(text) for text in ("auto", "all", "4", "200")] == [None, 0, 4, 200]


def test_every_image_has_its_files(sampled, many):
    assert len(sampled) == 8 == sampled.record.vote_on and len(sampled.record.predicted) == 10
    for index, bag in enumerate(sampled.all_bags):
        assert sampled.folder.mask_path(bag.stem).is_file() and sampled.folder.heatmap_path(bag.stem).is_file()
        assert sampled.read_mask(index).any() == (bag.bag_label == "with")
        assert sampled.read_scores(index).shape == (bag.n_segments,)
    coco = read_json(sampled.folder.coco_path)
    assert {one["file_name"] for one in coco["images"]} == {bag.name for bag in sampled.all_bags}
    marked = {one["image_id"] for one in coco["annotations"]}
    assert marked == {one["id"] for one in coco["images"] if one["file_name"].startswith("with/")}


def test_masks_of_predicted_images_lie_on_the_object(sampled, many):
    truth = {one.stem: one for one in (many / "masks").iterdir()}
    ious = [
        measure_iou(sampled.read_mask(index), read_mask(truth[bag.stem.split("/")[1]]))
        for index, bag in enumerate(sampled.all_bags)
        if index >= len(sampled) and bag.bag_label == "with"
    ]
    assert np.mean(ious) > 0.4


def test_the_same_bytes_for_any_number_of_workers(sampled, many, tmp_path):
    run = annotate(many / "with", many / "without", tmp_path / "run", SAMPLED, n_jobs=2)
    same, other = read_files(sampled.folder.path), read_files(run.folder.path)
    different = {name for name in same.keys() | other.keys() if same.get(name) != other.get(name)}
    assert different <= {"run.json", "report.html"}  # which hold the path of the folder
    assert run.record.predicted == sampled.record.predicted


def test_names_and_order_of_files_do_not_change_the_sample(sampled, many, tmp_path):
    for label in ("with", "without"):
        (tmp_path / label).mkdir()
        for number, path in enumerate(sorted((many / label).iterdir(), reverse=True)):
            shutil.copy(path, tmp_path / label / f"{number}.png")
    run = annotate(tmp_path / "with", tmp_path / "without", tmp_path / "run", SAMPLED, n_jobs=1)
    assert name_voters(run) == name_voters(sampled)


def test_where_all_images_fit_nothing_changes(finished_run, scenes, tmp_path):
    run = annotate(scenes / "with", scenes / "without", tmp_path / "run", replace(QUICK, vote_on="12"), n_jobs=1)
    assert not run.record.predicted and run.record.vote_on == 0 and not run.format_sample()
    same, other = read_files(finished_run.folder.path), read_files(run.folder.path)
    assert same.keys() == other.keys()
    named = {"run.json", "report.html", "model/model.json", "model/drawing.json", "votes/neighbours.npz"}
    assert {name for name in same if same[name] != other[name]} <= named


def test_without_memory_for_all_a_sample_votes(many, tmp_path, monkeypatch):
    per_image = 30 * (table.PER_SEGMENT + table.PER_NUMBER * 100)
    monkeypatch.setattr(table, "ALWAYS_THERE", 0)
    monkeypatch.setattr(table, "BASE", 0)
    monkeypatch.setattr(table, "_measure_free_memory", lambda: 14 * per_image)
    run = annotate(many / "with", many / "without", tmp_path / "run", QUICK, n_jobs=1)
    n_voters = run.record.vote_on
    assert 4 <= n_voters == len(run) < 18 and "voted" in run.format_sample()
    monkeypatch.setattr(table, "_measure_free_memory", lambda: 10**12)
    before = run.folder.record_path.read_bytes()
    annotate(many / "with", many / "without", tmp_path / "run", QUICK, n_jobs=1)
    assert run.folder.record_path.read_bytes() == before  # with more memory: the same sample


def test_a_repeated_run_predicts_nothing_again(copied, monkeypatch):
    before = read_files(copied.folder.path)
    monkeypatch.setattr(others, "Predictor", None)
    segvote.update(copied, n_jobs=1)
    assert read_files(copied.folder.path) == before


def test_other_extents_reach_predicted_images(copied, many, tmp_path):
    wider = segvote.set_extent(copied, 5, n_jobs=1)
    areas = [[bag.area for bag in run.record.predicted] for run in (copied, wider)]
    assert sum(areas[1]) > sum(areas[0])
    settings = replace(SAMPLED, extent=5)
    fresh = annotate(many / "with", many / "without", tmp_path / "fresh", settings, n_jobs=1)
    assert list_masks(wider) == list_masks(fresh)
    back = segvote.set_extent(wider, SAMPLED.extent, n_jobs=1)
    assert list_results(back.folder.path) == list_results(copied.folder.path)
    assert [bag.area for bag in back.record.predicted] == areas[0]


def list_masks(run):
    return [run.read_mask(index).tobytes() for index in range(len(run.all_bags))]


def test_an_alternative_reaches_predicted_images(copied):
    assert len(segvote.load_run(copied.folder.path).alternatives) > 1
    before = list_masks(copied)[len(copied) :]
    chosen = segvote.choose(copied, "B", n_jobs=1)
    assert list_masks(chosen)[len(copied) :] != before
    updated = segvote.update(chosen, n_jobs=1)
    assert list_masks(updated) == list_masks(chosen)
    assert list_masks(segvote.choose(updated, "A", n_jobs=1))[len(copied) :] == before


def test_an_image_outside_the_sample_says_so(sampled):
    name = sampled.record.predicted[0].name
    with pytest.raises(BadInputError, match="predicted by the vote of 8 others"):
        sampled.explain(name)
    assert len(sampled.diagnose().images) == 8


def test_a_bag_with_corrections_votes_in_addition(sampled):
    bags, extractor = [*list_run_bags(sampled), *list_other_bags(sampled)], make_features(QUICK.features)
    corrected = sampled.record.predicted[0]
    voters, rest = sample.split_bags(sampled.folder, bags, extractor, QUICK, 8, {corrected.digest})
    assert {bag.name for bag in voters} == {corrected.name, *(bag.name for bag in sampled.bags)}
    assert len(rest) == 9


def test_saved_corrections_reach_predicted_images(copied):
    with closing(CorrectionLog(copied.folder.corrections_path)) as log:
        log.append(Action("extent", value=5))
    current = segvote.load_run(copied.folder.path)
    assert sum(bag.area for bag in current.record.predicted) > sum(bag.area for bag in copied.record.predicted)
    assert current.record.vote_on == 8 and len(current) == 8


def test_an_update_is_a_new_run_on_the_images(many, tmp_path):
    for name in ("with", "without"):
        shutil.copytree(many / name, tmp_path / name)
    folders = tmp_path / "with", tmp_path / "without"
    run = annotate(*folders, tmp_path / "run", SAMPLED, n_jobs=1)
    outside = [bag.name for bag in run.record.predicted if bag.bag_label == "with"]
    (tmp_path / outside[0]).rename(tmp_path / "with/a-new-name.png")
    (tmp_path / outside[1]).unlink()
    updated, fresh = segvote.update(run, n_jobs=1), annotate(*folders, tmp_path / "fresh", SAMPLED, n_jobs=1)
    assert updated.record.predicted == fresh.record.predicted
    assert list_results(updated.folder.path) == list_results(fresh.folder.path)


def test_a_stopped_run_keeps_finished_blocks(many, tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "N_IMAGES", 4)
    folders = many / "with", many / "without"
    expected = list_results(annotate(*folders, tmp_path / "whole", SAMPLED, n_jobs=1).folder.path)
    written, write = [], blocks.write_shard

    def stop_at_the_second(path, rows):
        if len(written) == 1:
            raise KeyboardInterrupt
        written.append(path)
        write(path, rows)

    with monkeypatch.context() as patch:
        patch.setattr(blocks, "write_shard", stop_at_the_second)
        with pytest.raises(KeyboardInterrupt):
            annotate(*folders, tmp_path / "run", SAMPLED, n_jobs=1)
    before = written[0].stat().st_mtime_ns
    run = annotate(*folders, tmp_path / "run", SAMPLED, n_jobs=1)
    assert list_results(run.folder.path) == expected
    assert written[0].stat().st_mtime_ns == before


@pytest.mark.parametrize("unsure", [False, True])
def test_the_folder_of_an_image_decides_unless_unsure(sampled, unsure):
    model = read_model(sampled.folder.path)
    predictor = Predictor(replace(model, settings=replace(model.settings, unsure=unsure)))
    bags = list_other_bags(sampled)
    features = gather_table(sampled.folder, bags, model.extractor, model.settings, model.standardiser)[0]
    alone = [one.contains for one in predictor.choose(features)]
    shown = [one.contains for one in predictor.choose(features, shows=[True] * len(bags))]
    assert shown == (alone if unsure else [True] * len(bags))
    assert not any(one.contains for one in predictor.choose(features, shows=[False] * len(bags)))


def test_exports_and_tables_hold_all_images(copied, tmp_path):
    segvote.export(copied, "coco", tmp_path / "coco")
    files = map(read_json, (tmp_path / "coco").rglob("instances_*.json"))
    assert {one["file_name"] for file in files for one in file["images"]} == {bag.name for bag in copied.all_bags}
    assert len(copied.to_table()) == 18
    assert set(segvote.measure(copied, tmp_path / "m.csv")["image"]) == {
        bag.name for bag in copied.all_bags if bag.bag_label == "with"
    }


def test_the_report_and_the_terminal_say_how_many_voted(copied, many):
    report = copied.folder.report_path.read_text()
    assert "8 of 18 images voted" in report
    out = copied.folder.path
    done = call("update", out, "--jobs", "1")
    assert done.returncode == 0 and "voted    8 of 18 images" in done.stdout
