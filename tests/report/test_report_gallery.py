"""The gallery's order and what its cards say."""

from made_runs import DEFAULT_BAGS

from segvote.report.gallery import count_false_positives, format_card, list_cards, sort_bags
from segvote.report.thumbnails import Triplet
from segvote.run.record import BagRecord

BAGS = [BagRecord(**bag) for bag in DEFAULT_BAGS]


def test_uncertain_masks_come_first_then_the_highest_score():
    names = [BAGS[index].name.split("/")[1] for index in sort_bags(BAGS)]
    assert names == ["torn.png", "fair.png", "clear.png", "loud.png", "quiet.png"]


def test_a_without_image_above_the_threshold_is_false():
    assert count_false_positives(BAGS) == 1


def test_cards_say_score_threshold_uncertainty_area_and_segments():
    card = format_card(BAGS[1], Triplet(), 0)
    for told in ("0.61", "0.200", "0.100", "25 %", "3 of 10", "80 × 60", 'data-rank="0"'):
        assert told in card


def test_a_without_card_shows_its_highest_score():
    card = format_card(BAGS[4], Triplet(), 0)
    assert "highest score" in card and "0.300" in card and "above" in card
    assert "uncertainty" not in card


def test_pictures_stop_where_the_page_is_full(make_run, monkeypatch):
    monkeypatch.setattr("segvote.report.gallery.PAGE_BYTES", 10)
    cards = list(list_cards(make_run()))
    assert "<img" in cards[0]
    assert all("<img" not in card and "too large" in card for card in cards[1:])
