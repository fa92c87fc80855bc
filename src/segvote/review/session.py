"""One review session: engine, pictures, doctor and export together, in the words of the page."""

from __future__ import annotations

import asyncio
import shlex
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from typing import Any

from msgspec import to_builtins

from segvote.errors import BadInputError, BusyRunError, ReplacedFolderError, SegvoteError
from segvote.evaluation.doctor import NearDuplicate, diagnose_run, find_duplicates
from segvote.io import EXPORTS
from segvote.method.extents import N_LEVELS
from segvote.report.gallery import UNCERTAIN
from segvote.review.encoding import describe_explanation, encode_update
from segvote.review.engine import Engine
from segvote.review.finishing import check_unchanged, export_run, is_written
from segvote.review.messages import ACTIONS, ExportFormat, Message, TakeBack, read_message
from segvote.review.pictures import Pictures
from segvote.run.run import Run
from segvote.steps.export import export


class Session:
    """Everything the routes need; built once, before the first request.

    Parameters
    ----------
    run
        A finished run.
    classes, number, class_command
        Of the run of one class among several: the names of all, its place among them, and the command line that joins
        them.
    """

    def __init__(self, run: Run, classes: Sequence[str] = (), number: int = 0, class_command: str = "") -> None:
        self.run, self.classes, self.number, self.class_command = run, list(classes), number, class_command
        self._starting, self._started = threading.Lock(), False
        self.engine = Engine(run, self._wake_listeners)
        self.pictures = Pictures(run)
        self.actions: dict[str, Callable[[Any], dict[str, Any]]] = {
            **{name: partial(self._act, name) for name in ACTIONS},
            "export": self._export,
            "export-format": self._export_format,
            "redo": partial(self._take_back, self.engine.redo),
            "rescue": self._rescue,
            "undo": partial(self._take_back, self.engine.undo),
        }
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: set[asyncio.Event] = set()
        self._duplicates: list[NearDuplicate] | None = None
        self._doctor, self._exporting, self._rescuing = threading.Lock(), threading.Lock(), threading.Lock()
        self.unsaved: list[tuple[str, Any]] = []  # actions and messages that came while the run folder was away
        self.export_step: dict[str, Any] = {}
        self.closing = False

    def start(self) -> None:
        """Set the engine to work, if it is not yet."""
        with self._starting:
            if not self._started:
                self.engine.start()
            self._started = True

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

    def close_streams(self) -> None:
        """End every event stream."""
        self.closing = True
        self._wake_listeners()

    def close(self) -> None:
        self.close_streams()
        self.engine.stop()

    # Answers.

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
        settings = self.run.settings
        return {
            "folder": self.run.folder.path.resolve().name,
            "label": settings.label,
            "voter": settings.voter,
            "uncertainFrom": UNCERTAIN,
            "images": images,
            "problems": to_builtins(self.run.record.problems),
            "nExtents": N_LEVELS,
            "commands": self._list_commands(),
            "classes": self.classes,
            "classNumber": self.number,
            "classCommand": self.class_command,
        }

    def _list_commands(self) -> dict[str, str]:
        """Name of each export format to the command line that writes it."""
        folder = str(self.run.folder.path)
        return {name: shlex.join(["segvote", "export", folder, "--format", name]) for name in EXPORTS}

    def describe_status(self) -> dict[str, Any]:
        engine = self.engine
        return {
            "version": engine.snapshot.version,
            "action": engine.corrections.last,
            "nUndo": engine.corrections.n_undo,
            "nRedo": engine.corrections.n_redo,
            **self._describe_extents(),
            "lastVoted": engine.last_voted,
            "votes": engine.status,
            "problem": engine.problem,
            "unsaved": self._describe_unsaved(),
            "export": self.export_step,
            "estimate": asdict(estimate) if (estimate := engine.estimate_rest()) else None,
        }

    def _describe_extents(self) -> dict[str, Any]:
        """The extent of all images, and numbers of images to those chosen for them alone."""
        corrections = self.engine.corrections
        chosen = {index: corrections.extents.get(bag.digest) for index, bag in enumerate(self.run.bags)}
        own = {index: level for index, level in chosen.items() if level} if corrections.extents else {}
        return {"extent": corrections.extent or self.run.settings.extent, "extents": own}

    def _describe_unsaved(self) -> dict[str, Any] | None:
        """How many actions wait in memory for a folder, and why; None where all are saved."""
        try:
            self.engine.log.check_in_place()
        except ReplacedFolderError as error:
            return {"n": len(self.unsaved), "reason": str(error)}
        reason = f"{self.run.folder.path} is back in its place: save there"
        return {"n": len(self.unsaved), "reason": reason} if self.unsaved else None

    def encode_update(self, since: int) -> bytes:
        return encode_update(self.engine.snapshot, since)

    def get_frame_picture(self, bag: int, frame: int) -> bytes:
        return self.engine.frames.get_picture(self.engine.check_bag(bag), frame)

    def get_frame_map(self, bag: int, frame: int) -> bytes:
        """Label map and levels of a frame of a video."""
        labels = self.engine.frames.read_labels(self.engine.check_bag(bag), frame)
        return self.pictures.encode_labels(bag, labels)

    def describe_votes(self, bag: int, segment: int) -> dict[str, Any]:
        return describe_explanation(self.engine.explain(bag, segment), bag, segment)

    def describe_doctor(self) -> dict[str, Any]:
        voted = self.engine.voting.get_voted()
        with self._doctor:
            if self._duplicates is None:
                self._duplicates = find_duplicates([one.bag for one in voted.opened.bags])
        diagnosis = diagnose_run(self.run, voted, self._duplicates)
        numbers = {bag.name: index for index, bag in enumerate(self.run.bags)}
        flagged = [{**asdict(one), "bag": numbers.get(one.name, -1)} for one in diagnosis.list_serious()]
        return {"nImages": len(diagnosis.images), "flagged": flagged[:200]}

    def describe_outline(self, bag: int, x: int, y: int) -> dict[str, Any]:
        return {"points": self.engine.trace_outline(bag, x, y).tolist()}

    # Actions: each takes the decoded message of the page.

    def _act(self, name: str, message: Any) -> dict[str, Any]:
        action = read_message(message, ACTIONS[name]).act(self.engine)
        return {"action": action, "wider": self.engine.get_wider(action)}

    def keep_unsaved(self, name: str, message: Any) -> None:
        """Keep an action that failed in memory, and say why, where the run folder was deleted or replaced."""
        if self.engine.log.is_in_place():
            return
        if name in ACTIONS:
            self.unsaved.append((name, message))
            self._wake_listeners()
        self.engine.log.check_in_place()

    def _rescue(self, message: Any) -> dict[str, Any]:
        """Save what was refused while the folder was away to the one that lies there now."""
        read_message(message, Message)
        with self._rescuing:
            self.engine.rescue()
            try:
                check_unchanged(self.run.folder, self.run.settings, [bag.features for bag in self.run.bags])
            except SegvoteError as error:  # earlier actions are saved, but this page shows another run
                return {"action": self.engine.corrections.last, "notice": str(error)}
            failures = self._repeat_unsaved()
        return {"action": self.engine.corrections.last, "notice": "; ".join(failures)}

    def _repeat_unsaved(self) -> list[str]:
        """Do what was refused, the oldest first; the reasons of those that cannot be done any more."""
        failures = []
        while self.unsaved:
            name, message = self.unsaved[0]
            try:
                self.actions[name](message)
            except BadInputError as error:
                failures.append(f"{name} was left out: {error}")
            del self.unsaved[0]
        return failures

    def _take_back(self, act: Callable[[int], int], message: Any) -> dict[str, Any]:
        """Undo or redo; the page is told in which images."""
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
            if not is_written(self.engine.settle()):
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
            self.export_step = {}
            self._exporting.release()
            self._wake_listeners()

    def _write_run(self) -> Run:
        voted = self.engine.settle()
        written = export_run(voted, progress=self._show_export)
        self.engine.note_export(voted, written)
        return written

    def _show_export(self, step: str, done: int, total: int) -> None:
        self.export_step = {"step": step, "done": done, "total": total}
        self._wake_listeners()
