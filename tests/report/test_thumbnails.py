"""Thumbnails: small, bounded, and made from whatever is still there."""

import io
import re

from made_runs import make_bag
from PIL import Image

from segvote.report import write_report
from segvote.report.gallery import list_cards
from segvote.report.thumbnails import PAGE_BYTES, choose_size, make_triplet


def test_400_pictures_stay_below_20_megabytes(make_run):
    """Noise is the largest of JPEG files: pictures within their share, and the text of a card, times 400."""
    bags = [make_bag(f"{number}.png", "with") | {"height": 300, "width": 400} for number in range(3)]
    run = make_run(bags=bags)
    share = PAGE_BYTES // 400
    for index in range(3):
        assert make_triplet(run, index, choose_size(400), share).n_bytes <= share
    cards = list(list_cards(run))
    text = max(len(re.sub(r"base64,[^\"]+", "", card).encode()) for card in cards)
    rest = write_report(run).stat().st_size - sum(len(card.encode()) for card in cards)
    assert 400 * (share + text) + rest < 20_000_000


def test_thumbnails_have_the_shape_of_the_image(make_run):
    run = make_run(bags=[make_bag("a.png", "with") | {"height": 300, "width": 200}, make_bag("b.png", "without")])
    triplet = make_triplet(run, 0, 120, PAGE_BYTES)
    for one in (triplet.image, triplet.heat, triplet.mask):
        assert (one.height, one.width) == (120, 80)
        assert Image.open(io.BytesIO(one.data)).size == (80, 120)
