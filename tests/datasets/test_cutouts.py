import numpy as np
import pytest
from scipy import ndimage

from segvote.datasets import cutouts
from segvote.datasets.cutouts import OBJECTS, cut_card, cut_object, open_bundled
from segvote.errors import MissingPartError, UnknownNameError


@pytest.mark.parametrize("name", OBJECTS)
def test_every_object_is_one_piece_with_its_box_filled(name):
    for cutout in OBJECTS[name]():
        assert cutout.image.shape == (*cutout.alpha.shape, 3)
        assert cutout.image.dtype == cutout.alpha.dtype == np.float32
        assert cutout.image.min() >= 0 and cutout.image.max() <= 1
        assert ndimage.label(cutout.alpha > 0.5)[1] == 1
        assert (
            cutout.alpha[0].any() and cutout.alpha[-1].any() and cutout.alpha[:, 0].any() and cutout.alpha[:, -1].any()
        )


def test_coins_are_many_and_round():
    coins = OBJECTS["coin"]()
    assert len(coins) >= 60  # 20 or more of the 24 in the picture, in three metals
    fills = [np.mean(coin.alpha > 0.5) for coin in coins]
    assert min(fills) > 0.65 and max(fills) < 0.85  # a disc fills pi / 4 of its box


def test_the_cup_leaves_the_table_behind():
    # Wood beside the saucer is lighter and less red than the glaze at the saucer's rim.
    cup = OBJECTS["cup"]()[0]
    assert cup.alpha[0, 0] == cup.alpha[-1, -1] == cup.alpha[-1, 0] == 0
    assert 0.7 < np.mean(cup.alpha) < 0.8


def test_no_two_cards_are_alike():
    rng = np.random.default_rng(0)
    cards = [cut_card(rng) for _ in range(30)]
    colours = np.array([card.image.mean(axis=(0, 1)) for card in cards])
    assert len(np.unique(colours.round(3), axis=0)) == 30
    assert all(max(card.alpha.shape) <= cutouts.CARD_SIDE for card in cards)


def test_unknown_object_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match="badge, coin, cup"):
        cut_object("hat", np.random.default_rng(0))


def test_a_picture_that_is_not_installed_is_named():
    with pytest.raises(MissingPartError, match=r"absent\.png"):
        open_bundled("skimage", "data/absent.png")
    with pytest.raises(MissingPartError, match="no_such_package"):
        open_bundled("no_such_package", "a.png")
