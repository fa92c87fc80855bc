"""What a user waits for after an action is the same work in a run of 200 images as in one of 20."""

import struct
from collections import Counter

import numpy as np
import pytest
from msgspec.structs import replace

from segvote.pipeline import strokes
from segvote.review import masks
from segvote.review.encoding import encode_update
from segvote.review.engine import Engine
from segvote.run.run import Run

N_IMAGES = 10  # of the small run that are repeated
N_ACTIONS = 8


def repeat_images(folder, times):
    """The run with its first images repeated under other names, as if they were that many."""
    run = Run(folder)
    votes = {name: run.votes[name] for name in ("scores", "selected")}
    end, bags = int(run.offsets[N_IMAGES]), run.bags[:N_IMAGES]
    repeated = {name: np.tile(values[:end], times) for name, values in votes.items()}
    repeated["thresholds"] = np.tile(run.votes["thresholds"][:N_IMAGES], times)
    run.bags = run.all_bags = [replace(one, digest=f"{one.digest}-{copy}") for copy in range(times) for one in bags]
    del run.__dict__["offsets"]
    run.__dict__["votes"] = repeated
    return run


def count_calls(monkeypatch, counts, owner, name):
    original = getattr(owner, name)

    def counted(*values, **options):
        counts[name] += 1
        return original(*values, **options)

    monkeypatch.setattr(owner, name, counted)


def act(engine, bag):
    """A click and a stroke on an image; the page fetches what changed and the mask."""
    since = engine.board.snapshot.version
    engine.actions.set_segments(bag, [1, 2], 1)
    engine.actions.paint(bag, "brush", [20.0, 20.0, 60.0, 40.0], 0, radius=4.0)
    engine.masks.encode_mask(bag)
    return struct.unpack("<4I", encode_update(engine.board.snapshot, since)[:16])[3]


def count_work(monkeypatch, folder, times):
    run = repeat_images(folder, times)
    run.folder.corrections_path.unlink(missing_ok=True)
    engine, counts = Engine(run), Counter()  # not started: only what happens before an action is answered
    with monkeypatch.context() as patch:
        count_calls(patch, counts, Run, "read_segments")
        count_calls(patch, counts, masks, "draw_segments")
        count_calls(patch, counts, strokes, "decode_rle")
        counts["bags sent"] = sum(act(engine, bag) for bag in range(N_ACTIONS))
    engine.log.close()
    return counts


def test_an_action_costs_no_more_in_200_images_than_in_20(monkeypatch, run_copy):
    few, many = (count_work(monkeypatch, run_copy, times) for times in (2, 20))
    assert few == many
    assert few["bags sent"] == N_ACTIONS and few["draw_segments"] == N_ACTIONS


@pytest.mark.parametrize("n_before", [1, 6])
def test_an_action_lays_no_stroke_of_other_images_again(monkeypatch, run_copy, n_before):
    engine, counts = Engine(repeat_images(run_copy, 2)), Counter()
    for bag in range(n_before):
        engine.actions.set_segments(bag, [0], 1)
    count_calls(monkeypatch, counts, strokes, "decode_rle")
    engine.actions.set_segments(9, [0], 1)
    assert counts["decode_rle"] == 1
    engine.log.close()
