"""Limits on connections that have not sent the headers of a request: how long, and how many.

uvicorn limits the time between requests and the number of requests at once, but not the time that headers take, and its
limit on connections rejects new requests, those of the page included. Here the connection that waits longest gives way.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# Time for the headers of a request; a page on the same machine sends them at once.
HEADER_SECONDS = 10.0
# Open connections; a browser opens at most six for a page, and one process may open 1,024 files on many systems.
MAX_CONNECTIONS = 256


class LimitedProtocol(H11Protocol):
    """HTTP on one connection, which is closed where headers do not come."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            _close_oldest([one for one in self.connections if isinstance(one, LimitedProtocol)])
        self._watch_headers()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_deadline()
        super().connection_lost(exc)

    def _watch_headers(self) -> None:
        """Start the clock where the headers of a request are awaited, stop it where they are complete."""
        if self.conn.their_state is not h11.IDLE:
            self._forget_deadline()
        elif self._deadline is None and not self.transport.is_closing():
            self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _close_oldest(several: list[LimitedProtocol]) -> None:
    """Close the connection that has waited longest for headers; none where all are at work."""
    waiting = [(one._deadline.when(), one) for one in several if one._deadline is not None]
    if waiting:
        min(waiting, key=lambda pair: pair[0])[1].transport.abort()
