"""The card of a video: a player, and a time line drawn from what its frames say."""

import re
from dataclasses import asdict

import numpy as np
from made_runs import make_bag, write_run

from segvote.io.tables import write_json
from segvote.io.video.files import Frame
from segvote.report.gallery import HEAD, HEIGHT, WIDTH, draw_timeline, format_film
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder
from segvote.steps.video.draw import DrawnFrame
from segvote.steps.video.write import Moment, get_timeline_path, measure_moment, read_timeline

MOMENTS = [Moment(0.0, 0.1, 1.0), Moment(0.5, 0.2, 0.5), Moment(1.0, 0.0, 0.0)]


def write_timeline(run, stem, moments):
    write_json(get_timeline_path(run, stem), {"frames": [asdict(moment) for moment in moments]})


def read_points(svg, name):
    text = re.search(rf'class="{name}" points="([^"]*)"', svg).group(1)
    return np.array([[float(number) for number in point.split(",")] for point in text.split()])


def test_the_line_goes_through_the_heat_of_every_frame():
    points = read_points(draw_timeline(MOMENTS), "heat")
    np.testing.assert_allclose(points, [[0, HEAD], [WIDTH / 2, (HEAD + HEIGHT) / 2], [WIDTH, HEIGHT]])


def test_the_moment_of_a_frame_is_its_area_and_heat():
    frame, heat = Frame(3, 0.25, np.zeros((2, 2, 3), np.uint8)), np.array([[0.8, 0.8], [0.3, 0.1]], np.float32)
    found = measure_moment(DrawnFrame(frame, np.array([[True, True], [False, False]]), heat, 0.125))
    assert found == Moment(0.25, 0.5, 0.8, 0.125)
    nothing = measure_moment(DrawnFrame(frame, np.zeros((2, 2), bool), heat / 2, 0.0))
    assert (nothing.area, nothing.heat) == (0, 0.4)


def test_moments_come_back_and_a_damaged_file_gives_none(tmp_path):
    run = RunFolder(tmp_path)
    assert read_timeline(run, "with/a") == []
    write_timeline(run, "with/a", MOMENTS)
    assert read_timeline(run, "with/a") == MOMENTS
    (tmp_path / "tracks/with/a.timeline.json").write_text('{"frames": [{"time": 1}]}')
    assert read_timeline(run, "with/a") == []


def test_only_a_video_has_a_player_and_its_name_is_escaped(tmp_path):
    bags = (
        make_bag('a "b".png', "with"),
        {**make_bag('c "d".png', "with"), "n_frames": 3},
        make_bag("e.png", "without"),
    )
    run = Run(write_run(tmp_path / "out", bags))
    film = tmp_path / 'out/films/with/c "d".mp4'
    film.parent.mkdir(parents=True)
    film.write_bytes(b"")
    write_timeline(run.folder, 'with/c "d"', MOMENTS)
    assert format_film(run, run.bags[0]) == ""
    page = format_film(run, run.bags[1])
    assert 'src="films/with/c%20%22d%22.mp4"' in page
    assert "timeline" in page
