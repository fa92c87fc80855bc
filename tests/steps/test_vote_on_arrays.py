"""`SegmentAnnotator` on plain arrays selects the same segments as `annotate`, to the bit."""

from dataclasses import fields

import numpy as np

from segvote import Geometry, SegmentAnnotator
from segvote.steps.reopening import reopen


def test_arrays_give_what_annotate_gives(finished_run):
    table = reopen(finished_run).table
    geometry = Geometry(**{field.name: getattr(table, field.name) for field in fields(Geometry)})
    annotator = SegmentAnnotator(**finished_run.settings.voter_options)
    annotator.fit(np.array(table.X), table.is_candidate, images=table.images, geometry=geometry)
    result, votes = annotator.vote_, finished_run.votes
    np.testing.assert_array_equal(result.selected, votes["decisions"].astype(bool))
    np.testing.assert_array_equal(result.scores, votes["scores"])
    np.testing.assert_array_equal(result.thresholds, votes["thresholds"])
    assert finished_run.confidence == annotator.confidence_.to_dict()
