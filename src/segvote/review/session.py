"""One review session: engine, pictures, doctor and export together, in the words of the page."""

from __future__ import annotations

import asyncio
import shlex
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib import resources
from typing import Any

from msgspec import to_builtins

from segvote.errors import BadInputError, BusyRunError, ReplacedFolderError
from segvote.io import EXPORTS
from segvote.method.extents import N_LEVELS
from segvote.report.gallery import UNCERTAIN
from segvote.review.encoding import encode_update
from segvote.review.engine import Engine
from segvote.review.finishing import export_run, is_written
from segvote.review.masks import PAGE_SIZE
from segvote.review.pictures import Pictures
from segvote.review.strokes import check_stroke
from segvote.run.run import Run
from segvote.steps.doctor import NearDuplicate, diagnose_run, find_duplicates
from segvote.steps.export import export

KINDS = {".css": "text/css", ".html": "text/html", ".js": "text/javascript", ".svg": "image/svg+xml"}
MAX_LINES = 12
MAX_SEGMENTS = 1 << 14
MAX_BAGS = 1 << 14


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
        self.static = read_static()
        self.actions: dict[str, Callable[[Any], dict[str, Any]]] = {
            "accept": self._accept,
            "clear": self._clear,
            "cut": self._cut,
            "export": self._export,
            "export-format": self._export_format,
            "extent": self._choose_extent,
            "join": self._join,
            "move": self._move,
            "paint": self._paint,
            "redo": self._redo,
            "reshape": self._reshape,
            "set": self._set,
            "undo": self._undo,
        }
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listeners: set[asyncio.Event] = set()
        self._duplicates: list[NearDuplicate] | None = None
        self._doctor, self._exporting = threading.Lock(), threading.Lock()
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

    def _describe_unsaved(self) -> str:
        """Why nothing is saved any more; empty where it is."""
        try:
            self.engine.log.check_in_place()
        except ReplacedFolderError as error:
            return str(error)
        return ""

    def encode_update(self, since: int) -> bytes:
        return encode_update(self.engine.snapshot, since)

    def get_mask(self, bag: int) -> bytes:
        """The redrawn mask of an image as it stands now."""
        return self.engine.encode_mask(bag, PAGE_SIZE)

    def get_instances(self, bag: int) -> bytes:
        """The instances of an image as they stand now."""
        return self.engine.encode_instances(bag, PAGE_SIZE)

    def get_frame_picture(self, bag: int, frame: int) -> bytes:
        return self.engine.frames.get_picture(self.engine.check_bag(bag), frame)

    def get_frame_map(self, bag: int, frame: int) -> bytes:
        """Label map and levels of a frame of a video."""
        labels = self.engine.frames.read_labels(self.engine.check_bag(bag), frame)
        return self.pictures.encode_labels(bag, labels)

    def get_small_mask(self, bag: int) -> bytes:
        """The same at the size of the thumbnail."""
        return self.engine.encode_small_mask(bag)

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
            "userLabel": explanation.user_label,
            "neighbours": explanation.sum_amounts("neighbour"),
            "constant": explanation.constant,
            **groups,
        }

    def describe_doctor(self) -> dict[str, Any]:
        voted = self.engine.voting.get_voted()
        with self._doctor:
            if self._duplicates is None:
                self._duplicates = find_duplicates([one.bag for one in voted.opened.bags])
        diagnosis = diagnose_run(self.run, voted, self._duplicates)
        numbers = {bag.name: index for index, bag in enumerate(self.run.bags)}
        flagged = [{**asdict(one), "bag": numbers.get(one.name, -1)} for one in diagnosis.list_serious()]
        return {"nImages": len(diagnosis.images), "flagged": flagged[:200]}

    # Actions: each takes the decoded message of the page and trusts nothing in it.

    def _set(self, message: Any) -> dict[str, Any]:
        message = {"frame": -1, **_check_object(message)}  # of an image, or the poster of a video
        bag, segments, value, frame = _take(message, bag=int, segments=list, value=int, frame=int)
        if len(segments) > MAX_SEGMENTS or not all(type(one) is int for one in segments):
            raise BadInputError(f"segments must be at most {MAX_SEGMENTS} whole numbers")
        return self._offer_wider(self.engine.set_segments(bag, segments, value, frame))

    def _offer_wider(self, action: int) -> dict[str, Any]:
        return {"action": action, "wider": self.engine.get_wider(action)}

    def _choose_extent(self, message: Any) -> dict[str, Any]:
        bags, level = _take(message, bags=list, level=int)
        return {"action": self.engine.choose_extent(level, _check_bags(bags) if bags else ())}

    def _paint(self, message: Any) -> dict[str, Any]:
        bag, tool, points, radius, snap, value = _take(
            message, bag=int, tool=str, points=list, radius=(int, float), snap=bool, value=int
        )
        return self._offer_wider(self.engine.paint(bag, check_stroke(tool, _check_points(points), radius, snap), value))

    def _reshape(self, message: Any) -> dict[str, Any]:
        """The first point is the place of the object, the others are the corners of its new outline."""
        bag, points = _take(message, bag=int, points=list)
        corners = check_stroke("polygon", _check_points(points[2:]), 1, False).points
        place = check_stroke("fill", _check_points(points[:2]), 1, False).points[0]
        return {"action": self.engine.reshape(bag, place, corners)}

    def describe_outline(self, bag: int, x: int, y: int) -> dict[str, Any]:
        return {"points": self.engine.trace_outline(bag, x, y).tolist()}

    def _cut(self, message: Any) -> dict[str, Any]:
        bag, points = _take(message, bag=int, points=list)
        return {"action": self.engine.cut(bag, check_stroke("brush", _check_points(points), 1, False).points)}

    def _join(self, message: Any) -> dict[str, Any]:
        bag, points = _take(message, bag=int, points=list)
        return {"action": self.engine.join(bag, check_stroke("brush", _check_points(points), 1, False).points)}

    def _accept(self, message: Any) -> dict[str, Any]:
        bags, value = _take(message, bags=list, value=bool)
        return {"action": self.engine.accept(_check_bags(bags), value)}

    def _clear(self, message: Any) -> dict[str, Any]:
        (bags,) = _take(message, bags=list)
        return {"action": self.engine.clear(_check_bags(bags))}

    def _move(self, message: Any) -> dict[str, Any]:
        bags, bag_label = _take(message, bags=list, bag_label=str)
        return {"action": self.engine.move(_check_bags(bags), bag_label)}

    def _undo(self, message: Any) -> dict[str, Any]:
        return self._take_back(self.engine.undo, message)

    def _redo(self, message: Any) -> dict[str, Any]:
        return self._take_back(self.engine.redo, message)

    def _take_back(self, act: Callable[[int], int], message: Any) -> dict[str, Any]:
        """Undo or redo; the page is told in which images."""
        before = self.engine.corrections
        number = act(*_take(message, expected=int))
        left = self.engine.corrections
        # An extent for all images is seen everywhere.
        changed = left.list_changed(before) if left.extent == before.extent else set()
        bags = [index for index, bag in enumerate(self.run.bags) if bag.digest in changed]
        return {"action": number, "bags": bags, "nUndo": left.n_undo, "nRedo": left.n_redo}

    def _export(self, message: Any) -> dict[str, Any]:
        """Write masks, heat maps, COCO file and report of the run again."""
        _take(message)
        with self._hold_export():
            written = self._write_run()
        return {"folder": str(written.folder.path.resolve()), "n": len(written)}

    def _export_format(self, message: Any) -> dict[str, Any]:
        """Write the run in the format of another tool, as `segvote export` does."""
        message = {"instances": False, **_check_object(message)}
        name, overwrite, instances = _take(message, format=str, overwrite=bool, instances=bool)
        with self._hold_export():
            if not is_written(self.engine.settle()):
                self._write_run()
            path, show = self.run.folder.path, self._show_export
            place = export(path, name, instances=instances, overwrite=overwrite, progress=show)
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


def read_static() -> dict[str, tuple[str, bytes]]:
    """Every file of the page: name to its type and content."""
    folder = resources.files("segvote.review") / "static"
    found = {}
    for entry in folder.iterdir():
        extension = "." + entry.name.rsplit(".", 1)[-1]
        if extension in KINDS:
            found[entry.name] = (KINDS[extension], entry.read_bytes())
    return found


def _take(message: Any, **kinds: type | tuple[type, ...]) -> list[Any]:
    """Values of a JSON object that has exactly these names and types (and no number that is really a bool)."""
    if not isinstance(message, dict) or set(message) != set(kinds):
        raise BadInputError(f"expected an object with {', '.join(kinds) or 'nothing'} in it")
    for name, kind in kinds.items():
        allowed = kind if isinstance(kind, tuple) else (kind,)
        if type(message[name]) not in allowed:
            wanted = " or ".join(one.__name__ for one in allowed)
            raise BadInputError(f"{name} must be of type {wanted}; got {type(message[name]).__name__}")
    return [message[name] for name in kinds]


def _check_object(message: Any) -> dict[str, Any]:
    if not isinstance(message, dict):
        raise BadInputError(f"expected an object; got {type(message).__name__}")
    return message


def _check_points(points: list[Any]) -> list[float]:
    if not all(type(one) in (int, float) for one in points):
        raise BadInputError("points must be numbers, x and y in turn")
    return points


def _check_bags(bags: list[Any]) -> list[int]:
    if not 1 <= len(bags) <= MAX_BAGS or not all(type(bag) is int for bag in bags) or len(set(bags)) < len(bags):
        raise BadInputError(f"expected the numbers of 1 to {MAX_BAGS} different images")
    return bags
