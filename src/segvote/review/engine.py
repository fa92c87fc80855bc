"""The part that thinks while the page stays quick: one thread that loads the run, votes, and publishes snapshots.

A click is written to the log first; then the thread reads the log, shows the word at once, and lets all that is like
it hear it; the first vote stands. What the page ends on is what `annotate` would write.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from segvote.errors import BadInputError, BusyRunError, SegvoteError
from segvote.evaluation.explain import SegmentExplanation, explain_segment
from segvote.io.rle import encode_rle
from segvote.review.masks import measure_redrawn
from segvote.review.state import Snapshot, hear, make_snapshot, measure_dissent, note, say
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.corrections import Corrections, fix_segments, replay
from segvote.run.run import Run
from segvote.steps.reopening import Voted, list_segmented_images, reopen, vote
from segvote.steps.table import Table
from segvote.steps.voting_step import Verdict, decide_bags, vote_on_tags
from segvote.types import WITH, WITHOUT
from segvote.voters import VOTERS

__all__ = ["Engine"]

# Whose opinion is set beside that of a voter that keeps no votes: quick, and of another kind.
RIVAL = "cam"


class Engine:
    """State of one review.

    Parameters
    ----------
    run
        A finished run.
    tell
        Called, from any thread, whenever there is something new.
    """

    def __init__(self, run: Run, tell: Callable[[], None] = lambda: None) -> None:
        self.run, self.tell = run, tell
        self.log = CorrectionLog(run.folder.corrections_path)
        self.corrections: Corrections = replay(self.log.read())
        self.status, self.problem = "loading", ""
        self.heard = -1  # number of the last action that was voted on
        self._wake = threading.Condition()
        # Held while the voter changes: an explanation must not mix two votes.
        self._voting = threading.RLock()
        # Held from reading a snapshot to replacing it.
        self._publishing = threading.RLock()
        self._dirty, self._stop = True, False
        self._voted: Voted | None = None
        self._fixed_cache: dict[str, tuple[tuple[int, ...], np.ndarray]] = {}
        self.snapshot = _open_snapshot(run)
        self._listen_to_log()
        self._thread = threading.Thread(target=self._work, name="segvote-review", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        with self._wake:
            self._stop = True
            self._wake.notify_all()
        self._thread.join(timeout=5)
        self.log.close()

    # What a person does. Each returns the number of the action, after it is on the disk.

    def set_segments(self, bag: int, segments: list[int], value: int) -> int:
        """Call segments of a bag object (1), background (0) or undecided (-1)."""
        labels = self.run.read_segments(self._check_bag(bag))["labels"]
        n_segments = self.run.bags[bag].n_segments
        if not segments or min(segments) < 0 or max(segments) >= n_segments:
            raise BadInputError(f"expected segments 0 to {n_segments - 1} of image {bag}; got {segments[:5]}")
        if value not in (-1, 0, 1):
            raise BadInputError(f"expected 1 object, 0 background or -1 undecided; got {value}")
        pixels = np.isin(labels, segments)
        if not pixels.any():
            raise BadInputError(f"expected segments that the frame shown has; {segments[:5]} lie in other frames")
        rle = encode_rle(pixels)
        return self._append("set", bag, value, height=labels.shape[0], width=labels.shape[1], counts=str(rle["counts"]))

    def look(self, bag: int, accepted: bool) -> int:
        """Say that an image was looked at and is right as it is (or take that back)."""
        return self._append("look", self._check_bag(bag), int(accepted))

    def move(self, bag: int, tag: str) -> int:
        """File a bag under the other tag, in the run's books; the user's file stays where it is."""
        if tag not in (WITH, WITHOUT):
            raise BadInputError(f"expected the tag {WITH} or {WITHOUT}; got {tag!r}")
        others = np.delete(self.snapshot.tags, self._check_bag(bag))
        if (tag == WITHOUT and not others.any()) or (tag == WITH and others.all()):
            raise BadInputError("the last image of a folder cannot be moved: a vote needs both kinds")
        return self._append("move", bag, int(tag == WITH))

    def undo(self, expected: int) -> int:
        """Take back the last action; `expected` is the last one the page knew of."""
        return self._append_word("undo", expected)

    def redo(self, expected: int) -> int:
        return self._append_word("redo", expected)

    def _append(self, kind: str, bag: int, value: int, **pixels: Any) -> int:
        record = self.run.bags[bag]
        number = self.log.append(Action(kind, record.digest, record.name, value, **pixels))
        self._pass_on()
        return number

    def _append_word(self, kind: str, expected: int) -> int:
        number = self.log.append(Action(kind), expected)
        self._pass_on()
        return number

    def _pass_on(self) -> None:
        """Let the thread know; while it still counts the first votes, show the word without it."""
        if self.status == "ready":
            self._mark_dirty()
        else:
            self._listen_to_log()
            self._mark_dirty()
            self.tell()

    def _check_bag(self, bag: int) -> int:
        if not 0 <= bag < len(self.run):
            raise BadInputError(f"expected an image from 0 to {len(self.run) - 1}; got {bag}")
        return bag

    def _mark_dirty(self) -> None:
        with self._wake:
            self._dirty = True
            self._wake.notify_all()

    # The thread.

    def _work(self) -> None:
        try:
            self._load()
            while self._wait():
                self._vote()
        except SegvoteError as error:
            self._fail(str(error))
        except Exception as error:  # the page must say so; the log and the pictures still work
            self._fail(f"{type(error).__name__}: {error}")
            raise

    def _fail(self, problem: str) -> None:
        self.status, self.problem = "failed", problem
        self.run.folder.log(step="review failed", problem=problem)
        self.tell()

    def _wait(self) -> bool:
        with self._wake:
            while not (self._dirty or self._stop):
                self._wake.wait()
            self._dirty = False
            return not self._stop

    def _load(self) -> None:
        self._voted = vote(reopen(self.run), keep=True)
        self._note_signs(self._voted)
        self.status = "ready"
        self.tell()
        if self._voted.opened.table.likeness is not None:
            self._voted.opened.table.likeness.prepare()

    def _note_signs(self, voted: Voted) -> None:
        """What the queue goes by beside the scores."""
        graph, signs = _get_graph(voted.voter), {}
        if graph is not None:
            signs["disagreement"] = measure_dissent(self.snapshot, graph)
        elif (other := self._ask_rival(voted.opened.table)) is not None:
            signs["disagreement"] = self.snapshot.measure_unlikeness(other)
        signs["redrawn"] = measure_redrawn(self.run, self.snapshot)
        with self._publishing:
            self.snapshot = note(self.snapshot, **signs)

    def _ask_rival(self, table: Table) -> np.ndarray | None:
        """Another voter's masks; where it cannot vote, the queue does without."""
        try:
            rival = VOTERS[RIVAL]().fit(table.X, table.tags[table.bags], bags=table.bags)
            return decide_bags(table, rival, self.run.settings).decisions
        except (SegvoteError, ImportError):
            return None

    def _listen_to_log(self) -> None:
        """Show what was said, before the vote on it."""
        with self._publishing:
            self._listen_alone()

    def _listen_alone(self) -> None:
        self.corrections = replay(self.log.read())
        bags = list_segmented_images(self.run, self.corrections)
        tags = np.array([bag.bag.bag_label == WITH for bag in bags])
        moved = np.array([bag.bag.bag_label != bag.bag.name.split("/", 1)[0] for bag in bags])
        looked = np.array([bag.bag.digest in self.corrections.looked for bag in bags])
        self.snapshot = say(self.snapshot, self.corrections.last, self._fix_all(), tags, moved, looked)

    def _fix_all(self) -> np.ndarray:
        """(n_segments,) int8; only images whose strokes changed are painted again."""
        fixed = np.full(int(self.run.offsets[-1]), -1, dtype=np.int8)
        for bag, record in enumerate(self.run.bags):
            strokes = self.corrections.strokes.get(record.digest)
            if strokes:
                numbers = tuple(stroke.number for stroke in strokes)
                key = f"{record.digest} {record.segments}"
                if self._fixed_cache.get(key, ((), None))[0] != numbers:
                    labels = self.run.read_segments(bag)["labels"]
                    self._fixed_cache[key] = (numbers, fix_segments(strokes, labels, record.n_segments))
                fixed[self.run.get_slice(bag)] = self._fixed_cache[key][1]
        return fixed

    def _vote(self) -> None:
        before = self.snapshot.decisions
        old = (self.snapshot.fixed, self.snapshot.tags)
        self._listen_to_log()
        self.tell()
        same = np.array_equal(old[0], self.snapshot.fixed) and np.array_equal(old[1], self.snapshot.tags)
        if not (same and self._is_settled()):
            self._hear_vote(before)
        self.heard = self.snapshot.action
        self.tell()

    def _hear_vote(self, before: np.ndarray) -> None:
        started = time.perf_counter()
        verdict = self._revote()
        graph = _get_graph(self.get_voted().voter)
        with self._publishing:
            self.snapshot = hear(self.snapshot, verdict.scores, verdict.decisions, verdict.thresholds, before, graph)
        self.run.folder.log(
            step="re-vote", action=self.snapshot.action, seconds=round(time.perf_counter() - started, 4)
        )

    def _is_settled(self) -> bool:
        return self._voted is not None and np.array_equal(self._voted.verdict.scores, self.snapshot.scores)

    def _revote(self) -> Verdict:
        with self._voting:
            return self._revote_alone()

    def _revote_alone(self) -> Verdict:
        assert self._voted is not None
        opened, snapshot = self._voted.opened, self.snapshot
        bags = list_segmented_images(self.run, self.corrections)
        table = replace(opened.table, tags=snapshot.tags)
        fixed = snapshot.fixed if (snapshot.fixed >= 0).any() else None
        voter = self._voted.voter
        if not np.array_equal(table.tags, opened.table.tags):
            voter = vote_on_tags(voter, table, self.run.settings)
        verdict = decide_bags(table, voter, self.run.settings, fixed)
        opened = replace(opened, table=table, bags=bags, corrections=self.corrections, fixed=fixed)
        self._voted = Voted(opened, voter, verdict)
        return verdict

    # Questions.

    def get_voted(self) -> Voted:
        if self._voted is None:
            raise BusyRunError("the votes are still being counted; ask again in a moment")
        return self._voted

    def explain(self, bag: int, segment: int) -> SegmentExplanation:
        """Who voted for a segment."""
        if not 0 <= segment < self.run.bags[self._check_bag(bag)].n_segments:
            raise BadInputError(f"image {bag} has {self.run.bags[bag].n_segments} segments; got {segment}")
        with self._voting:
            return explain_segment(self.get_voted(), bag, segment)

    def settle(self) -> Voted:
        """Vote on all that was said until now, and hand out the outcome: what `annotate` would get."""
        self.get_voted()
        self._mark_dirty()
        with self._voting:
            self._revote_alone()
            return self.get_voted()


def _get_graph(voter: Any) -> Any:
    """Who hears whom, (n_segments, n_segments) sparse; None for a voter that keeps no votes."""
    return getattr(voter, "graph_", None)


def _open_snapshot(run: Run) -> Snapshot:
    votes = run.votes
    areas = np.concatenate([run.read_segments(bag)["areas"] for bag in range(len(run))])
    tags = np.array([record.bag_label == WITH for record in run.bags])
    return make_snapshot(run.offsets, areas, tags, votes["scores"], votes["decisions"], votes["thresholds"])
