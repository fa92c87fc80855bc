"""Films that are broken or short: one line each, and the rest is annotated."""

import numpy as np
import pytest

from segvote import annotate
from segvote.cli.annotate import print_outcome
from segvote.io.video.files import open_film_writer
from segvote.run.settings import Settings

pytest.importorskip("av")

SETTINGS = Settings(features="color", n_segments=12, size=64)


def write_film(path, n_frames, seed, shows_object):
    path.parent.mkdir(parents=True, exist_ok=True)
    ground = np.random.default_rng(seed).integers(40, 200, (6, 8, 3)).repeat(8, axis=0).repeat(8, axis=1) * [0.2, 1, 1]
    with open_film_writer(path) as writer:
        for number in range(n_frames):
            frame = ground.astype(np.uint8)
            if shows_object:
                frame[16:32, 8 + 3 * number : 24 + 3 * number] = [220, 20, 20]
            writer.write(frame, number / 10)


def test_bad_films_are_one_line_each_and_short_ones_are_drawn(tmp_path, capsys):
    for seed, name in enumerate(("with/a", "with/b", "without/c", "without/d")):
        write_film(tmp_path / f"{name}.mp4", 6, seed, name.startswith("with/"))
    write_film(tmp_path / "with/one.mp4", 1, 7, True)
    film = (tmp_path / "with/a.mp4").read_bytes()
    bad = {
        "empty": (b"", "the file is empty"),
        "text": (b"film" * 100, "not a video that can be opened"),
        "odd": (film.replace(b"avc1", b"zzzz"), "codec"),
    }
    for name, (content, _) in bad.items():
        (tmp_path / f"with/{name}.mp4").write_bytes(content)
    run = annotate(tmp_path / "with", tmp_path / "without", tmp_path / "out", SETTINGS, n_jobs=1)
    record = run.bags[run.find("with/one.mp4")]
    assert len(run) == 5 and record.n_frames == 1 and record.has_mask
    print_outcome(run)
    printed = capsys.readouterr()
    assert "5 videos, 0 images (if that is wrong: --frames images or --frames video)" in printed.out
    for name, (_, reason) in bad.items():
        (line,) = [line for line in printed.err.splitlines() if f"{name}.mp4" in line]
        assert line.startswith("left out: ") and reason in line
