"""Access to the server: only requests that the page itself would send are forwarded.

The token is the first part of every path. It is no cookie, because browsers send cookies to every port of this machine,
and so to servers of other users. The Host must be this machine, because a foreign name may resolve here; the Origin
must be the page's own.
"""

from __future__ import annotations

import hmac
import re
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_PATH = 200  # characters; also keeps numbers in paths short
PAGE = re.compile(r"/(classes/\d+/)?")  # the page of a run, or of one of its classes
HOST = re.compile(r"(127\.0\.0\.1|localhost)(:\d+)?")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


class Guard:
    """ASGI application that forwards permitted requests, without the token, and adds `HEADERS` to every answer."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        token, separator, rest = scope["path"].removeprefix("/").partition("/")
        inside = {**scope, "path": f"/{rest}", "raw_path": f"/{rest}".encode(), "root_path": ""}
        reason = self._find_reason(inside, token)
        if reason is not None:
            answer: Any = PlainTextResponse(f"{reason}: open the address that `segvote review` printed\n", 403)
        else:
            answer = self.app if separator else RedirectResponse(f"/{self.token}/", 303)
        await answer(inside, receive, _add_headers(send))

    def _find_reason(self, scope: Scope, token: str) -> str | None:
        """Why a request is rejected; None where it is not."""
        headers = Headers(scope=scope)
        if not HOST.fullmatch(headers.get("host", "")):
            return "foreign host"
        if not hmac.compare_digest(token.encode(), self.token.encode()):
            return "no token"
        if not (_is_own_origin(scope, headers) or _is_opened(scope, headers)):
            return "foreign origin"
        return "path too long" if len(scope["path"]) > MAX_PATH else None


def _is_own_origin(scope: Scope, headers: Headers) -> bool:
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    # Browsers send an Origin with every request that may change something.
    is_reading = scope["method"] in ("GET", "HEAD")
    return headers.get("origin", None if is_reading else "") in (None, f"http://{headers['host']}")


def _is_opened(scope: Scope, headers: Headers) -> bool:
    """Whether the browser opens the page in a tab of its own, from the file that redirects to it."""
    return (
        scope["method"] == "GET"
        and PAGE.fullmatch(scope["path"]) is not None
        and "origin" not in headers
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def _add_headers(send: Send) -> Send:
    async def sender(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return sender
