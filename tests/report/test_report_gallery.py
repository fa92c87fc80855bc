"""The gallery: the order of its cards, thumbnails within a number of bytes, films with a time line."""

import base64
import io
import re
from dataclasses import asdict

import numpy as np
from made_runs import DEFAULT_BAGS, make_bag
from PIL import Image

from segvote.io.tables import write_json
from segvote.io.video.files import Frame
from segvote.pipeline.video.draw import DrawnFrame
from segvote.pipeline.video.write import Moment, get_timeline_path, measure_moment, read_timeline
from segvote.report import write_report
from segvote.report.gallery import (
    HEAD,
    HEIGHT,
    WIDTH,
    count_false_positives,
    draw_timeline,
    format_film,
    list_cards,
    sort_bags,
)
from segvote.report.thumbnails import PAGE_BYTES, choose_size, count_characters, make_triplet
from segvote.run.record import BagRecord
from segvote.run.run_folder import RunFolder

BAGS = [BagRecord(**bag) for bag in DEFAULT_BAGS]
MOMENTS = [Moment(0.0, 0.1, 1.0), Moment(0.5, 0.2, 0.5), Moment(1.0, 0.0, 0.0)]


def test_uncertain_masks_come_first_then_the_highest_score():
    names = [BAGS[index].name.split("/")[1] for index in sort_bags(BAGS)]
    assert names == ["torn.png", "fair.png", "clear.png", "loud.png", "quiet.png"]
    assert count_false_positives(BAGS) == 1


def test_pictures_stop_where_the_page_is_full(make_run, monkeypatch):
    monkeypatch.setattr("segvote.report.gallery.PAGE_BYTES", 10)
    cards = list(list_cards(make_run(), {}))
    assert "<img" in cards[0]
    assert all("<img" not in card for card in cards[1:])


def test_400_pictures_stay_below_20_megabytes(make_run):
    """Noise is the largest of JPEG files: pictures within their share, and the text of a card, times 400."""
    run = make_run(bags=[make_bag(f"{number}.png", "with") | {"height": 300, "width": 400} for number in range(3)])
    share = PAGE_BYTES // 400
    assert all(count_characters(make_triplet(run, index, choose_size(400), share)) <= share for index in range(3))
    cards = list(list_cards(run, {}))
    text = max(len(re.sub(r"base64,[^\"]+", "", card).encode()) for card in cards)
    rest = write_report(run).stat().st_size - sum(len(card.encode()) for card in cards)
    assert 400 * (share + text) + rest < 20_000_000


def test_thumbnails_have_the_shape_of_the_image(make_run):
    run = make_run(bags=[make_bag("a.png", "with") | {"height": 300, "width": 200}, make_bag("b.png", "without")])
    for one in make_triplet(run, 0, 120, PAGE_BYTES):
        assert (one.width, one.height) == (80, 120)
        data = base64.b64decode(one.source.partition("base64,")[2])
        assert Image.open(io.BytesIO(data)).size == (80, 120)


def test_the_line_goes_through_the_heat_of_every_frame():
    text = re.search('class="heat" points="([^"]*)"', draw_timeline(MOMENTS)).group(1)
    points = [[float(number) for number in point.split(",")] for point in text.split()]
    np.testing.assert_allclose(points, [[0, HEAD], [WIDTH / 2, (HEAD + HEIGHT) / 2], [WIDTH, HEIGHT]])


def test_the_moment_of_a_frame_is_its_area_and_heat():
    frame, heat = Frame(3, 0.25, np.zeros((2, 2, 3), np.uint8)), np.array([[0.8, 0.8], [0.3, 0.1]], np.float32)
    found = measure_moment(DrawnFrame(frame, np.array([[True, True], [False, False]]), heat, 0.125))
    assert found == Moment(0.25, 0.5, 0.8, 0.125)
    nothing = measure_moment(DrawnFrame(frame, np.zeros((2, 2), bool), heat / 2, 0.0))
    assert (nothing.area, nothing.heat) == (0, 0.4)


def write_timeline(folder, stem):
    write_json(get_timeline_path(folder, stem), {"frames": [asdict(moment) for moment in MOMENTS]})


def test_moments_come_back_and_a_damaged_file_gives_none(tmp_path):
    run = RunFolder(tmp_path)
    assert read_timeline(run, "with/a") == []
    write_timeline(run, "with/a")
    assert read_timeline(run, "with/a") == MOMENTS
    (tmp_path / "tracks/with/a.timeline.json").write_text('{"frames": [{"time": 1}]}')
    assert read_timeline(run, "with/a") == []


def test_only_a_video_has_a_player_and_its_name_is_escaped(make_run):
    bags = [make_bag("a.png", "with"), {**make_bag('c "d".png', "with"), "n_frames": 3}, make_bag("e.png", "without")]
    run = make_run(bags=bags)
    film = run.folder.path / 'films/with/c "d".mp4'
    film.parent.mkdir(parents=True)
    film.write_bytes(b"")
    write_timeline(run.folder, 'with/c "d"')
    assert format_film(run, run.bags[0]) == ""
    page = format_film(run, run.bags[1])
    assert 'src="films/with/c%20%22d%22.mp4"' in page
    assert "timeline" in page
