"""`SegmentAnnotator` on plain arrays selects the same segments as `annotate`, to the bit."""

from dataclasses import fields

import numpy as np

from segvote import Geometry, SegmentAnnotator
from segvote.pipeline.opening import reopen
from segvote.run.advice import describe_confidence


def test_arrays_give_what_annotate_gives(finished_run):
    table = reopen(finished_run).table
    geometry = Geometry(**{field.name: getattr(table, field.name) for field in fields(Geometry)})
    annotator = SegmentAnnotator(**finished_run.settings.voter_options)
    annotator.fit(np.array(table.X), table.is_candidate, images=table.images, geometry=geometry)
    result, votes = annotator.vote_.selection, finished_run.votes
    np.testing.assert_array_equal(result.selected, votes["selected"].astype(bool))
    np.testing.assert_array_equal(result.scores, votes["scores"])
    np.testing.assert_array_equal(result.thresholds, votes["thresholds"])
    assert finished_run.confidence == describe_confidence(annotator.confidence_)
