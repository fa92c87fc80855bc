import threading
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from waiting import PATIENCE_SECONDS, wait_for, wait_until

from segvote import annotate, update
from segvote.errors import BadInputError, BusyRunError, UnwritableFileError
from segvote.io.encodings.rle import encode_rle
from segvote.io.images import resize_labels
from segvote.io.imports import read_any
from segvote.method.correct import propagate
from segvote.pipeline.corrected_vote import vote
from segvote.pipeline.opening import reopen
from segvote.pipeline.vote import BaseVote
from segvote.review.engine import Engine
from segvote.review.finishing import export_run
from segvote.review.voting import Voting
from segvote.run.correction_log import Action, CorrectionLog, read_actions
from segvote.run.run import Run


@pytest.fixture
def engine(run):
    engine = Engine(run)
    engine.start()
    yield engine
    engine.stop()


def click(engine, bag=0, segments=(0, 1), value=1):
    return wait_for(engine, engine.actions.set_segments(bag, list(segments), value))


def test_the_page_can_be_used_before_the_votes_are_counted(run):
    engine = Engine(run)  # not started
    np.testing.assert_array_equal(engine.board.snapshot.selected, run.votes["selected"])
    engine.actions.set_segments(0, [3], 1)
    assert engine.board.snapshot.selected[3] and engine.board.corrections.n_undo == 1
    with pytest.raises(BusyRunError, match="first one still runs"):
        engine.explain(0, 0)
    engine.log.close()


def test_undo_brings_back_the_first_scores_to_the_bit(engine):
    first = wait_for(engine, 0)
    click(engine)
    back = wait_for(engine, engine.actions.undo(1))
    np.testing.assert_array_equal(back.scores, first.scores)
    np.testing.assert_array_equal(back.selected, first.selected)
    again = wait_for(engine, engine.actions.redo(2))
    assert (again.user_labels >= 0).sum() == 2


def test_amounts_of_corrections_are_what_they_changed(engine):
    first = wait_for(engine, 0)
    for bag in range(3):
        after = click(engine, bag, [int(np.argmax(first.scores[first.get_slice(bag)]))], 0)
    found = engine.settle()
    # With the corrections in the vote, where they turn anything, before they were propagated; a vote of low
    # confidence is begun anew, and keeps no image.
    kept = found.correction.kept
    expected = np.where(after.spread(kept), found.base.selection.scores, found.refitted.selection.scores)
    changed = np.flatnonzero(after.scores != expected)
    assert 3 < len(changed) < len(first.scores) and not kept.all()
    for flat in changed[:20]:
        bag = int(np.searchsorted(after.offsets, flat, side="right")) - 1
        explanation = engine.explain(bag, int(flat - after.offsets[bag]))
        amount = sum(line.amount for line in explanation.lines if line.kind == "correction")
        assert amount == pytest.approx(after.scores[flat] - expected[flat], abs=1e-9)


def test_a_click_is_answered_while_another_is_voted_on(engine, run, monkeypatch):
    first = wait_for(engine, 0)
    begun, released, refit = threading.Event(), threading.Event(), BaseVote.refit

    def refit_later(*arguments):
        begun.set()
        assert released.wait(PATIENCE_SECONDS)
        return refit(*arguments)

    monkeypatch.setattr(BaseVote, "refit", refit_later)
    one, other = (int(np.argmax(first.scores[first.get_slice(bag)])) for bag in (0, 1))
    engine.actions.set_segments(0, [one], 0)
    assert begun.wait(PATIENCE_SECONDS)
    last = engine.actions.set_segments(1, [other], 0)
    flat = int(first.offsets[1]) + other
    wait_until(
        lambda: engine.board.snapshot.scores[flat] != first.scores[flat]
    )  # propagated, though the vote is held up
    assert engine.last_voted < last
    released.set()
    after = wait_for(engine, last)
    fresh = vote(reopen(Run(run.folder.path))).selection
    np.testing.assert_array_equal(after.scores, fresh.scores)
    np.testing.assert_array_equal(after.selected, fresh.selected)


def test_the_last_image_of_a_kind_cannot_be_moved(engine):
    engine.actions.move(range(5), "without")
    with pytest.raises(BadInputError, match="both kinds"):
        engine.actions.move([5], "without")


def test_export_writes_what_annotate_would_write(engine, run, scenes):
    click(engine, 0, [2, 3, 4], 1)
    wait_for(engine, engine.actions.move([1], "without"))
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


def test_a_voter_that_cannot_vote_again_votes_anew(scenes, tmp_path):
    from segvote.settings import Settings

    settings = Settings(features="color", n_segments=40, size=160, voter="negmin")
    engine = Engine(annotate(scenes / "with", scenes / "without", tmp_path / "negmin", settings, n_jobs=1))
    engine.start()
    after = click(engine, 0, [1], 1)
    assert after.selected[1]
    engine.stop()


def test_a_correction_while_the_votes_are_counted_is_voted_on(run, monkeypatch):
    begun, released, count = threading.Event(), threading.Event(), Voting.open

    def open_later(self, corrections):
        count(self, corrections)
        begun.set()
        assert released.wait(PATIENCE_SECONDS)

    monkeypatch.setattr(Voting, "open", open_later)
    engine = Engine(run)
    engine.start()
    assert begun.wait(PATIENCE_SECONDS)
    best = int(np.argmax(run.votes["scores"][run.get_slice(0)]))
    engine.actions.set_segments(0, [best], 0)
    moved = engine.actions.move([1], "without")
    released.set()
    after = wait_for(engine, moved)
    others = slice(int(after.offsets[2]), None)
    assert np.abs(after.scores[others] - run.votes["scores"][others]).max() > 1e-6
    fresh = Engine(run)
    fresh.start()
    np.testing.assert_array_equal(wait_for(fresh, moved).scores, after.scores)
    for one in (engine, fresh):
        one.stop()


def test_an_export_has_every_action_that_was_saved_before_it(engine, run):
    """Clicks that this server has not read, of `segvote import` or of a second server, are in the file too."""
    wait_for(engine, 0)
    engine._wait = lambda: False  # the thread is busy elsewhere
    engine._mark_dirty()
    engine._thread.join()
    other = CorrectionLog(run.folder.corrections_path)
    labels = run.read_segments(0)["labels"]
    pixels = np.isin(labels, [2, 3])
    record = run.bags[0]
    other.append(Action("set", record.digest, record.name, 1, *labels.shape, str(encode_rle(pixels)["counts"])))
    other.close()
    engine.actions.move([1], "without")
    written = export_run(engine.settle())
    assert written.read_mask(0)[resize_labels(pixels, (record.height, record.width))].all()
    assert written.bags[1].bag_label == "without" and not written.read_mask(1).any()


def test_what_another_process_writes_is_shown_and_voted_on(engine, run):
    wait_for(engine, 0)
    second = CorrectionLog(run.folder.corrections_path)
    number = second.append(Action("accept", run.bags[2].digest, run.bags[2].name, 1))
    second.close()
    assert wait_for(engine, number).accepted[2]


def test_after_a_refused_undo_the_page_can_undo(engine, run):
    wait_for(engine, 0)
    second = CorrectionLog(run.folder.corrections_path)
    second.append(Action("accept", run.bags[2].digest, run.bags[2].name, 1))
    with pytest.raises(BusyRunError, match="another page"):
        engine.actions.undo(0)
    engine.actions.undo(engine.board.corrections.last)
    assert not engine.board.snapshot.accepted[2]
    second.close()


def test_areas_on_the_page_are_those_of_the_report(engine, run):
    first = wait_for(engine, 0)
    np.testing.assert_array_equal(first.covered, [bag.area for bag in run.bags])
    click(engine, 0, [2, 3, 4], 1)
    wait_until(lambda: engine.board.snapshot.is_measured.all())
    shown, uncertainty = engine.board.snapshot.covered, engine.board.snapshot.uncertainty
    run_vote = engine.settle()
    written = export_run(run_vote)
    engine.note_export(run_vote, written)
    np.testing.assert_array_equal(shown, [bag.area for bag in written.bags])
    np.testing.assert_array_equal(uncertainty, [bag.uncertainty for bag in written.bags])
    assert not engine.board.snapshot.change.any()


def test_a_log_that_cannot_be_written_does_not_end_the_votes(engine, run, monkeypatch):
    wait_for(engine, 0)

    def refuse(self, **message):
        raise UnwritableFileError("cannot write log.jsonl (No space left on device)")

    monkeypatch.setattr(type(run.folder), "log", refuse)
    assert click(engine, 0, [1], 1).selected[1]
    assert click(engine, 0, [2], 1).selected[2] and engine.status == "ready"


def test_a_vote_that_fails_is_tried_again_with_the_next_action(engine, monkeypatch):
    wait_for(engine, 0)
    vote = Voting.vote

    def fail(self, *arguments):
        raise ValueError("out of luck")

    monkeypatch.setattr(Voting, "vote", fail)
    engine.actions.set_segments(0, [1], 1)
    wait_until(lambda: engine.status == "failed")
    assert "out of luck" in engine.problem
    monkeypatch.setattr(Voting, "vote", vote)
    number = engine.actions.set_segments(0, [2], 1)
    wait_until(lambda: engine.last_voted == number and engine.status == "ready")


def paint(engine, bag, tool, *points, value=1, radius=3.0, snap=False):
    return engine.actions.paint(bag, tool, np.array(points, dtype=float), value, radius, snap)


def test_painted_pixels_are_exact_on_the_page_and_in_files(engine, run, scenes):
    wait_for(engine, 0)
    before = engine.masks.draw_mask(0)
    corners = [(10, 10), (41, 10), (41, 37), (10, 37)]
    number = paint(engine, 0, "polygon", *corners)
    wait_for(engine, number)
    painted = np.zeros(before.shape, dtype=bool)
    painted[10:37, 10:41] = True
    shown = engine.masks.draw_mask(0)
    assert shown[painted].all()
    wait_until(lambda: engine.board.snapshot.is_measured.all())
    assert engine.board.snapshot.covered[0] == round(float(shown.mean()), 6)
    written = export_run(engine.settle())
    np.testing.assert_array_equal(written.read_mask(0), shown)
    ((part,),) = [one.parts for one in read_any(written.folder.coco_path) if one.name == run.bags[0].name]
    np.testing.assert_array_equal(part.mask, shown)
    run.folder.votes_path.unlink()
    again = annotate(scenes / "with", scenes / "without", run.folder.path, run.settings, n_jobs=1)
    np.testing.assert_array_equal(again.read_mask(0), shown)
    other = replace(run.settings, n_segments=25)  # other segments: the pixels stay
    again = annotate(scenes / "with", scenes / "without", run.folder.path.parent / "other", other, n_jobs=1)
    with closing(CorrectionLog(again.folder.corrections_path)) as log:
        log.append(*read_actions(run.folder.corrections_path))
    assert update(again.folder.path, n_jobs=1).read_mask(0)[painted].all()


def test_painted_pixels_label_the_segments_they_cover(engine, run):
    first = wait_for(engine, 0)
    labels = run.read_segments(0)["labels"]
    best = int(np.argmax(first.scores[first.get_slice(0)]))
    rows, columns = np.nonzero(labels == best)
    corners = (columns.min(), rows.min()), (columns.max() + 1, rows.max() + 1)
    (left, top), (right, bottom) = corners
    number = paint(engine, 0, "polygon", (left, top), (right, top), (right, bottom), (left, bottom), value=0)
    after = wait_for(engine, number)
    assert after.user_labels[best] == 0 and after.corrected[0]
    others = slice(int(after.offsets[1]), None)
    assert np.abs(after.scores[others] - first.scores[others]).max() > 1e-6
    assert not engine.masks.draw_mask(0)[top:bottom, left:right].any()


def test_a_stroke_over_part_of_a_segment_moves_others(engine, run, scenes):
    first = wait_for(engine, 0)
    labels = run.read_segments(0)["labels"]
    best = int(np.argmax(first.scores[first.get_slice(0)]))
    rows, columns = np.nonzero(labels == best)
    top, middle, left, right = rows.min(), int(np.median(rows)), columns.min(), columns.max() + 1
    corners = (left, top), (right, top), (right, middle), (left, middle)
    half = wait_for(engine, paint(engine, 0, "polygon", *corners, value=0))
    shares = engine.voting.get_vote().inputs.painted_shares
    assert -0.8 < shares[best] < -0.1 and half.user_labels[best] == -1
    own, others = half.get_slice(0), slice(int(half.offsets[1]), None)
    np.testing.assert_array_equal(half.scores[own], first.scores[own])
    base = engine.voting.get_vote().base
    moved = propagate(base.estimate, base.similarity, base.selection.user_labels, shares).selection.scores
    assert (moved[others] - first.scores[others]).min() < -1e-6
    np.testing.assert_array_equal(half.scores, base.correct(None, shares).selection.scores)
    engine.stop()
    again = annotate(scenes / "with", scenes / "without", run.folder.path, run.settings, n_jobs=1)
    np.testing.assert_array_equal(again.votes["scores"], half.scores)


def test_a_retouch_changes_pixels_and_no_score(engine):
    first = wait_for(engine, 0)
    before = engine.masks.draw_mask(0)
    x, y = np.argwhere(~before)[0][::-1] + 0.5
    after = wait_for(engine, paint(engine, 0, "brush", (x, y), radius=0.5))
    np.testing.assert_array_equal(after.scores, first.scores)
    assert np.argwhere(engine.masks.draw_mask(0) != before).tolist() == [[int(y), int(x)]]
    assert after.corrected[0] and not after.user_labels.max() >= 0
