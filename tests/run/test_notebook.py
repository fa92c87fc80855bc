import shutil

from segvote.run.run import N_PICTURES, Run
from segvote.steps.annotate import annotate


def test_a_notebook_shows_counts_and_pictures(finished_run):
    page = finished_run._repr_html_()
    assert "6 with, 6 without, voter ekde" in page
    assert page.count("data:image/jpeg;base64,") == min(N_PICTURES, 6)


def test_missing_pictures_are_left_out_and_names_escaped(finished_run, scenes, tmp_path):
    for bag_label in ("with", "without"):
        shutil.copytree(scenes / bag_label, tmp_path / "<b>" / bag_label)
    run = annotate(
        tmp_path / "<b>" / "with", tmp_path / "<b>" / "without", tmp_path / "<i>", finished_run.settings, n_jobs=1
    )
    shutil.rmtree(tmp_path / "<b>")
    page = Run(run.folder.path)._repr_html_()
    assert "<img" not in page
    assert "&lt;i&gt;" in page


def test_tables_have_one_row_per_bag(finished_run):
    rows = finished_run.to_table()
    assert [row["name"] for row in rows] == [bag.name for bag in finished_run.bags]
    assert rows[0].keys() >= {"bag_label", "score", "area", "uncertainty"}


def test_coco_lists_every_image_and_the_masks_found(finished_run):
    coco = finished_run.to_coco()
    assert len(coco["images"]) == len(finished_run)
    assert len(coco["annotations"]) == sum(bag.n_selected > 0 for bag in finished_run.bags)
