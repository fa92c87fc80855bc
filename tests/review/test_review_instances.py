"""Instances in the review: cut, joined, told to the page and exported."""

import json

import numpy as np
import pytest

from segvote import export
from segvote.errors import BadInputError
from segvote.review.engine import Engine
from segvote.run.correction_log import read_actions


@pytest.fixture
def engine(run):
    """Two squares and a bridge between them are the mask of the first image; nobody votes."""
    engine = Engine(run)
    engine.actions.clear([0])
    for left, top, right, bottom in ((20, 20, 50, 50), (70, 20, 100, 50), (50, 30, 70, 36)):
        engine.actions.paint(0, "polygon", [left, top, right, top, right, bottom, left, bottom], 1)
    yield engine
    engine.log.close()


CUT = np.array([(60.5, 10.0), (60.5, 60.0)])


def test_a_cut_divides_and_is_one_action_that_undo_takes_back(engine, run):
    before = engine.masks.draw_mask(0)
    assert engine.masks.label_instances(0).max() == 1
    number = engine.actions.cut(0, CUT)
    assert engine.masks.label_instances(0).max() == 2
    np.testing.assert_array_equal(engine.masks.draw_mask(0), before)
    assert [action.kind for action in read_actions(run.folder.corrections_path)][-1] == "cut"
    engine.actions.undo(number)
    assert engine.masks.label_instances(0).max() == 1
    engine.actions.redo(number + 1)
    assert engine.masks.label_instances(0).max() == 2


def test_a_line_that_divides_nothing_is_refused_and_not_kept(engine, run):
    n_actions = len(read_actions(run.folder.corrections_path))
    for line in (CUT + [80, 0], CUT[:1] + [0, 22]):
        with pytest.raises(BadInputError, match="divides no object"):
            engine.actions.cut(0, line)
    with pytest.raises(BadInputError, match="covers no pixel"):
        engine.actions.cut(0, CUT - 1000)
    assert len(read_actions(run.folder.corrections_path)) == n_actions


def test_a_join_takes_the_instances_under_the_places(engine):
    engine.actions.cut(0, CUT)
    engine.actions.join(0, np.array([(25.5, 25.5), (90.5, 40.5)]))
    assert engine.masks.label_instances(0).max() == 1


@pytest.mark.parametrize("places", [[(25.5, 25.5)], [(25, 25), (30, 30)], [(25, 25), (1, 1)], [(25, 25), (-5, 9999)]])
def test_a_join_of_fewer_than_two_is_refused(engine, places):
    engine.actions.cut(0, CUT)
    with pytest.raises(BadInputError, match="at least two"):
        engine.actions.join(0, np.array(places, dtype=float))


def test_export_writes_the_instances_that_were_cut_and_joined(run, tmp_path):
    mask = run.read_mask(0)
    rows, columns = np.nonzero(mask)
    n_regions = count_objects(run, tmp_path / "before")
    engine = Engine(run)
    middle = float(np.median(columns)) + 0.5
    engine.actions.cut(0, np.array([(middle, rows.min() - 2.0), (middle, rows.max() + 2.0)]))
    n_instances = int(engine.masks.label_instances(0).max())
    assert n_instances > n_regions
    assert count_objects(run, tmp_path / "cut") == n_instances
    everywhere = np.argwhere(mask)[:, ::-1] + 0.5
    engine.actions.join(0, everywhere[:: max(1, len(everywhere) // 4000)])
    assert count_objects(run, tmp_path / "joined") < n_instances
    engine.log.close()


def count_objects(run, folder):
    """Objects of the first image in an export with instances."""
    path = export(run, "coco", folder, instances=True, val_share=0)
    content = json.loads(path.read_text())
    number = next(image["id"] for image in content["images"] if image["file_name"] == run.bags[0].name)
    return sum(one["image_id"] == number for one in content["annotations"])


def decode(content):
    data = content
    height, width, n_listed, n_instances = np.frombuffer(data, "<u4", 4)
    listed = np.frombuffer(data, "<u4", 7 * n_listed, 16).reshape(-1, 7)
    return listed, np.frombuffer(data, "<u2", height * width, 16 + 28 * n_listed).reshape(height, width), n_instances


def test_the_page_is_told_area_box_and_place_of_instances(engine):
    engine.actions.cut(0, CUT)
    instances = engine.masks.label_instances(0)
    listed, shown, n_instances = decode(engine.masks.encode_instances(0))
    assert n_instances == 2
    np.testing.assert_array_equal(shown, instances)
    for number, (area, left, top, width, height, x, y) in enumerate(listed, start=1):
        own = instances == number
        assert area == own.sum() and own[top : top + height, left : left + width].sum() == area
        assert own[y, x]
