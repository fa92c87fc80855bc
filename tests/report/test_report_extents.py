"""The strip of extents at the top of the report."""

import numpy as np

from segvote.method.extents import N_EXTENTS
from segvote.pipeline.extent import list_selections
from segvote.report import write_report
from segvote.report.extents import choose_images, format_extents


def test_the_strip_shows_every_image_at_every_extent(finished_run):
    strip = format_extents(finished_run)
    assert strip.count("<tr>") == 1 + len(choose_images(finished_run))
    assert strip.count("<img") == N_EXTENTS * len(choose_images(finished_run))
    assert strip.count('<th scope="col" class="chosen"') == 1
    assert f"<code>segvote extent {finished_run.folder.path} 3</code>" in strip


def test_selections_are_nested(finished_run):
    selections = list_selections(finished_run)
    assert (selections[:-1] <= selections[1:]).all()
    np.testing.assert_array_equal(selections[finished_run.extent - 1], finished_run.votes["selected"])


def test_damaged_extents_leave_the_rest_of_the_page(run_copy, finished_run):
    (run_copy / "votes" / "extents.npz").write_bytes(b"nothing")
    run = type(finished_run)(run_copy)
    assert "extents cannot be shown" in format_extents(run)
    assert 'id="cards"' in write_report(run).read_text()
