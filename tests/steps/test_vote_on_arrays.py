"""`SegmentAnnotator` on plain arrays selects what `annotate` selects, to the bit."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from segvote import Geometry, Run, SegmentAnnotator, annotate
from segvote.run.settings import Settings
from segvote.steps.reopening import reopen


def fit_on_arrays(run: Run, **parameters: int) -> SegmentAnnotator:
    """The method on what the run extracted, with nothing else of the run."""
    table = reopen(run).table
    geometry = Geometry(**{field.name: getattr(table, field.name) for field in fields(Geometry)})
    annotator = SegmentAnnotator(**parameters)
    return annotator.fit(np.array(table.X), table.is_candidate, images=table.images, geometry=geometry)


def check_equal(run: Run, annotator: SegmentAnnotator) -> None:
    result = annotator.vote_
    np.testing.assert_array_equal(result.selected, run.votes["decisions"].astype(bool))
    np.testing.assert_array_equal(result.scores, run.votes["scores"])
    np.testing.assert_array_equal(result.thresholds, run.votes["thresholds"])
    assert run.confidence == annotator.confidence_.to_dict()


def test_arrays_give_what_annotate_gives(finished_run):
    check_equal(finished_run, fit_on_arrays(finished_run, **finished_run.settings.voter_options))


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["cows", "msrc-face", "coffee-lesions"])
def test_arrays_give_what_annotate_gives_on_photographs(name: str, data_folder: Path, tmp_path: Path):
    folders = data_folder / name / "with", data_folder / name / "without"
    run = annotate(*folders, tmp_path / "run", Settings())
    check_equal(run, fit_on_arrays(run))
