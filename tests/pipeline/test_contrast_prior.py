"""The prior by local contrast: used where peaks tell the folders apart, by how rare a peak is in *without* images."""

from __future__ import annotations

import numpy as np
import pytest

from segvote import annotate
from segvote.method.table import make_table
from segvote.pipeline import contrast_prior
from segvote.pipeline.contrast_prior import prefer_contrast
from segvote.pipeline.opening import reopen
from segvote.run.run import Run
from segvote.settings import Settings

N_IMAGES, N_SEGMENTS, N_FILTERS = 12, 30, 5


@pytest.fixture
def table():
    images = np.repeat(np.arange(2 * N_IMAGES), N_SEGMENTS)
    return make_table(np.zeros((len(images), 2)), np.arange(2 * N_IMAGES) < N_IMAGES, images)


@pytest.fixture
def peaks():
    return np.random.default_rng(0).normal(5, 1, (2 * N_IMAGES, N_SEGMENTS, N_FILTERS))


def test_segments_with_rare_peaks_are_preferred(table, peaks):
    peaks[:N_IMAGES, 7, 3] += 10
    found = prefer_contrast(table, list(peaks)).prior.reshape(peaks.shape[:2])
    assert (found[:N_IMAGES].argmax(axis=1) == 7).all()
    sound = peaks[N_IMAGES:, :, 3]
    as_high = (sound.ravel() >= peaks[2, 4, 3]).sum()
    assert found[2, 4] == pytest.approx(1 - (as_high + 1) / (sound.size + 1))


def test_peaks_that_do_not_tell_folders_apart_are_not_used(table, peaks):
    assert (prefer_contrast(table, list(peaks)).prior == 1).all()


def test_a_filter_must_hold_in_the_other_half_of_the_images(table, peaks):
    peaks[:N_IMAGES:2, 7, 1] += 10
    peaks[1:N_IMAGES:2, 7, 2] -= 10
    peaks[N_IMAGES + 1 :: 2, 7, 1] += 20
    assert (prefer_contrast(table, list(peaks)).prior == 1).all()


def test_a_few_images_choose_no_filter(table, peaks):
    peaks[:N_IMAGES, 7, 3] += 10
    few = make_table(np.zeros((6 * N_SEGMENTS, 2)), np.arange(6) < 3, np.repeat(np.arange(6), N_SEGMENTS))
    assert (prefer_contrast(few, list(peaks[[0, 1, 2, -1, -2, -3]])).prior == 1).all()


def test_a_reopened_run_has_the_prior_that_it_voted_with(scenes, tmp_path, monkeypatch):
    settings = Settings(n_segments=20, size=96, draw="segments", detail="contrast", feature_options={"size": 96})
    monkeypatch.setattr(contrast_prior, "MIN_AUC", 0.0)
    run = annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=1)
    monkeypatch.setattr(contrast_prior, "measure_peaks", lambda *_: pytest.fail("measured again"))
    table = reopen(Run(run.folder.path)).table
    assert 0 <= table.prior.min() < table.prior.max() < 1
