import sqlite3

import numpy as np
import pytest
from msgspec.structs import replace

from segvote.errors import BadInputError, BusyRunError
from segvote.inputs.bags import Bag
from segvote.io.encodings.rle import encode_rle
from segvote.pipeline.strokes import Canvas
from segvote.run.correction_log import Action, CorrectionLog, read_actions
from segvote.run.corrections import move_bags, replay


def stroke(mask, value, image="a"):
    return Action("set", image, "with/a.png", value, *mask.shape, str(encode_rle(mask)["counts"]))


def fix_segments(strokes, labels):
    return Canvas(labels.shape, strokes).label_segments(labels)


def block(*place, size=(8, 8)):
    mask = np.zeros(size, dtype=bool)
    mask[place] = True
    return mask


TOP, LEFT = block(slice(0, 4)), block(slice(None), slice(0, 4))
QUARTERS = np.kron(np.arange(4).reshape(2, 2), np.ones((4, 4), dtype=int))


def test_another_process_reads_appended_actions(tmp_path):
    log = CorrectionLog(tmp_path / "review.sqlite")
    assert [log.append(stroke(TOP, 1)), log.append(Action("undo"))] == [1, 2]
    assert [action.kind for action in read_actions(tmp_path / "review.sqlite")] == ["set", "undo"]
    log.close()


def test_a_log_that_does_not_exist_says_nothing(tmp_path):
    assert read_actions(tmp_path / "review.sqlite") == []
    assert not (tmp_path / "review.sqlite").exists()


def test_nothing_in_the_log_can_be_changed_or_deleted(tmp_path):
    log = CorrectionLog(tmp_path / "review.sqlite")
    log.append(stroke(TOP, 1))
    for sentence in ("UPDATE actions SET value = 0", "DELETE FROM actions"):
        with pytest.raises(sqlite3.DatabaseError, match="append only"):
            log._writer.execute(sentence)
    assert log.read()[0].value == 1
    log.close()


def test_an_append_that_expects_another_state_writes_nothing(tmp_path):
    log = CorrectionLog(tmp_path / "review.sqlite")
    log.append(stroke(TOP, 1))
    with pytest.raises(BusyRunError, match="look again"):
        log.append(Action("undo"), expected=0)
    assert len(log.read()) == 1
    log.append(Action("undo"), expected=1)
    log.close()


def test_undo_and_redo_have_no_end():
    actions = [stroke(TOP, 1), stroke(LEFT, 0), Action("undo"), Action("undo"), Action("undo"), Action("redo")]
    corrections = replay(actions)
    assert [one.value for one in corrections.strokes["a"]] == [1]
    assert (corrections.n_undo, corrections.n_redo) == (1, 1)


def test_a_new_action_forgets_what_was_undone():
    corrections = replay([stroke(TOP, 1), Action("undo"), stroke(LEFT, 0), Action("redo")])
    assert [one.value for one in corrections.strokes["a"]] == [0] and corrections.n_redo == 0


def test_undone_corrections_do_not_change_the_digest():
    assert replay([stroke(TOP, 1), Action("undo")]).digest == replay([]).digest == ""
    assert replay([stroke(TOP, 1)]).digest != replay([stroke(TOP, 0)]).digest
    assert replay([stroke(TOP, 1), Action("accept", "a", value=1)]).digest == replay([stroke(TOP, 1)]).digest


@pytest.mark.parametrize(
    "choice", [Action("extent", value=3), Action("extent", "a", value=4), Action("alternative", value=1)]
)
def test_a_choice_that_stands_changes_nothing(choice):
    assert not replay([]).has_choice(choice) and replay([choice]).has_choice(choice)
    assert not replay([choice, replace(choice, value=0 if choice.kind == "alternative" else 5)]).has_choice(choice)


def test_an_extent_of_all_images_is_chosen_anew_over_those_of_single_ones():
    of_all = Action("extent", value=3)
    assert not replay([of_all, Action("extent", "a", value=4)]).has_choice(of_all)


def test_a_segment_takes_what_more_than_half_of_it_was_given():
    assert fix_segments([stroke(TOP, 1)], QUARTERS).tolist() == [1, 1, -1, -1]
    assert fix_segments([stroke(block(slice(0, 2)), 1)], QUARTERS).tolist() == [-1, -1, -1, -1]
    assert fix_segments([stroke(block(slice(0, 3)), 1)], QUARTERS).tolist() == [1, 1, -1, -1]


def test_later_strokes_lie_above_earlier_ones():
    assert fix_segments([stroke(TOP, 1), stroke(LEFT, 0)], QUARTERS).tolist() == [0, 1, 0, -1]
    assert fix_segments([stroke(TOP, 1), stroke(LEFT, -1)], QUARTERS).tolist() == [-1, 1, -1, -1]


def measure_painted(*strokes):
    canvas = Canvas(QUARTERS.shape)
    canvas.show(strokes)
    return canvas.measure_painted(QUARTERS).tolist()


def paint(rows, value):
    return replace(stroke(block(rows), value), kind="paint")


def test_painted_shares_are_object_less_background():
    assert measure_painted(paint(slice(0, 2), 1)) == [0.5, 0.5, 0.0, 0.0]
    assert measure_painted(paint(slice(0, 3), 1), paint(slice(0, 1), 0)) == [0.25, 0.25, 0.0, 0.0]
    assert measure_painted(paint(slice(0, 2), 0), stroke(LEFT, 1)) == [0.0, -0.5, 0.0, 0.0]
    retouch = np.zeros(QUARTERS.shape, dtype=bool)
    retouch[0, 0] = True
    assert measure_painted(replace(stroke(retouch, 1), kind="paint")) == [0.0] * 4


def test_corrections_hold_for_other_segments_and_sizes():
    finer = np.arange(16 * 16).reshape(16, 16)  # every pixel a segment, at twice the size
    fixed = fix_segments([stroke(TOP, 1)], finer).reshape(16, 16)
    assert (fixed[:8] == 1).all() and (fixed[8:] == -1).all()


def test_a_moved_bag_keeps_its_name_and_file(tmp_path):
    bag = Bag("with/a.png", "with", tmp_path / "a.png", "a")
    (moved,) = move_bags([bag], replay([Action("move", "a", value=0)]))
    assert (moved.bag_label, moved.name, moved.path) == ("without", "with/a.png", bag.path)


@pytest.mark.parametrize("seed", range(5))
def test_a_canvas_that_takes_strokes_back_equals_a_new_one(seed):
    rng = np.random.default_rng(seed)
    canvas, strokes = Canvas(QUARTERS.shape), []
    for _ in range(200):
        if strokes and rng.random() < 0.45:
            strokes = strokes[: -int(rng.integers(1, 4))]
        else:
            pixels = rng.random(QUARTERS.shape) < rng.choice([0, 0.02, 0.5])
            kind = ("set", "paint", "accept")[rng.choice(3, p=[0.45, 0.45, 0.1])]
            value = 1 if kind == "accept" else int(rng.integers(-1, 2))
            strokes = [*strokes, replace(stroke(pixels, value), kind=kind)]
        canvas.show(strokes)
        anew = Canvas(QUARTERS.shape, strokes)
        assert (canvas.values == anew.values).all() and (canvas.exact == anew.exact).all()


def test_a_stroke_too_large_is_refused():
    huge = Action("paint", "a", "with/a.png", 1, 1 << 15, 1 << 15, "0PPPPP0")
    with pytest.raises(BadInputError, match="pixels"):
        Canvas((8, 8)).show([huge])
