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
from segvote.inputs.bags import Problem
from segvote.io import EXPORTS
from segvote.io.exports.base import ExportOptions
from segvote.method.extents import N_EXTENTS
from segvote.pipeline.doctor import NearDuplicate, diagnose_run, find_duplicates
from segvote.pipeline.export import write_export
from segvote.pipeline.opening import list_run_bags
from segvote.pipeline.write import KEPT
from segvote.report.extents import choose_images
from segvote.report.gallery import UNCERTAIN
from segvote.review.engine import Engine
from segvote.review.finishing import export_run
from segvote.review.messages import ACTIONS, ExportFormat, Message, OpenImage, TakeBack, read_message
from segvote.review.pictures import Pictures
from segvote.run.alternatives import ASKED_LEVELS, check_alternative, name_alternative
from segvote.run.estimate import format_estimate, format_lesson
from segvote.run.run import Run
from segvote.types import WITH


class Session:
    """The review of a finished run, built before the first request.

    For the run of one class among several, `classes` are the names of all, `number` its place among them, and
    `class_command` the command line that joins them.
    """

    def __init__(self, run: Run, classes: Sequence[str] = (), number: int = 0, class_command: str = "") -> None:
        self.run, self.classes, self.number, self.class_command = run, list(classes), number, class_command
        self.engine = Engine(run, self._wake_listeners)
        self.pictures = Pictures(self.engine.run)
        # Name of each action to a function of the decoded message of the page.
        self.actions: dict[str, Callable[[Any], dict[str, Any]]] = {
            **{name: partial(self._act, name) for name in ACTIONS},
            "audit": self._audit,
            "export": self._export,
            "export-format": self._export_format,
            "open": self._open_other,
            "redo": partial(self._take_back, self.engine.actions.redo),
            "undo": partial(self._take_back, self.engine.actions.undo),
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
        """The status now and after every change; an empty one after that number of seconds without a change."""
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
        export_command = ["segvote", "export", str(self.run.folder.path), "--format"]
        return {
            "folder": self.run.folder.path.resolve().name,
            "uncertainFrom": UNCERTAIN,
            "images": self.describe_images(0),
            "nOthers": len(self.run.record.predicted),
            "nExtents": N_EXTENTS,
            "commands": {name: shlex.join([*export_command, name]) for name in EXPORTS},
            "classes": self.classes,
            "classNumber": self.number,
            "classCommand": self.class_command,
            "modelProblem": self.engine.model.find_problem(),
        }

    def describe_images(self, first: int) -> list[dict[str, Any]]:
        """The images that are shown, from a number on."""
        return [
            {
                "name": bag.name,
                "width": bag.width,
                "height": bag.height,
                "nSegments": bag.n_segments,
                "frames": self.engine.frames.list_numbers(index),
                "poster": self.engine.frames.find_poster(index),
            }
            for index, bag in enumerate(self.engine.run.bags)
            if index >= first
        ]

    @cached_property
    def _others(self) -> list[dict[str, Any]]:
        """The images that did not vote: *with* first, the least probable object first, then by name."""
        return [
            {"number": len(self.run) + number, "name": bag.name, "isWith": bag.bag_label == WITH, "covered": bag.area}
            for number, bag in sorted(
                enumerate(self.run.record.predicted),
                key=lambda pair: (pair[1].bag_label != WITH, -pair[1].uncertainty, pair[1].name),
            )
        ]

    def list_others(self) -> list[dict[str, Any]]:
        """The images that did not vote, to be opened by their numbers."""
        return self._others

    def draw_other(self, number: int) -> bytes:
        """JPEG of a small picture of any image of the run, with the mask in the run folder."""
        return self.pictures.draw_stored(self.run, number)

    def _open_other(self, message: Any) -> dict[str, Any]:
        """Show an image that did not vote."""
        return {"bag": self.engine.open(read_message(message, OpenImage).number)}

    def describe_status(self) -> dict[str, Any]:
        engine, corrections = self.engine, self.engine.board.corrections
        extents = {index: corrections.extents.get(bag.digest) for index, bag in enumerate(self.engine.run.bags)}
        return {
            "version": engine.board.snapshot.version,
            "action": corrections.last,
            "nUndo": corrections.n_undo,
            "nRedo": corrections.n_redo,
            "extent": corrections.extent or self.run.settings.extent,
            "extents": {index: extent for index, extent in extents.items() if extent},  # of single images
            "alternative": corrections.alternative,
            "lastVoted": engine.last_voted,
            "votes": engine.status,
            "problem": engine.problem,
            "lost": list(corrections.lost),  # damaged actions of the log
            "export": self._export_step,
            **self._describe_lesson(),
        }

    def _describe_lesson(self) -> dict[str, Any]:
        """Finished images: what they changed, the estimate of the others, and the images of an audit that are left."""
        estimate, corrections = self.engine.estimate_others(), self.engine.board.corrections
        numbers = {bag.digest: index for index, bag in enumerate(self.engine.run.bags)}
        left = [numbers[one] for one in corrections.audited if one in numbers and one not in corrections.accepted]
        return {
            "nFinished": estimate.n_finished if estimate else 0,
            "lesson": format_lesson(estimate) if estimate else "",
            "estimate": format_estimate(estimate) if estimate else "",
            "audit": left,
            "ask": self.engine.find_asked(),
        }

    @cached_property
    def _duplicates(self) -> list[NearDuplicate]:
        return find_duplicates(list_run_bags(self.run, self.engine.board.corrections))

    def describe_doctor(self) -> dict[str, Any]:
        diagnosis = diagnose_run(self.run, self.engine.voting.get_vote(), self._duplicates)
        numbers = {bag.name: index for index, bag in enumerate(self.engine.run.bags)}
        flagged = [{**asdict(one), "bag": numbers.get(one.name, -1)} for one in diagnosis.list_serious()]
        return {"nImages": len(diagnosis.images), "flagged": flagged[:200]}

    def describe_alternatives(self) -> dict[str, Any]:
        """Letters of the alternatives, and images that compare them; `isAsked` unless the confidence is high."""
        letters = [name_alternative(number) for number in range(len(self.engine.voting.list_selections()))]
        level = self.run.confidence.get("level", "")
        return {
            "letters": letters,
            "bags": choose_images(self.run),
            "isAsked": level in ASKED_LEVELS and len(letters) > 1,
        }

    def embed(self, bag: int) -> dict[str, Any]:
        """Prepare the model click on an image; answers when it is ready."""
        self.engine.model.embed(self.engine.board.check_image(bag))
        return {"ready": True}

    def encode_levels(self, bag: int, **places: int) -> bytes:
        """Part, object and whole of the model at a pixel x, y, or in a box left, top, right, bottom."""
        middle = 0.5 if len(places) == 2 else 0.0
        points = [place + middle for place in places.values()]
        return self.engine.model.encode(self.engine.board.check_image(bag), points)

    def draw_alternative(self, number: int, bag: int) -> bytes:
        """JPEG of an image with the outline of an alternative, before corrections."""
        selections = self.engine.voting.list_selections()
        check_alternative(number, len(selections))
        part = self.engine.run.get_slice(self.engine.board.check_bag(bag))
        return self.pictures.draw_outline(bag, selections[number, part])

    # Actions.

    def _act(self, name: str, message: Any) -> dict[str, Any]:
        self.engine.log.check_in_place()
        schema, act = ACTIONS[name]
        number = act(self.engine.actions, **list_fields(read_message(message, schema)))
        return {"action": number, "offer": self.engine.actions.get_offer(number)}

    def _audit(self, message: Any) -> dict[str, Any]:
        """Draw images to be finished; the answer lists them."""
        read_message(message, Message)
        self.engine.log.check_in_place()
        bags = self.engine.actions.audit()
        return {"action": self.engine.board.corrections.last, "bags": bags}

    def _take_back(self, act: Callable[[int], int], message: Any) -> dict[str, Any]:
        """Undo or redo; the answer lists the images that it changed."""
        before = self.engine.board.corrections
        number = act(read_message(message, TakeBack).expected)
        left = self.engine.board.corrections
        # An extent for all images, and another alternative, are seen everywhere.
        is_local = (left.extent, left.alternative) == (before.extent, before.alternative)
        changed = left.list_changed(before) if is_local else set()
        bags = [index for index, bag in enumerate(self.engine.run.bags) if bag.digest in changed]
        return {"action": number, "bags": bags, "nUndo": left.n_undo, "nRedo": left.n_redo}

    def _export(self, message: Any) -> dict[str, Any]:
        """Write masks, heat maps, COCO file and report of the run again."""
        read_message(message, Message)
        with self._hold_export():
            written = self._write_run()
        kept = [problem.reason for problem in written.record.problems if problem.reason.endswith(KEPT)]
        return {"folder": str(written.folder.path.resolve()), "n": len(written) - len(kept), "kept": kept}

    def _export_format(self, message: Any) -> dict[str, Any]:
        """Write the run in the format of another tool, as `segvote export` does."""
        wanted = read_message(message, ExportFormat)
        with self._hold_export():
            opened, record = self.engine.settle().inputs, self.run.folder.read_record()
            if not record.complete or record.key != opened.key:
                self._write_run()
            left_out: list[Problem] = []
            place = write_export(
                self.run.folder.path,
                wanted.format,
                options=ExportOptions((), instances=wanted.instances or None),
                overwrite=wanted.overwrite,
                on_problem=left_out.append,
                progress=self._show_export,
            )
        return {"place": str(place.resolve()), "leftOut": [problem.reason for problem in left_out]}

    @contextmanager
    def _hold_export(self) -> Iterator[None]:
        if not self._exporting.acquire(blocking=False):
            raise BusyRunError("expected no other export, but one still writes its files; retry when it ends")
        try:
            self.engine.log.check_in_place()  # or the folder would be made again, empty but for these files
            yield
        finally:
            self._export_step = {}
            self._exporting.release()
            self._wake_listeners()

    def _write_run(self) -> Run:
        run_vote = self.engine.settle()
        written = export_run(run_vote, progress=self._show_export)
        self.engine.note_export(run_vote, written)
        return written

    def _show_export(self, step: str, done: int, total: int) -> None:
        self._export_step = {"step": step, "done": done, "total": total}
        self._wake_listeners()
