"""The benchmark of videos: a disc that moves is found in all frames, and stills are the key frames."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("av")

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from bench_video import measure_drawing, write_disc
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
