"""Waiting for threads: as long as a busy machine takes."""

import time

PATIENCE_SECONDS = 600


def wait_until(condition):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_for(engine, action):
    """Until the vote on an action is published; the snapshot then."""

    def is_voted():
        assert engine.status != "failed", engine.problem
        return engine.last_voted >= action

    wait_until(is_voted)
    return engine.board.snapshot
