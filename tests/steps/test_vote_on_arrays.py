"""`SegmentAnnotator` on plain arrays selects what `annotate` selects, to the bit."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from segvote import Geometry, Run, SegmentAnnotator
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
