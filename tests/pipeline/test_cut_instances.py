import numpy as np

from segvote.io.encodings.rle import encode_rle
from segvote.pipeline.strokes import label_instances
from segvote.run.correction_log import Action
from segvote.run.corrections import replay

SIZE = (40, 60)


def draw(*boxes):
    """Boxes as (top, bottom, left, right)."""
    mask = np.zeros(SIZE, dtype=bool)
    for top, bottom, left, right in boxes:
        mask[top:bottom, left:right] = True
    return mask


def act(kind, pixels, number=1):
    return Action(kind, "image", "image.png", 0, *pixels.shape, str(encode_rle(pixels)["counts"]), number)


LEFT, RIGHT, BRIDGE = (10, 30, 5, 25), (10, 30, 35, 55), (18, 22, 25, 35)


def test_undivided_instances_are_connected_regions():
    instances = label_instances(draw((30, 38, 2, 8), (2, 8, 40, 50), (2, 8, 10, 20)), [])
    assert instances.max() == 3
    assert (instances[3, 12], instances[3, 42], instances[32, 4]) == (1, 2, 3)


def test_a_cut_divides_an_instance_and_loses_no_pixel():
    mask = draw(LEFT, RIGHT, BRIDGE)
    instances = label_instances(mask, [act("cut", draw((0, 40, 30, 31)))])
    np.testing.assert_array_equal(instances > 0, mask)
    assert instances.max() == 2 and instances[20, 10] != instances[20, 50]
    # The line's own pixels go with the nearer side.
    assert instances[20, 29] == instances[20, 10]


def test_a_line_that_ends_inside_divides_nothing():
    assert label_instances(draw(LEFT), [act("cut", draw((0, 20, 15, 16)))]).max() == 1


def test_a_cut_leaves_crumbs_on_the_rim_with_the_nearest_part():
    # Four pixels in the corner are no object.
    assert label_instances(draw(LEFT), [act("cut", draw((10, 13, 7, 8), (12, 13, 5, 8)))]).max() == 1


def test_a_join_makes_one_of_two_and_takes_a_cut_back():
    apart, cut = draw(LEFT, RIGHT), act("cut", draw((0, 40, 30, 31)))
    assert label_instances(apart, [act("join", apart)]).max() == 1
    mask = draw(LEFT, RIGHT, BRIDGE)
    assert label_instances(mask, [cut, act("join", mask)]).max() == 1
    assert label_instances(mask, [act("join", mask), cut]).max() == 2


def test_a_join_holds_when_the_mask_changes():
    join = act("join", draw(LEFT, RIGHT))
    third = (32, 39, 5, 55)
    grown = label_instances(draw((8, 31, 2, 27), (9, 31, 33, 58), third), [join])
    assert grown.max() == 2 and grown[20, 10] == grown[20, 50] != grown[35, 10]
    shrunk = label_instances(draw((15, 25, 10, 20), (15, 25, 40, 50)), [join])
    assert shrunk.max() == 1


def test_a_division_made_on_a_larger_grid_is_laid_over_the_image():
    line = np.zeros((80, 120), dtype=bool)
    line[:, 60:62] = True
    assert label_instances(draw(LEFT, RIGHT, BRIDGE), [act("cut", line)]).max() == 2


def test_divisions_are_replayed_and_undone_and_change_no_mask():
    cut, join = act("cut", draw(LEFT), 1), act("join", draw(LEFT), 2)
    standing = replay([cut, join])
    assert [one.kind for one in standing.divisions["image"]] == ["cut", "join"]
    assert standing.digest == "" and standing.n_undo == 2
    undone = replay([cut, join, Action("undo", number=3)])
    assert [one.kind for one in undone.divisions["image"]] == ["cut"]


def test_images_that_an_undo_changes_are_found():
    cut, accept = act("cut", draw(LEFT), 1), Action("accept", "other", value=1, number=2)
    before = replay([cut, accept])
    after = replay([cut, accept, Action("undo", number=3)])
    assert after.list_changed(before) == {"other"} == before.list_changed(after)
    assert replay([]).list_changed(before) == {"image", "other"}
