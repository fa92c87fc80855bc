"""A lease on a folder of a store, so that one machine at a time writes to it.

A lease is a numbered object below ``.lease``, created only where there is none (``If-None-Match`` in S3, the like in
other stores), so that of two machines one succeeds. Its holder writes it again every `RENEWED` seconds; one that was
not written for `EXPIRED` seconds belongs to a machine that is gone, and the next machine takes the next number.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import threading
from collections.abc import Iterator

from segvote.errors import BusyRunError, SegvoteError
from segvote.io.objects import Store

# Seconds.
RENEWED, EXPIRED = 30.0, 180.0
_CLOCK = "clock-"  # objects whose time is that of the store


class Lease:
    """A lease that was taken; `check` raises once another machine has taken the next one.

    `owner` names the cache of a machine, of which a process of its own holds the lock: a lease that it left behind when
    it was killed is taken over at once.
    """

    def __init__(self, store: Store, owner: str) -> None:
        self.store = Store(f"{store.uri}/.lease")
        self._uri, self._lost = store.uri, ""
        self._content = json.dumps({"owner": owner, "host": platform.node(), "process": os.getpid()}).encode()
        self._name = ""
        # Always the same for an owner: one that a killed process left behind is deleted by the next.
        self._clock = f"{_CLOCK}{hashlib.sha256(owner.encode()).hexdigest()[:16]}"
        self._listing = threading.Lock()

    def take(self) -> None:
        """Take the lease, or raise `BusyRunError`; writes to the store, which may refuse it."""
        now, numbers = self._list()
        last = max(numbers, default=0)
        if last and not self._is_own(last):
            age = now - numbers[last]
            if age < EXPIRED:
                raise BusyRunError(
                    f"another machine is writing to {self._uri}, {age:.0f} s ago; wait for it, or until it was silent "
                    f"for {EXPIRED:.0f} s, or choose another -o folder"
                )
        self._name = _name(last + 1)
        if not self.store.create(self._name, self._content) or max(self._list()[1], default=0) != last + 1:
            raise BusyRunError(f"another machine began to write to {self._uri}; wait, or choose another -o folder")
        for number in numbers:
            self.store.delete(_name(number))

    def renew(self) -> None:
        """Write the lease again, or note that it was lost."""
        if max(self._list()[1], default=0) != int(self._name) or self.store.read(self._name) != self._content:
            self._lost = (
                f"another machine has begun to write to {self._uri} while this one was silent; repeat the command"
            )
        else:
            self.store.write(self._name, self._content)

    def check(self) -> None:
        """Raise `BusyRunError` if the lease was lost."""
        if self._lost:
            raise BusyRunError(self._lost)

    def give_back(self) -> None:
        """Delete the lease."""
        if not self._lost:
            self.store.delete(self._name)

    def _list(self) -> tuple[float, dict[int, float]]:
        """The time of the store, and number of each lease to the time when it was last written."""
        with self._listing:
            self.store.write(self._clock, b"-")
            listed = self.store.list()
            self.store.delete(self._clock)
        return listed[self._clock].time, {int(name): listed[name].time for name in listed if name.isdecimal()}

    def _is_own(self, number: int) -> bool:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            known = json.loads(self.store.read(_name(number)) or b"{}")
            return bool(known["owner"] == json.loads(self._content)["owner"])
        return False


def _name(number: int) -> str:
    return f"{number:08d}"


@contextlib.contextmanager
def hold_lease(store: Store, owner: str) -> Iterator[Lease]:
    """Hold a lease on a folder of a store; a thread renews it."""
    lease, ended = Lease(store, owner), threading.Event()
    lease.take()

    def renew() -> None:
        while not ended.wait(RENEWED):
            with contextlib.suppress(SegvoteError):  # the store may answer the next time; until then the lease lasts
                lease.renew()

    thread = threading.Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield lease
    finally:
        ended.set()
        thread.join()
        with contextlib.suppress(SegvoteError):  # the error of the block is the one to report; it expires by itself
            lease.give_back()
