"""The door of a small WSGI server: who asks must know a secret in the path, and must have called us by our own name.

Label Studio appends ``/predict`` and the like to the address it was given, whatever its version; so the secret is a
part of that address.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Collection, Iterable
from typing import Any

LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class TokenGuard:
    """A WSGI application in front of another, which is asked for what follows the token in the path.

    `hosts` are the names under which the server may be called; empty: any. This stops pages of other
    sites whose own name points to this machine (DNS rebinding).
    """

    def __init__(self, application: Application, token: str, hosts: Collection[str] = ()) -> None:
        self._application, self._token, self._hosts = application, token, hosts

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        first, _, rest = str(environ.get("PATH_INFO", "")).removeprefix("/").partition("/")
        if not self._is_called_rightly(environ) or not hmac.compare_digest(first.encode(), self._token.encode()):
            start_response("403 Forbidden", [("Content-Type", "text/plain; charset=utf-8")])
            return [b"give the address that was printed when the server started\n"]
        environ["SCRIPT_NAME"] = f"{environ.get('SCRIPT_NAME', '')}/{first}"
        environ["PATH_INFO"] = f"/{rest}"
        return self._application(environ, start_response)

    def _is_called_rightly(self, environ: dict[str, Any]) -> bool:
        name = str(environ.get("HTTP_HOST", ""))
        host = name if name.endswith("]") else name.rpartition(":")[0] or name
        return not self._hosts or host.lower() in self._hosts
