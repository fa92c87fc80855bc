"""Closes connections that send nothing or do not read their answers, so that hundreds of them do not block others."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

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
