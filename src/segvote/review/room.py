"""The room in which a review takes place: engine, pictures, doctor and export together, in the words of the page."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from importlib import resources
from typing import Any

from segvote.errors import BadInputError, BusyRunError
from segvote.evaluation.doctor import diagnose_run
from segvote.evaluation.duplicates import NearDuplicate, find_duplicates
from segvote.review.encoding import encode_update
from segvote.review.engine import Engine
from segvote.review.exporting import export_run
from segvote.review.masks import Masks
from segvote.review.pictures import Pictures
from segvote.run.run import Run

__all__ = ["Room"]

KINDS = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
MAX_LINES = 12
MAX_SEGMENTS = 1 << 14


class Room:
    """Everything the routes need; built once, before the first request."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.engine = Engine(run, self._wake_listeners)
        self.pictures, self.masks = Pictures(run), Masks(run)
        self.static = read_static()
        self.actions: dict[str, Callable[[Any], dict[str, Any]]] = {
            "export": self._export,
            "look": self._look,
            "move": self._move,
            "redo": self._redo,
            "set": self._set,
            "undo": self._undo,
        }
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: set[asyncio.Event] = set()
        self._twins: list[NearDuplicate] | None = None
        self._doctor, self._exporting = threading.Lock(), threading.Lock()
        self.export_step: dict[str, Any] = {}
        self.closing = False

    # Telling the pages.

    def _wake_listeners(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._set_events)

    def _set_events(self) -> None:
        for event in self._listeners:
            event.set()

    async def listen(self, heartbeat: float) -> AsyncIterator[dict[str, Any]]:
        """The status now and after every change; an empty one when nothing happened for a while."""
        self._loop = asyncio.get_running_loop()
        event = asyncio.Event()
        self._listeners.add(event)
        try:
            yield self.describe_status()
            while not self.closing:
                try:
                    await asyncio.wait_for(event.wait(), heartbeat)
                except TimeoutError:
                    yield {}
                    continue
                event.clear()
                yield self.describe_status()
        finally:
            self._listeners.discard(event)

    def say_goodbye(self) -> None:
        """End every event stream."""
        self.closing = True
        self._wake_listeners()

    def close(self) -> None:
        self.say_goodbye()
        self.engine.stop()

    # Answers.

    def describe_run(self) -> dict[str, Any]:
        images = [
            {"name": bag.name, "width": bag.width, "height": bag.height, "nSegments": bag.n_segments}
            for bag in self.run.bags
        ]
        settings = self.run.settings
        return {
            "folder": self.run.folder.path.resolve().name,
            "label": settings.label,
            "voter": settings.voter,
            "images": images,
            "problems": self.run.record["problems"],
        }

    def describe_status(self) -> dict[str, Any]:
        engine = self.engine
        return {
            "version": engine.snapshot.version,
            "action": engine.corrections.last,
            "nUndo": engine.corrections.n_undo,
            "nRedo": engine.corrections.n_redo,
            "heard": engine.heard,
            "votes": engine.status,
            "problem": engine.problem,
            "export": self.export_step,
        }

    def encode_update(self, since: int) -> bytes:
        return encode_update(self.engine.snapshot, since)

    def get_mask(self, bag: int) -> bytes:
        """The redrawn mask of an image as it stands now."""
        return self.masks.get(self.engine.snapshot, bag)

    def describe_votes(self, bag: int, segment: int) -> dict[str, Any]:
        explanation = self.engine.explain(bag, segment)
        groups = {}
        for title, sign in (("for", 1), ("against", -1)):
            lines = explanation.list_best(sign)
            groups[title] = {
                "total": sum(line.amount for line in lines),
                "n": len(lines),
                "rest": sum(line.amount for line in lines[MAX_LINES:]),
                "lines": [asdict(line) for line in lines[:MAX_LINES]],
            }
        return {
            "bag": bag,
            "segment": segment,
            "score": explanation.score,
            "threshold": explanation.threshold,
            "selected": explanation.selected,
            "said": explanation.said,
            "neighbours": explanation.sum_amounts("neighbour"),
            "constant": explanation.constant,
            **groups,
        }

    def describe_doctor(self) -> dict[str, Any]:
        voted = self.engine.get_voted()
        with self._doctor:
            if self._twins is None:
                self._twins = find_duplicates([one.bag for one in voted.opened.bags])
        diagnosis = diagnose_run(self.run, voted, self._twins)
        numbers = {bag.name: index for index, bag in enumerate(self.run.bags)}
        suspects = [{**asdict(one), "bag": numbers.get(one.name, -1)} for one in diagnosis.list_serious()]
        return {"nImages": len(diagnosis.suspects), "suspects": suspects[:200]}

    # Actions: each takes the decoded message of the page and trusts nothing in it.

    def _set(self, message: Any) -> dict[str, Any]:
        bag, segments, value = _take(message, bag=int, segments=list, value=int)
        if len(segments) > MAX_SEGMENTS or not all(type(one) is int for one in segments):
            raise BadInputError(f"segments must be at most {MAX_SEGMENTS} whole numbers")
        return {"action": self.engine.set_segments(bag, segments, value)}

    def _look(self, message: Any) -> dict[str, Any]:
        bag, value = _take(message, bag=int, value=bool)
        return {"action": self.engine.look(bag, value)}

    def _move(self, message: Any) -> dict[str, Any]:
        bag, tag = _take(message, bag=int, tag=str)
        return {"action": self.engine.move(bag, tag)}

    def _undo(self, message: Any) -> dict[str, Any]:
        return {"action": self.engine.undo(*_take(message, expected=int))}

    def _redo(self, message: Any) -> dict[str, Any]:
        return {"action": self.engine.redo(*_take(message, expected=int))}

    def _export(self, message: Any) -> dict[str, Any]:
        _take(message)
        if not self._exporting.acquire(blocking=False):
            raise BusyRunError("the export is already running")
        try:
            written = export_run(self.engine.settle(), progress=self._show_export)
        finally:
            self.export_step = {}
            self._exporting.release()
            self._wake_listeners()
        return {"folder": str(written.folder.path.resolve()), "n": len(written)}

    def _show_export(self, step: str, done: int, total: int) -> None:
        self.export_step = {"step": step, "done": done, "total": total}
        self._wake_listeners()


def read_static() -> dict[str, tuple[str, bytes]]:
    """Every file of the page: name to its type and content."""
    folder = resources.files("segvote.review") / "static"
    found = {}
    for entry in folder.iterdir():
        extension = "." + entry.name.rsplit(".", 1)[-1]
        if extension in KINDS:
            found[entry.name] = (KINDS[extension], entry.read_bytes())
    return found


def _take(message: Any, **kinds: type) -> list[Any]:
    """Values of a JSON object that has exactly these names and types (and no number that is really a bool)."""
    if not isinstance(message, dict) or set(message) != set(kinds):
        raise BadInputError(f"expected an object with {', '.join(kinds) or 'nothing'} in it")
    for name, kind in kinds.items():
        if type(message[name]) is not kind:
            raise BadInputError(f"{name} must be of type {kind.__name__}; got {type(message[name]).__name__}")
    return [message[name] for name in kinds]
