"""Routes of the page: each checks its numbers and calls the session.

No name from the client reaches the file system but those of static files: images are numbers.
"""

from __future__ import annotations

import asyncio
import json
import mimetypes
import shlex
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from segvote.errors import (
    BadInputError,
    BusyRunError,
    InaccessibleFileError,
    MissingPartError,
    SegvoteError,
    UnknownNameError,
    UnreadableImageError,
    UnwritableFileError,
)
from segvote.io.names import PERCENT
from segvote.review.encoding import describe_explanation, encode_update
from segvote.review.session import Session
from segvote.run.classes import ClassRuns

STATIC = Path(__file__).parent.parent / "static"
mimetypes.add_type("text/javascript", ".js")  # some systems have another type for it, and browsers reject that
KEEP = {"Cache-Control": "private, max-age=86400, immutable"}
FRESH = {"Cache-Control": "no-store"}
# A missing image or package and a full disk are no fault of the server; other errors of files are.
STATUSES = {
    BusyRunError: 409,
    BadInputError: 400,
    UnknownNameError: 400,
    UnreadableImageError: 404,
    InaccessibleFileError: 409,
    MissingPartError: 409,
    UnwritableFileError: 507,
}
MAX_BODY = 1 << 18
# Gzip level for label maps and masks, which are long runs of equal values; pictures are compressed already.
GZIP = [Middleware(GZipMiddleware, compresslevel=6)]
# Seconds between comment lines, by which a page notices a dead server and a server a closed page.
HEARTBEAT_SECONDS = 10.0
# Threads for actions, which may wait for the log; others answer questions meanwhile.
MAX_ACTIONS = 4


class Answer(JSONResponse):
    """JSON in which names that are no UTF-8 are percent-encoded."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8", PERCENT)


def make_app(session: Session) -> Starlette:
    """The application behind the guard."""
    threads = ThreadPoolExecutor(MAX_ACTIONS, "segvote-action")
    engine, masks, frames = session.engine, session.engine.masks, session.engine.frames
    pictures, image = session.pictures, "/api/images/{bag:int}"
    box = "{left:int}/{top:int}/{right:int}/{bottom:int}"

    def encode_changes(since: int) -> bytes:
        return encode_update(engine.board.snapshot, since)

    def encode_frame_map(bag: int, frame: int) -> bytes:
        return pictures.encode_labels(bag, frames.read_labels(bag, frame))

    def describe_votes(bag: int, segment: int) -> dict[str, Any]:
        return describe_explanation(engine.explain(bag, segment), bag, segment)

    routes = [
        Route("/", lambda request: FileResponse(STATIC / "index.html")),
        Mount("/static", StaticFiles(directory=STATIC)),
        Route("/api/run", _json(session.open)),
        Route("/api/status", _json(session.describe_status)),
        Route("/api/doctor", _json(session.describe_doctor)),
        Route("/api/alternatives", _json(session.describe_alternatives)),
        Route("/api/alternatives/{number:int}/{bag:int}", _bytes(session.draw_alternative, FRESH, "image/jpeg")),
        Route("/api/update/{since:int}", _bytes(encode_changes, FRESH)),
        Route("/api/others", _json(session.list_others)),
        Route("/api/others/{number:int}", _bytes(session.draw_other, FRESH, "image/jpeg")),
        Route("/api/images/from/{first:int}", _json(session.describe_images)),
        Route("/api/events", lambda request: _stream(session)),
        Route(f"{image}/picture", _bytes(pictures.get_image, media_type="image/jpeg")),
        Route(f"{image}/thumb", _bytes(pictures.get_thumb, media_type="image/jpeg")),
        Route(f"{image}/map", _bytes(pictures.get_map), middleware=GZIP),
        Route(f"{image}/mask", _bytes(masks.encode_mask, FRESH), middleware=GZIP),
        Route(f"{image}/instances", _bytes(masks.encode_instances, FRESH), middleware=GZIP),
        Route(f"{image}/model", _json(session.embed)),
        Route(f"{image}/model/{{x:int}}/{{y:int}}", _bytes(session.encode_levels, FRESH), middleware=GZIP),
        Route(f"{image}/model/{box}", _bytes(session.encode_levels, FRESH), middleware=GZIP),
        Route(f"{image}/small-mask", _bytes(masks.encode_small_mask, FRESH), middleware=GZIP),
        Route(image + "/frames/{frame:int}/picture", _bytes(frames.get_picture, media_type="image/jpeg")),
        Route(image + "/frames/{frame:int}/map", _bytes(encode_frame_map), middleware=GZIP),
        Route(image + "/segments/{segment:int}/crop", _bytes(pictures.get_crop, media_type="image/jpeg")),
        Route(image + "/segments/{segment:int}/votes", _json(describe_votes)),
        Route(image + "/outline/{x:int}/{y:int}", _json(masks.trace_outline)),
        *[Route(f"/api/{name}", _act(session, name, threads), methods=["POST"]) for name in session.actions],
    ]
    return Starlette(routes=routes, exception_handlers={SegvoteError: _explain, HTTPException: _explain})


def _explain(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return Answer({"error": error.detail}, status_code=error.status_code)
    status = next((number for kind, number in STATUSES.items() if isinstance(error, kind)), 500)
    return Answer({"error": str(error)}, status_code=status, headers=FRESH)


async def _call(answer: Callable[..., Any], request: Request) -> Any:
    """The answer to the numbers in a path, computed in a thread."""
    try:
        return await run_in_threadpool(answer, **request.path_params)
    except IndexError as error:
        raise BadInputError(f"there is no image {request.path_params.get('bag')} in this run") from error


def _json(answer: Callable[..., Any]) -> Callable:
    async def endpoint(request: Request) -> Response:
        return Answer(await _call(answer, request), headers=FRESH)

    return endpoint


def _bytes(
    answer: Callable[..., bytes], headers: dict[str, str] = KEEP, media_type: str = "application/octet-stream"
) -> Callable:
    async def endpoint(request: Request) -> Response:
        return Response(await _call(answer, request), media_type=media_type, headers=headers)

    return endpoint


def _act(session: Session, name: str, threads: ThreadPoolExecutor) -> Callable:
    """A POST whose body is a JSON object with exactly the arguments of an action."""

    async def endpoint(request: Request) -> Response:
        # Forms of other pages cannot send this type.
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            raise HTTPException(415, "send JSON")
        try:
            message = json.loads(await _read_body(request))
        except (ClientDisconnect, ValueError, RecursionError) as error:
            raise BadInputError("the message is not JSON") from error
        answer = await asyncio.get_running_loop().run_in_executor(threads, session.actions[name], message)
        return Answer(answer, headers=FRESH)

    return endpoint


async def _read_body(request: Request) -> bytes:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY:
            raise HTTPException(413, "too large")
    return body


def _stream(session: Session) -> StreamingResponse:
    """Server-sent events: the status now and after each change."""

    async def lines() -> AsyncIterator[bytes]:
        async for status in session.listen(HEARTBEAT_SECONDS):
            yield b"data: " + Answer(status).body + b"\n\n" if status else b": still here\n\n"

    return StreamingResponse(lines(), media_type="text/event-stream", headers=FRESH)


def open_classes(runs: ClassRuns) -> list[Session]:
    """The sessions of all classes, in the order of their numbers; each votes once its page is opened."""
    command = shlex.join(["segvote", "annotate", "--classes", runs.record.input, "-o", str(runs.folder.path)])
    return [Session(run, runs.names, number, command) for number, run in enumerate(runs.runs.values())]


def make_class_app(sessions: Sequence[Session]) -> Starlette:
    """The application behind the guard: ``classes/0/`` and so on; the root redirects to the first."""
    mounts = [Mount(f"/classes/{number}", make_app(session)) for number, session in enumerate(sessions)]
    return Starlette(routes=[Route("/", lambda request: RedirectResponse("classes/0/", 303)), *mounts])
