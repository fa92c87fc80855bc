"""Outlines reach the decision: measured once with the segments, learned on the run, kept for images never seen."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from segvote.evaluation.stress_tables import take_bags
from segvote.io.images import read_image, resize_image
from segvote.segmentation.colour import convert_to_lab
from segvote.steps.prediction.model import read_model
from segvote.steps.prediction.predictor import Predictor
from segvote.steps.reopening import reopen
from segvote.steps.voting_step import decide_bags


@pytest.fixture
def table(finished_run):
    return reopen(finished_run).table


def decide_again(table, run, **change):
    votes = run.votes["votes"]
    return decide_bags(table, SimpleNamespace(scores_=votes, weights_=votes), replace(run.settings, **change))


def test_the_colours_of_segments_are_those_of_the_picture(finished_run):
    segments = finished_run.read_segments(0)
    lab = convert_to_lab(resize_image(read_image(finished_run.find_image(0)), finished_run.settings.size))
    for segment in range(3):
        np.testing.assert_allclose(
            segments["colours"][segment], lab[segments["labels"] == segment].mean(axis=0), rtol=1e-4, atol=1e-3
        )
    assert len(segments["lengths"]) == len(segments["edges"])


def test_every_image_of_a_run_has_outlines(table):
    assert len(table.outlines) == len(table.tags)
    assert all(len(one.contrasts) == len(edges) for one, edges in zip(table.outlines, table.edges, strict=True))


def test_outlines_follow_their_bags(table):
    some = take_bags(table, np.array([3, 1]))
    assert [one is table.outlines[bag] for one, bag in zip(some.outlines, (3, 1), strict=True)] == [True, True]


def test_a_table_without_outlines_is_decided_by_otsu(table, finished_run):
    blind = decide_again(replace(table, outlines=()), finished_run, decision="outlines")
    otsu = decide_again(table, finished_run, decision="otsu")
    assert blind.shift == 0
    np.testing.assert_array_equal(blind.thresholds, otsu.thresholds)


def test_a_model_keeps_the_shift_of_its_run(table, finished_run):
    model = read_model(finished_run.folder.path)
    shift = decide_again(table, finished_run).shift
    assert model.arrays["shift"].tolist() == [shift]


def test_images_never_seen_are_decided_with_the_shift_of_the_run(table, finished_run):
    predictor = Predictor(read_model(finished_run.folder.path), 0.3)
    scores, areas = table.split(finished_run.votes["scores"])[0], table.split(table.areas)[0]
    choice = predictor.choose(scores, areas)
    assert choice.contains
    assert choice.threshold == pytest.approx(finished_run.votes["thresholds"][0])
