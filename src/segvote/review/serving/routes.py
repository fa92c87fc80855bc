"""What the page may ask for: each route checks its numbers and hands over to the engine or to the pictures.

No name from the client touches the file system: images are numbers, and static files are read before the first one
asks. A run on several classes has a page for each.
"""

from __future__ import annotations

import asyncio
import json
import shlex
from collections.abc import AsyncIterator, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from segvote.errors import (
    BadInputError,
    BusyRunError,
    SegvoteError,
    UnknownNameError,
    UnreadableImageError,
    UnwritableFileError,
)
from segvote.io.names import PERCENT
from segvote.review.session import Session
from segvote.run.classes import ClassRuns

KINDS = {"css": "text/css", "html": "text/html", "js": "text/javascript", "svg": "image/svg+xml"}
KEEP = {"Cache-Control": "private, max-age=86400, immutable"}
FRESH = {"Cache-Control": "no-store"}
# An image that was taken away and a full disk are no fault of the server; what else is wrong with files is.
STATUSES = {
    BusyRunError: 409,
    BadInputError: 400,
    UnknownNameError: 400,
    UnreadableImageError: 404,
    UnwritableFileError: 507,
}
# A comment line now and then, so that a page learns of a dead server and a server of a closed page.
HEARTBEAT_SECONDS = 10.0
# Threads for actions, which may wait for the log; others answer questions meanwhile.
MAX_ACTIONS = 4


class Answer(JSONResponse):
    """JSON in which names that are no UTF-8 are percent-encoded."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", PERCENT)


def make_app(session: Session) -> Starlette:
    """The application behind the guard."""
    threads, static = ThreadPoolExecutor(MAX_ACTIONS, "segvote-action"), read_static()
    routes = [
        Route("/", lambda request: _send_static(static, "index.html")),
        Route("/static/{name}", lambda request: _send_static(static, request.path_params["name"])),
        Route("/api/run", _ask(lambda request: session.describe_run())),
        Route("/api/status", _ask(lambda request: session.describe_status())),
        Route("/api/update", _binary(lambda request: session.encode_update(_read_number(request, "since")), FRESH)),
        Route("/api/events", lambda request: _stream(session)),
        Route("/api/images/{bag:int}/picture", _picture(session.pictures.get_image)),
        Route("/api/images/{bag:int}/thumb", _picture(session.pictures.get_thumb)),
        Route("/api/images/{bag:int}/map", _map(session.pictures.get_map)),
        Route("/api/images/{bag:int}/mask", _map(session.engine.encode_mask, FRESH)),
        Route("/api/images/{bag:int}/instances", _map(session.engine.encode_instances, FRESH)),
        Route("/api/images/{bag:int}/small-mask", _map(session.engine.encode_small_mask, FRESH)),
        Route("/api/images/{bag:int}/frames/{frame:int}/picture", _picture(session.get_frame_picture)),
        Route("/api/images/{bag:int}/frames/{frame:int}/map", _map(session.get_frame_map)),
        Route("/api/images/{bag:int}/segments/{segment:int}/crop", _picture(session.pictures.get_crop)),
        Route("/api/images/{bag:int}/segments/{segment:int}/votes", _ask(_numbers(session.describe_votes))),
        Route("/api/images/{bag:int}/outline/{x:int}/{y:int}", _ask(_numbers(session.describe_outline))),
        Route("/api/doctor", _ask(lambda request: session.describe_doctor())),
        *[Route(f"/api/{name}", _act(session, name, threads), methods=["POST"]) for name in session.actions],
    ]
    return Starlette(routes=routes, exception_handlers={SegvoteError: _explain})


def _explain(request: Request, error: Exception) -> Response:
    status = next((number for kind, number in STATUSES.items() if isinstance(error, kind)), 500)
    return Answer({"error": str(error)}, status_code=status, headers=FRESH)


def read_static() -> dict[str, tuple[str, bytes]]:
    """Every file of the page: name to its type and content."""
    files = [entry for entry in (resources.files("segvote.review") / "static").iterdir() if "." in entry.name]
    kinds = {entry.name: KINDS.get(entry.name.rsplit(".", 1)[1]) for entry in files}
    return {entry.name: (kind, entry.read_bytes()) for entry in files if (kind := kinds[entry.name])}


def _send_static(static: dict[str, tuple[str, bytes]], name: str) -> Response:
    if name not in static:
        return Answer({"error": "no such file"}, status_code=404)
    kind, content = static[name]
    return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})


def _ask(answer: Callable[[Request], Any]) -> Callable:
    async def endpoint(request: Request) -> Response:
        return Answer(await run_in_threadpool(answer, request), headers=FRESH)

    return endpoint


def _binary(answer: Callable[[Request], bytes], headers: dict[str, str]) -> Callable:
    async def endpoint(request: Request) -> Response:
        content = await run_in_threadpool(answer, request)
        return Response(content, media_type="application/octet-stream", headers=headers)

    return endpoint


def _numbers(answer: Callable[..., Any]) -> Callable[[Request], Any]:
    return lambda request: answer(**request.path_params)


def _picture(answer: Callable[..., bytes]) -> Callable:
    async def endpoint(request: Request) -> Response:
        content = await run_in_threadpool(_check_range, answer, request.path_params)
        return Response(content, media_type="image/jpeg", headers=KEEP)

    return endpoint


def _map(answer: Callable[..., bytes], headers: dict[str, str] = KEEP) -> Callable:
    encoded = {**headers, "Content-Encoding": "gzip"}
    return _binary(lambda request: _check_range(answer, request.path_params), encoded)


def _check_range(answer: Callable[..., bytes], numbers: dict[str, int]) -> bytes:
    try:
        return answer(*numbers.values())
    except IndexError as error:
        raise BadInputError(f"there is no image {numbers['bag']} in this run") from error


def _read_number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "0")
    if not text.isdecimal() or len(text) > 9:
        raise BadInputError(f"{name} must be a whole number; got {text[:20]!r}")
    return int(text)


def _act(session: Session, name: str, threads: ThreadPoolExecutor) -> Callable:
    """A POST whose body is a JSON object with exactly the arguments of an action."""

    async def endpoint(request: Request) -> Response:
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            return Answer({"error": "send JSON"}, status_code=415)
        try:
            message = json.loads(await request.body())
        except ClientDisconnect:
            return Answer({"error": "too large"}, status_code=413)
        except (ValueError, RecursionError):
            return Answer({"error": "the message is not JSON"}, status_code=400)
        try:
            answer = await asyncio.get_running_loop().run_in_executor(threads, session.actions[name], message)
        except SegvoteError:
            session.keep_unsaved(name, message)
            raise
        return Answer(answer, headers=FRESH)

    return endpoint


def _stream(session: Session) -> StreamingResponse:
    """Server-sent events: the status now and after each change."""

    async def lines() -> AsyncIterator[bytes]:
        async for status in session.listen(HEARTBEAT_SECONDS):
            yield b"data: " + Answer(status).body + b"\n\n" if status else b": still here\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream", headers={**FRESH, "X-Accel-Buffering": "no"})


class ClassSessions:
    """The sessions of all classes, in the order of their numbers."""

    def __init__(self, runs: ClassRuns) -> None:
        root, out = runs.record.input, str(runs.folder.path)
        command = shlex.join(["segvote", "annotate", "--classes", root, "-o", out])
        self.sessions = [Session(run, runs.names, number, command) for number, run in enumerate(runs.runs.values())]

    def start(self) -> None:
        """Nothing: a class is voted on when its page is opened."""

    def close_streams(self) -> None:
        for session in self.sessions:
            session.close_streams()

    def close(self) -> None:
        for session in self.sessions:
            session.close()


def make_class_app(classes: ClassSessions) -> Starlette:
    """The application behind the guard: ``classes/0/`` and so on; the root leads to the first."""
    mounts = [Mount(f"/classes/{number}", _StartedApp(session)) for number, session in enumerate(classes.sessions)]
    return Starlette(routes=[Route("/", lambda request: RedirectResponse("classes/0/", 303)), *mounts])


class _StartedApp:
    """The application of one class; opening its page starts its engine."""

    def __init__(self, session: Session) -> None:
        self.session, self.app = session, make_app(session)

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        if scope["path"].endswith("/api/run"):
            self.session.start()
        await self.app(scope, receive, send)
