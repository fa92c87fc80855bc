"""The door: who may speak to the server. Everything is refused that the page itself would not send.

The token is the first part of every path. A cookie would not do: browsers send one to every port of this machine, so
that a server of another user would be given it. The Host must be this machine (a foreign name that resolves here is
refused), the Origin must be the page's own, and a body has a small limit. Connections that send nothing or do not read
their answers are closed, so that hundreds of them do not block others.
"""

from __future__ import annotations

import asyncio
import hmac
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_BODY = 1 << 18
MAX_PATH = 200  # no address of the page is longer, and no number needs a thousand digits
MAX_REFUSALS_LOGGED = 1000
PAGE = re.compile(r"/(classes/\d+/)?")  # what is shown in the tab: of a run, or of one of its classes
LOCAL_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)

Send = Callable[[dict[str, Any]], Any]


class Guard:
    """ASGI application that forwards permitted requests.

    Parameters
    ----------
    app
        The application behind the door.
    token
        First part of every path that is answered; the application behind the door does not see it.
    log
        Called with the reason and the path of each refusal.
    """

    def __init__(self, app: Any, token: str, log: Callable[[str, str], None]) -> None:
        self.app, self.token, self.log = app, token, log
        self.n_refused = 0

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        token, separator, rest = scope["path"].removeprefix("/").partition("/")
        inside = {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode(), "root_path": ""}
        reason = self._find_reason(inside, _read_headers(scope), token)
        if reason is not None:
            await self._refuse(send, *reason, inside["path"])
        elif not separator:
            await _respond(send, 303, [(b"location", f"/{self.token}/".encode())], b"")
        else:
            await self.app(inside, _limit(receive), _add_headers(send))

    def _find_reason(self, scope: dict[str, Any], headers: dict[str, str], token: str) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if _strip_port(host) not in LOCAL_NAMES:
            return 403, "foreign host"
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return 403, "no token"
        if not (_is_own_origin(headers, host, scope["method"]) or _is_opened(scope, headers)):
            return 403, "foreign origin"
        if len(scope["path"]) > MAX_PATH:
            return 414, "too long"
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdecimal() and len(length) <= 12) or int(length) > MAX_BODY:
            return 413, "too large"
        return None

    async def _refuse(self, send: Send, status: int, reason: str, path: str) -> None:
        self.n_refused += 1
        if self.n_refused <= MAX_REFUSALS_LOGGED:  # an attacker must not fill the disk
            self.log(reason, path[:200])
        text = f"{reason}: open the address that `segvote review` printed\n".encode()
        await _respond(send, status, [(b"content-type", b"text/plain; charset=utf-8")], text)


def _strip_port(host: str) -> str:
    try:
        parts = urlsplit(f"//{host}")
        parts.port  # noqa: B018 - raises where it is no number
    except ValueError:
        return ""
    return host.removesuffix(f":{parts.port}").lower()


def _is_own_origin(headers: dict[str, str], host: str, method: str) -> bool:
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    if origin is None:
        # Browsers send it with everything that changes something.
        return method in ("GET", "HEAD")
    return origin == f"http://{host}"


def _is_opened(scope: dict[str, Any], headers: dict[str, str]) -> bool:
    """Whether the browser opens the page itself in a tab of its own: the way from the file that leads here."""
    wanted = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    return (
        scope["method"] == "GET"
        and PAGE.fullmatch(scope["path"]) is not None
        and "origin" not in headers
        and all(headers.get(name) == value for name, value in wanted.items())
    )


def _read_headers(scope: dict[str, Any]) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def _limit(receive: Any) -> Any:
    """Count a body that does not say how long it is; what is too long ends as a broken connection."""
    total = 0

    async def counted() -> dict[str, Any]:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        return message if total <= MAX_BODY else {"type": "http.disconnect"}

    return counted


def _add_headers(send: Send) -> Send:
    async def sender(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *HEADERS]}
        await send(message)

    return sender


async def _respond(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    lengths = [(b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": [*headers, *lengths, *HEADERS]})
    await send({"type": "http.response.body", "body": body})


# How long a new connection may take to send the headers of its first request.
HEADER_SECONDS = 10.0
# How long a client may leave an answer unread that is too large for the buffers of the system.
UNREAD_SECONDS = 30.0
# Connections without a request under way; above that the oldest is closed.
MAX_IDLE = 300
# All together; a browser takes six. Those above the limit get a 503.
MAX_CONNECTIONS = 600


class PatientProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with an end to its patience."""

    _patience: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None
    _opened = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._opened = self.loop.time()
        self._patience = self.loop.call_later(HEADER_SECONDS, self._close_if_silent)
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._patience, self._unread):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(UNREAD_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    @property
    def is_idle(self) -> bool:
        """Whether no request is under way, or its answer is not read."""
        return self.cycle is None or self.cycle.response_complete or self._unread is not None

    def _close_if_silent(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.abort()

    def _make_room(self) -> None:
        idle = [one for one in self.connections if isinstance(one, PatientProtocol) and one.is_idle]
        if len(idle) > MAX_IDLE:
            oldest = min(idle, key=lambda one: one._opened)
            # At once: hundreds may come before the loop reports the first as lost.
            self.connections.discard(oldest)
            oldest.transport.abort()
