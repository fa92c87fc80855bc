import time
from dataclasses import replace

import numpy as np
import pytest

from segvote.errors import BadInputError, BusyRunError
from segvote.review.engine import Engine
from segvote.review.exporting import export_run
from segvote.run.run import Run
from segvote.steps.annotate import annotate
from segvote.steps.reopening import list_segmented_images


def wait_for(engine, action):
    """Until the vote on an action is published."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if engine.status == "failed":
            raise AssertionError(engine.problem)
        if engine.heard >= action:
            return engine.snapshot
        time.sleep(0.02)
    raise AssertionError(f"no vote on action {action}: {engine.status}")


@pytest.fixture
def engine(run):
    engine = Engine(run)
    engine.start()
    yield engine
    engine.stop()


def click(engine, bag=0, segments=(0, 1), value=1):
    return wait_for(engine, engine.set_segments(bag, list(segments), value))


def test_the_page_can_be_used_before_the_votes_are_counted(run):
    engine = Engine(run)  # not started: nobody counts
    np.testing.assert_array_equal(engine.snapshot.decisions, run.votes["decisions"])
    engine.set_segments(0, [3], 1)
    assert engine.snapshot.decisions[3] and engine.corrections.n_undo == 1
    with pytest.raises(BusyRunError, match="still being counted"):
        engine.explain(0, 0)
    engine.log.close()


def test_a_correction_is_heard_in_other_images(engine):
    first = wait_for(engine, 0)
    best = int(np.argmax(first.scores[first.get_slice(0)]))
    after = click(engine, 0, [best], 0)
    assert after.fixed[best] == 0 and not after.decisions[best]
    others = slice(int(after.offsets[1]), None)
    assert np.abs(after.scores[others] - first.scores[others]).max() > 1e-6


def test_undo_brings_back_the_first_scores_to_the_bit(engine):
    first = wait_for(engine, 0)
    click(engine)
    back = wait_for(engine, engine.undo(1))
    np.testing.assert_array_equal(back.scores, first.scores)
    np.testing.assert_array_equal(back.decisions, first.decisions)
    again = wait_for(engine, engine.redo(2))
    assert (again.fixed >= 0).sum() == 2


def test_undo_of_a_page_that_missed_something_is_refused(engine):
    click(engine)
    with pytest.raises(BusyRunError, match="another page"):
        engine.undo(0)


def test_a_second_engine_on_the_same_run_sees_every_click(engine, run):
    click(engine, 2, [4, 5], 1)
    engine.look(3, True)
    other = Engine(run)
    part = run.get_slice(2)
    assert np.flatnonzero(other.snapshot.fixed[part] == 1).tolist() == [4, 5]
    assert other.snapshot.looked.tolist().index(True) == 3
    other.log.close()


def test_amounts_on_the_page_sum_to_the_score_after_a_correction(engine):
    click(engine, 1, [7], 1)
    explanation = engine.explain(0, 5)
    total = sum(line.amount for line in explanation.lines) + explanation.constant
    assert total == pytest.approx(explanation.score, abs=1e-9)
    assert explanation.score == engine.snapshot.scores[5]


def test_a_correction_is_a_line_of_its_own_in_who_voted(engine):
    first = wait_for(engine, 0)
    turned = int(not first.decisions[7])
    click(engine, 0, [7], turned)
    (line,) = [line for line in engine.explain(0, 7).lines if line.kind == "correction"]
    assert (line.bag, line.segment, line.amount > 0) == (0, 7, bool(turned))


def test_every_score_that_changed_has_a_correction_to_thank(engine):
    first = wait_for(engine, 0)
    best = int(np.argmax(first.scores[first.get_slice(0)]))
    after = click(engine, 0, [best], 0)
    changed = np.flatnonzero(after.scores != first.scores)
    assert 1 < len(changed) < len(first.scores)
    for flat in changed[:20]:
        bag = int(np.searchsorted(after.offsets, flat, side="right")) - 1
        explanation = engine.explain(bag, int(flat - after.offsets[bag]))
        amount = sum(line.amount for line in explanation.lines if line.kind == "correction")
        assert amount == pytest.approx(after.scores[flat] - first.scores[flat], abs=1e-9)


def test_a_moved_image_counts_as_the_other_kind_and_its_file_stays(engine, run):
    moved = wait_for(engine, engine.move(0, "without"))
    assert not moved.tags[0] and moved.moved[0] and not moved.decisions[moved.get_slice(0)].any()
    assert run.find_image(0).is_file() and run.find_image(0).parent.name == "with"


def test_the_last_image_of_a_kind_cannot_be_moved(engine):
    wait_for(engine, 0)
    for bag in range(5):
        wait_for(engine, engine.move(bag, "without"))
    with pytest.raises(BadInputError, match="both kinds"):
        engine.move(5, "without")


def test_export_writes_what_annotate_would_write(engine, run, scenes):
    click(engine, 0, [2, 3, 4], 1)
    wait_for(engine, engine.move(1, "without"))
    written = export_run(engine.settle())
    exported = {path.name: path.read_bytes() for path in (written.folder.path / "masks" / "with").iterdir()}
    record, votes = written.folder.record_path.read_bytes(), written.folder.votes_path.read_bytes()
    # Annotate finds nothing to do; and made to do it again, it writes the same.
    annotate(scenes / "with", scenes / "without", run.folder.path, run.settings, n_jobs=1)
    assert written.folder.record_path.read_bytes() == record
    run.folder.votes_path.unlink()
    annotate(scenes / "with", scenes / "without", run.folder.path, run.settings, n_jobs=1)
    assert run.folder.votes_path.read_bytes() == votes
    for name, content in exported.items():
        assert (run.folder.path / "masks" / "with" / name).read_bytes() == content
    assert not Run(run.folder.path).read_mask(1).any()
    labels = run.read_segments(0)["labels"]
    assert Run(run.folder.path).read_mask(0)[np.isin(labels, [2, 3, 4])].all()


def test_a_video_stays_a_video_when_its_run_is_opened_again(run):
    """Otherwise an export would look for an image where a folder of frames lies."""
    run.bags[0] = replace(run.bags[0], n_frames=3)
    assert [bag.n_frames for bag in list_segmented_images(run)][:2] == [3, 0]


def test_segments_that_the_frame_shown_does_not_have_cannot_be_said(run):
    run.bags[0] = replace(run.bags[0], n_segments=run.bags[0].n_segments + 1)
    engine = Engine.__new__(Engine)  # no vote is needed
    engine.run = run
    with pytest.raises(BadInputError, match="other frames"):
        engine.set_segments(0, [run.bags[0].n_segments - 1], 1)


def test_a_voter_that_cannot_vote_again_votes_anew(scenes, tmp_path):
    from segvote.run.settings import Settings

    settings = Settings(features="color", n_segments=40, size=160, voter="negmin")
    engine = Engine(annotate(scenes / "with", scenes / "without", tmp_path / "negmin", settings, n_jobs=1))
    engine.start()
    after = click(engine, 0, [1], 1)
    assert after.decisions[1]
    engine.stop()
