"""Numbers and sizes of objects in the report."""

import json

from segvote.report.objects import format_objects, read_areas
from segvote.report.page import write_report
from segvote.run.run import Run


def test_counts_and_areas_are_those_of_the_coco_file(finished_run):
    coco = json.loads(finished_run.folder.coco_path.read_text())
    areas = read_areas(finished_run)
    assert sorted(area for own in areas.values() for area in own) == sorted(one["area"] for one in coco["annotations"])
    assert {finished_run.bags[index].bag_label for index in areas} == {"with"}
    for index, own in areas.items():
        assert sum(own) == finished_run.read_mask(index).sum()


def test_the_page_shows_a_count_on_each_card(run_copy):
    run = Run(run_copy)
    run.folder.report_path.unlink(missing_ok=True)
    page = write_report(run).read_text()
    assert page.count("<dt>objects</dt>") == sum(bag.bag_label == "with" for bag in run.bags)
    assert "Histogram of the sizes of objects" in page and "Histogram of the number of objects" in page


def test_without_a_coco_file_there_is_no_figure(make_run):
    run = make_run()
    assert read_areas(run) == {} and format_objects(run, {}) == ""
    assert "<dt>objects</dt>" not in write_report(run).read_text()
