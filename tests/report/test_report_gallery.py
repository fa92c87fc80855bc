"""The gallery's order and what its cards say."""

from made_runs import DEFAULT_BAGS

from segvote.report.gallery import count_false_positives, list_cards, sort_bags
from segvote.run.record import BagRecord

BAGS = [BagRecord(**bag) for bag in DEFAULT_BAGS]


def test_uncertain_masks_come_first_then_the_highest_score():
    names = [BAGS[index].name.split("/")[1] for index in sort_bags(BAGS)]
    assert names == ["torn.png", "fair.png", "clear.png", "loud.png", "quiet.png"]


def test_a_without_image_above_the_threshold_is_false():
    assert count_false_positives(BAGS) == 1


def test_pictures_stop_where_the_page_is_full(make_run, monkeypatch):
    monkeypatch.setattr("segvote.report.gallery.PAGE_BYTES", 10)
    cards = list(list_cards(make_run()))
    assert "<img" in cards[0]
    assert all("<img" not in card for card in cards[1:])
