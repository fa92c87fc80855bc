"""The thread that votes: it takes states, and votes on the last one it was given."""

from __future__ import annotations

import threading
from collections.abc import Callable

from segvote.review.state import ReviewState


class VoteThread:
    """Votes in a thread of its own; a state that is given during a vote replaces the one that waits.

    Parameters
    ----------
    vote : callable
        Votes on a state and publishes the selection.
    fail : callable
        Takes the error of a vote that failed; the thread goes on with the next state.
    """

    def __init__(self, vote: Callable[[ReviewState], object], fail: Callable[[Exception], None]) -> None:
        self._vote, self._fail = vote, fail
        self._changed = threading.Condition()
        self._waiting: ReviewState | None = None
        self._stop = False
        self._thread = threading.Thread(target=self._work, name="segvote-vote", daemon=True)

    def submit(self, state: ReviewState) -> None:
        """Vote on a state next."""
        with self._changed:
            self._waiting = state
            self._changed.notify()

    def start(self) -> None:
        if self._thread.ident is None:
            self._thread.start()

    def stop(self, timeout: float = 5.0) -> None:
        """Stop after the vote that runs, for which it waits `timeout` seconds at most."""
        with self._changed:
            self._stop = True
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join(timeout)

    def _work(self) -> None:
        while (state := self._take()) is not None:
            try:
                self._vote(state)
            except Exception as error:  # shown on the page; the next action tries again
                self._fail(error)

    def _take(self) -> ReviewState | None:
        """The next state; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting is not None or self._stop)
            state, self._waiting = self._waiting, None
            return None if self._stop else state
