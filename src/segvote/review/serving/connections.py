"""Connections that say nothing are closed: whoever opens hundreds of them must not lock the owner out."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

# How long a new connection may take to send the headers of its first request.
HEADER_SECONDS = 10.0
# Connections without a request under way; above that the oldest is closed.
MAX_IDLE = 300
# All together; a browser takes six. The one above the limit is told so (503).
MAX_CONNECTIONS = 600


class PatientProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with an end to its patience."""

    _patience: asyncio.TimerHandle | None = None
    _opened = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._opened = self.loop.time()
        self._patience = self.loop.call_later(HEADER_SECONDS, self._close_if_silent)
        self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
        super().connection_lost(exc)

    @property
    def is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

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
