"""The benchmark of videos: a disc that moves is found in all frames, and stills are the key frames."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("av")

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from bench_video import measure_drawing, write_disc, write_stills
from segvote import annotate
from segvote.evaluation.evaluate import evaluate
from segvote.run.settings import Settings


@pytest.fixture(scope="module")
def disc(tmp_path_factory):
    return write_disc(tmp_path_factory.mktemp("disc"))


def test_a_disc_that_moves_over_gravel_is_found_in_all_frames(disc):
    settings = Settings(features="color", n_segments=60, size=160)
    run = annotate(disc / "with", disc / "without", disc / "out", settings, n_jobs=1)
    assert len(run) == 8 and all(bag.n_frames == 16 for bag in run.bags)
    figures = evaluate(run, disc / "masks").to_dict()
    assert figures["frame_miou"] >= 0.9 and figures["video_corloc"] == 1
    iou, flicker = measure_drawing(run, 0, disc / "masks/clip0", 0.0)
    assert iou >= 0.9 and flicker < 0.1


def test_stills_are_the_key_frames_with_their_masks(disc, tmp_path):
    stills = write_stills(disc, tmp_path)
    names = sorted(path.name for path in (stills / "with").iterdir())
    assert names[:5] == [f"clip0-{number:05d}.png" for number in (0, 4, 8, 11, 15)] and len(names) == 20
    assert sorted(path.name for path in (stills / "masks").iterdir()) == names
