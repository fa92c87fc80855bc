"""Detail where it is needed: which looks a run may take, and which one it keeps."""

from __future__ import annotations

from dataclasses import replace

import pytest

from segvote import annotate
from segvote.errors import BadInputError
from segvote.method.confidence import UNSURE, Confidence
from segvote.pipeline.looks import LOOK_MARGIN, apply_detail, is_better, list_looks, wants_closer_look
from segvote.pipeline.vote import count_neighbours
from segvote.run.run import Run
from segvote.settings import DETAILS, Settings


def test_auto_looks_at_the_usual_size_first_and_then_closer():
    looks = [(look.detail, look.feature_options.get("size")) for look in list_looks(Settings())]
    assert looks == [("auto", None), ("auto", DETAILS["fine"]), ("contrast", DETAILS["fine"])]


@pytest.mark.parametrize(
    "chosen",
    [
        {"detail": "coarse"},
        {"detail": "fine"},
        {"detail": "640"},
        {"features": "color"},
        {"voter": "negmin"},
        {"feature_options": {"size": 320}},
    ],
)
def test_what_was_chosen_by_hand_is_looked_at_once(chosen):
    assert len(list_looks(Settings(**chosen))) == 1


@pytest.mark.parametrize(("detail", "size"), [("coarse", None), ("fine", 896), ("contrast", 896), ("640", 640)])
def test_a_level_is_the_size_of_the_networks_input(detail, size):
    assert apply_detail(Settings(), detail).feature_options.get("size") == size
    chosen = Settings(feature_options={"size": 320})
    assert apply_detail(chosen, detail) == chosen


@pytest.mark.parametrize("detail", ["finest", "", "-3"])
def test_unknown_details_are_refused(detail):
    with pytest.raises(BadInputError, match="auto, coarse, fine, contrast or a number"):
        apply_detail(Settings(), detail)
    with pytest.raises(BadInputError, match="lite0"):
        apply_detail(Settings(features="color"), "fine")


@pytest.mark.parametrize(
    ("look", "size", "expected"),
    [(UNSURE, 20.0, False), (UNSURE, 3.0, True), (0.92, 3.0, False), (UNSURE - 0.01, 20.0, True)],
)
def test_weak_signs_and_small_objects_are_looked_at_closer(look, size, expected):
    so_far = judge_look(look, 1.0, 1.0, size=size)
    assert wants_closer_look(apply_detail(Settings(), "fine"), so_far) == expected


def test_no_look_is_taken_that_cannot_be_clearly_better():
    for look in (0.9, 0.92):
        so_far, best = judge_look(look, 1.0, 1.0, size=1.0), judge_look(1.0, 1.0, 1.0)
        assert wants_closer_look(apply_detail(Settings(), "fine"), so_far) == is_better(best, so_far)


@pytest.mark.parametrize(("contrast", "expected"), [(0.0, True), (0.49, True), (0.5, False), (1.0, False)])
def test_outlines_that_follow_no_edges_ask_for_contrast(contrast, expected):
    assert wants_closer_look(Settings(detail="contrast"), judge_look(0.9, contrast)) == expected


def judge_look(separability, contrast=0.8, power=0.9, **others):
    return Confidence(0.5, separability=separability, contrast=contrast, power=power, **others)


def test_the_closer_look_has_to_be_clearly_better():
    for factor, expected in ((1.0, False), (1 + 0.9 * LOOK_MARGIN, False), (1 + 1.1 * LOOK_MARGIN, True)):
        assert is_better(judge_look(0.5 * factor), judge_look(0.5)) == expected


def test_neighbours_grow_with_the_segments():
    assert [count_neighbours(Settings(n_segments=n)) for n in (50, 200, 600)] == [40, 40, 120]


@pytest.mark.parametrize("closer", [False, True])
def test_a_run_keeps_one_look_and_a_repeated_one_takes_none(closer, scenes, tmp_path, monkeypatch):
    monkeypatch.setattr("segvote.pipeline.looks.wants_closer_look", lambda closer, so_far: True)
    monkeypatch.setattr("segvote.pipeline.looks.is_better", lambda one, other: closer)
    monkeypatch.setattr("segvote.pipeline.looks.DETAILS", {**DETAILS, "fine": 160})
    settings = Settings(n_segments=20, size=96, draw="segments")
    annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=1)
    run = Run(tmp_path / "run")
    assert run.settings == (replace(settings, detail="contrast", feature_options={"size": 160}) if closer else settings)
    before = {path: path.stat().st_mtime_ns for path in run.folder.path.rglob("*.png")}
    monkeypatch.setattr("segvote.pipeline.annotate.hold_vote", lambda *_: pytest.fail("looked again"))
    annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=1)
    assert {path: path.stat().st_mtime_ns for path in run.folder.path.rglob("*.png")} == before
    kept = {run.folder.features_path(bag.features) for bag in run.bags}
    assert {*(run.folder.path / "features").iterdir()} == kept
