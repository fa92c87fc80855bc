"""The strip of extents at the top of the report."""

import numpy as np

from segvote.method.extents import N_LEVELS
from segvote.report import write_report
from segvote.report.extents import choose_images, draw_levels, find_chosen, format_extents, list_selections
from segvote.steps.extent import change_extent


def test_the_strip_shows_every_image_at_every_extent(finished_run):
    strip = format_extents(finished_run)
    assert strip.count("<tr>") == 1 + len(choose_images(finished_run))
    assert strip.count("<img") == N_LEVELS * len(choose_images(finished_run))
    assert strip.count('<th scope="col" class="chosen"') == 1
    assert "<code>segvote extent . 3</code>" in strip


def test_selections_are_nested(finished_run):
    selections = list_selections(finished_run)
    assert (selections[:-1] <= selections[1:]).all()
    np.testing.assert_array_equal(selections[finished_run.extent - 1], finished_run.votes["decisions"])
    assert len(draw_levels(finished_run, 0, selections)) == N_LEVELS


def test_the_extent_of_an_image_alone_is_marked(run_copy):
    run = change_extent(change_extent(run_copy, 4), 1, "with/with-000.png")
    selections = list_selections(run)
    assert find_chosen(run, run.find("with/with-000.png"), selections) == 1
    assert find_chosen(run, run.find("with/with-001.png"), selections) == 4


def test_damaged_extents_leave_the_rest_of_the_page(run_copy, finished_run):
    (run_copy / "votes" / "extents.npz").write_bytes(b"nothing")
    run = type(finished_run)(run_copy)
    assert "extents cannot be shown" in format_extents(run)
    assert 'id="cards"' in write_report(run).read_text()
