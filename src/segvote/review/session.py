"""A review session: engine, pictures, doctor and export, with JSON answers for the page."""

from __future__ import annotations

import asyncio
import shlex
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cached_property, partial
from typing import Any

from msgspec.structs import asdict as list_fields

from segvote.errors import BusyRunError
from segvote.io import EXPORTS
from segvote.method.extents import N_LEVELS
from segvote.report.gallery import UNCERTAIN
from segvote.review.encoding import describe_explanation, encode_update
from segvote.review.engine import Engine
from segvote.review.finishing import export_run
from segvote.review.messages import ACTIONS, ExportFormat, Message, TakeBack, read_message
from segvote.review.pictures import Pictures
from segvote.run.run import Run
from segvote.steps.doctor import NearDuplicate, diagnose_run, find_duplicates
from segvote.steps.export import export
from segvote.steps.reopening import list_run_bags


class Session:
    """The review of a finished run, built before the first request.

    For the run of one class among several, `classes` are the names of all, `number` its place among them, and
    `class_command` the command line that joins them.
    """

    def __init__(self, run: Run, classes: Sequence[str] = (), number: int = 0, class_command: str = "") -> None:
        self.run, self.classes, self.number, self.class_command = run, list(classes), number, class_command
        self.engine = Engine(run, self._wake_listeners)
        self.pictures = Pictures(run)
        # Name of each action to a function of the decoded message of the page.
        self.actions: dict[str, Callable[[Any], dict[str, Any]]] = {
            **{name: partial(self._act, name) for name in ACTIONS},
            "export": self._export,
            "export-format": self._export_format,
            "redo": partial(self._take_back, self.engine.redo),
            "undo": partial(self._take_back, self.engine.undo),
        }
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: set[asyncio.Event] = set()
        self._exporting = threading.Lock()
        self._export_step: dict[str, Any] = {}
        self._closing = False

    # Events.

    def _wake_listeners(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._set_events)

    def _set_events(self) -> None:
        for event in self._listeners:
            event.set()

    async def listen(self, heartbeat: float) -> AsyncIterator[dict[str, Any]]:
        """The status now and after every change; an empty one after so many seconds without a change."""
        self._loop = asyncio.get_running_loop()
        event = asyncio.Event()
        self._listeners.add(event)
        try:
            yield self.describe_status()
            while not self._closing:
                try:
                    await asyncio.wait_for(event.wait(), heartbeat)
                except TimeoutError:
                    yield {}
                    continue
                event.clear()
                yield self.describe_status()
        finally:
            self._listeners.discard(event)

    def close_streams(self) -> None:
        """End every event stream."""
        self._closing = True
        self._wake_listeners()

    def close(self) -> None:
        self.close_streams()
        self.engine.stop()

    # Answers.

    def open(self) -> dict[str, Any]:
        """Start the votes, and describe the run."""
        self.engine.start()
        return self.describe_run()

    def describe_run(self) -> dict[str, Any]:
        images = [
            {
                "name": bag.name,
                "width": bag.width,
                "height": bag.height,
                "nSegments": bag.n_segments,
                "frames": self.engine.frames.list_numbers(index),
                "poster": self.engine.frames.find_poster(index),
            }
            for index, bag in enumerate(self.run.bags)
        ]
        export_command = ["segvote", "export", str(self.run.folder.path), "--format"]
        return {
            "folder": self.run.folder.path.resolve().name,
            "uncertainFrom": UNCERTAIN,
            "images": images,
            "nExtents": N_LEVELS,
            "commands": {name: shlex.join([*export_command, name]) for name in EXPORTS},
            "classes": self.classes,
            "classNumber": self.number,
            "classCommand": self.class_command,
        }

    def describe_status(self) -> dict[str, Any]:
        engine, corrections = self.engine, self.engine.corrections
        extents = {index: corrections.extents.get(bag.digest) for index, bag in enumerate(self.run.bags)}
        return {
            "version": engine.snapshot.version,
            "action": corrections.last,
            "nUndo": corrections.n_undo,
            "nRedo": corrections.n_redo,
            "extent": corrections.extent or self.run.settings.extent,
            "extents": {index: level for index, level in extents.items() if level},  # of single images
            "lastVoted": engine.last_voted,
            "votes": engine.status,
            "problem": engine.problem,
            "export": self._export_step,
            "estimate": engine.estimate_rest(),
        }

    def encode_update(self, since: int) -> bytes:
        return encode_update(self.engine.snapshot, since)

    def get_frame_map(self, bag: int, frame: int) -> bytes:
        """Label map and levels of a frame of a video."""
        return self.pictures.encode_labels(bag, self.engine.frames.read_labels(bag, frame))

    def describe_votes(self, bag: int, segment: int) -> dict[str, Any]:
        return describe_explanation(self.engine.explain(bag, segment), bag, segment)

    @cached_property
    def _duplicates(self) -> list[NearDuplicate]:
        return find_duplicates(list_run_bags(self.run, self.engine.corrections))

    def describe_doctor(self) -> dict[str, Any]:
        diagnosis = diagnose_run(self.run, self.engine.voting.get_voted(), self._duplicates)
        numbers = {bag.name: index for index, bag in enumerate(self.run.bags)}
        flagged = [{**asdict(one), "bag": numbers.get(one.name, -1)} for one in diagnosis.list_serious()]
        return {"nImages": len(diagnosis.images), "flagged": flagged[:200]}

    # Actions.

    def _act(self, name: str, message: Any) -> dict[str, Any]:
        self.engine.log.check_in_place()
        schema, act = ACTIONS[name]
        number = act(self.engine, **list_fields(read_message(message, schema)))
        return {"action": number, "wider": self.engine.get_wider(number)}

    def _take_back(self, act: Callable[[int], int], message: Any) -> dict[str, Any]:
        """Undo or redo; the answer lists the images that it changed."""
        before = self.engine.corrections
        number = act(read_message(message, TakeBack).expected)
        left = self.engine.corrections
        # An extent for all images is seen everywhere.
        changed = left.list_changed(before) if left.extent == before.extent else set()
        bags = [index for index, bag in enumerate(self.run.bags) if bag.digest in changed]
        return {"action": number, "bags": bags, "nUndo": left.n_undo, "nRedo": left.n_redo}

    def _export(self, message: Any) -> dict[str, Any]:
        """Write masks, heat maps, COCO file and report of the run again."""
        read_message(message, Message)
        with self._hold_export():
            written = self._write_run()
        return {"folder": str(written.folder.path.resolve()), "n": len(written)}

    def _export_format(self, message: Any) -> dict[str, Any]:
        """Write the run in the format of another tool, as `segvote export` does."""
        wanted = read_message(message, ExportFormat)
        with self._hold_export():
            opened, record = self.engine.settle().opened, self.run.folder.read_record()
            if not record.complete or record.key != opened.key:
                self._write_run()
            place = export(
                self.run.folder.path,
                wanted.format,
                instances=wanted.instances,
                overwrite=wanted.overwrite,
                progress=self._show_export,
            )
        return {"place": str(place.resolve())}

    @contextmanager
    def _hold_export(self) -> Iterator[None]:
        if not self._exporting.acquire(blocking=False):
            raise BusyRunError("files are being written already; wait until they are")
        try:
            self.engine.log.check_in_place()  # or the folder would be made again, empty but for these files
            yield
        finally:
            self._export_step = {}
            self._exporting.release()
            self._wake_listeners()

    def _write_run(self) -> Run:
        voted = self.engine.settle()
        written = export_run(voted, progress=self._show_export)
        self.engine.note_export(voted, written)
        return written

    def _show_export(self, step: str, done: int, total: int) -> None:
        self._export_step = {"step": step, "done": done, "total": total}
        self._wake_listeners()
