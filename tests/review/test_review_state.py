"""One read of the log and one replay for each action, however long the log is."""

import contextlib
import sqlite3
from collections import Counter

import numpy as np
import pytest
from waiting import wait_for

from segvote.pipeline import strokes
from segvote.pipeline.user_labels import label_segments
from segvote.review.engine import Engine
from segvote.review.state import StateReader
from segvote.run import correction_log
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.corrections import History, replay


def count_work(monkeypatch):
    """Counts rows that are decoded, actions that are replayed, and strokes that are drawn."""
    counts = Counter()
    decode, extend, draw = correction_log._read_row, History.extend, strokes.decode_rle

    def count_row(*arguments):
        counts["rows"] += 1
        return decode(*arguments)

    def count_actions(self, actions):
        counts["replays"] += 1
        counts["actions"] += len(actions)
        return extend(self, actions)

    def count_stroke(*arguments):
        counts["strokes"] += 1
        return draw(*arguments)

    monkeypatch.setattr(correction_log, "_read_row", count_row)
    monkeypatch.setattr(History, "extend", count_actions)
    monkeypatch.setattr(strokes, "decode_rle", count_stroke)
    return counts


def fill_log(run, n_actions):
    """Clicks on all images in turn, as a long review leaves them."""
    with contextlib.closing(CorrectionLog(run.folder.corrections_path)) as log:
        rows = []
        for number in range(n_actions):
            bag = run.bags[number % len(run)]
            rows.append(Action("set", bag.digest, bag.name, number % 2, 2, 2, "04"))
        log.append(*rows)


@pytest.mark.parametrize("n_before", [10, 1000])
def test_a_click_is_read_and_replayed_once(run, monkeypatch, n_before):
    fill_log(run, n_before)
    engine = Engine(run)
    engine.actions.set_segments(0, [0], 1)
    with monkeypatch.context() as patch:
        counts = count_work(patch)
        engine.actions.set_segments(0, [1], 1)
    engine.log.close()
    assert counts == {"rows": 1, "replays": 1, "actions": 1, "strokes": 1}


def test_a_vote_reads_nothing_from_the_log(run, monkeypatch):
    engine = Engine(run)
    engine.start()
    wait_for(engine, 0)
    with monkeypatch.context() as patch:
        counts = count_work(patch)
        wait_for(engine, engine.actions.set_segments(0, [1], 1))
        assert counts["rows"] == counts["replays"] == counts["actions"] == 1
    engine.stop()


def test_a_state_made_click_by_click_is_that_of_the_whole_log(run):
    """Of the page, the threads and a run that is opened again: the same labels."""
    engine, rng = Engine(run), np.random.default_rng(0)
    for _ in range(12):
        bag = int(rng.integers(len(run)))
        engine.actions.set_segments(bag, [int(rng.integers(run.bags[bag].n_segments))], int(rng.integers(-1, 2)))
        if rng.random() < 0.3:
            engine.actions.undo(engine.board.state.last)
    actions, state = engine.log.read(), engine.board.state
    engine.log.close()
    assert state.corrections == replay(actions)
    fresh = StateReader(run).extend(History(), actions)
    np.testing.assert_array_equal(state.user.user_labels, fresh.user.user_labels)
    np.testing.assert_array_equal(state.user.painted_shares, fresh.user.painted_shares)
    plain, *_ = label_segments(run.folder, StateReader(run)._images, replay(actions))
    np.testing.assert_array_equal(state.user.user_labels, plain)


def test_the_page_names_damaged_actions(run):
    fill_log(run, 3)

    with contextlib.closing(sqlite3.connect(run.folder.corrections_path, isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER never_change")
        connection.execute("UPDATE actions SET value = 1 WHERE number = 1")
    engine = Engine(run)
    assert engine.board.corrections.lost == (1,) and engine.board.corrections.n_undo == 3
    engine.log.close()
