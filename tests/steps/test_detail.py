"""Detail where it is needed: which looks a run may take, and which one it keeps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from segvote.steps.voting.detail import apply_detail, is_better, list_levels, wants_closer_look
from segvote.steps.voting.making import count_neighbours

from segvote.errors import BadInputError
from segvote.io.images import SEEN
from segvote.method.confidence import UNSURE, Confidence
from segvote.run.bags import Bag
from segvote.run.run import Run
from segvote.run.settings import DETAILS, Settings
from segvote.steps import job
from segvote.steps.annotate import annotate


def test_auto_looks_at_the_usual_size_first_and_then_closer():
    sizes = [level.feature_options.get("size") for level in list_levels(Settings())]
    assert sizes == [None, DETAILS["fine"]]


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
    assert len(list_levels(Settings(**chosen))) == 1


def test_videos_are_looked_at_once(tmp_path: Path):
    film = Bag("with/a.mp4", "with", tmp_path / "a.mp4", "")
    assert len(list_levels(Settings(), [film])) == 1


@pytest.mark.parametrize(("detail", "size"), [("coarse", None), ("fine", 896), ("640", 640)])
def test_a_level_is_the_size_of_the_networks_input(detail, size):
    assert apply_detail(Settings(), detail).feature_options.get("size") == size


def test_a_size_chosen_by_hand_stays():
    chosen = Settings(feature_options={"size": 320})
    assert apply_detail(chosen, "fine") == chosen


@pytest.mark.parametrize("detail", ["finest", "", "-3"])
def test_unknown_details_are_refused(detail):
    with pytest.raises(BadInputError, match="auto, coarse, fine or a number"):
        apply_detail(Settings(), detail)


def test_features_without_a_network_have_no_detail():
    with pytest.raises(BadInputError, match="lite0"):
        apply_detail(Settings(features="color"), "fine")


@pytest.mark.parametrize(
    ("value", "size", "expected"), [(UNSURE, 20.0, False), (UNSURE, 3.0, True), (UNSURE - 0.01, 20.0, True)]
)
def test_unsure_runs_and_small_objects_are_looked_at_closer(value, size, expected):
    fitted = SimpleNamespace(confidence_=Confidence(value, size=size))
    assert wants_closer_look(fitted) == expected


def test_the_look_that_agrees_more_with_itself_is_kept():
    def fitted(*judgements: float) -> SimpleNamespace:
        return SimpleNamespace(agreement_=SimpleNamespace(judgements=np.array(judgements)), is_second_opinion=False)

    assert is_better(fitted(0.2, 0.8), fitted(0.7, 0.7))
    assert not is_better(fitted(0.7), fitted(0.7))


@pytest.mark.parametrize("overruled", [False, True])
def test_a_second_opinion_has_to_be_clearly_better(overruled):
    def fitted(judgement: float, is_second_opinion: bool) -> SimpleNamespace:
        agreement = SimpleNamespace(judgements=np.array([judgement]))
        return SimpleNamespace(
            agreement_=agreement, is_second_opinion=is_second_opinion, is_overruled_by=lambda other: overruled
        )

    assert is_better(fitted(0.9, False), fitted(0.5, True)) == overruled
    assert is_better(fitted(0.5, True), fitted(0.9, False)) == overruled


def test_neighbours_grow_with_the_segments():
    assert [count_neighbours(Settings(n_segments=n)) for n in (50, 200, 600)] == [40, 40, 120]


@pytest.mark.parametrize("closer", [False, True])
def test_a_run_keeps_one_look_and_a_repeated_one_takes_none(closer, scenes, tmp_path, monkeypatch):
    monkeypatch.setattr(job, "wants_closer_look", lambda annotator: True)
    monkeypatch.setattr(job, "is_better", lambda one, other: closer)
    monkeypatch.setattr("segvote.steps.voting.detail.DETAILS", {**DETAILS, "fine": 160})
    settings = Settings(n_segments=20, size=96, draw="segments")
    annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=1)
    run = Run(tmp_path / "run")
    assert run.settings == (replace(settings, feature_options={"size": 160}) if closer else settings)
    before = {path: path.stat().st_mtime_ns for path in run.folder.path.rglob("*.png")}
    monkeypatch.setattr(job._Job, "_look", lambda *args, **options: pytest.fail("looked again"))
    annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=1)
    assert {path: path.stat().st_mtime_ns for path in run.folder.path.rglob("*.png")} == before


def test_pictures_are_read_large_enough_for_the_closer_look():
    assert DETAILS["fine"] <= SEEN
