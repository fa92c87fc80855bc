"""Folders in object stores, for the time of one call: fetched before it, what it wrote sent while it works and after.

Whoever is given paths gets the same paths back, and nothing of a store is touched or imported.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segvote.errors import BadInputError, SegvoteError, UnwritableFileError
from segvote.io.remote.addresses import find_local_path, is_uri
from segvote.io.remote.mirrors import Mirror
from segvote.progress import Progress, ignore_progress

__all__ = ["Opened", "fetch_folder", "open_folders"]

# Seconds of work that a killed run may have kept to itself.
SEND_EVERY = 60
# What a model does without.
NOT_OF_MODEL = ("exports/", "features/", "heatmaps/", "masks/", "segments/", "votes/")


@dataclass(frozen=True)
class Opened:
    """Folders of this machine in the place of those that were given.

    Attributes
    ----------
    inputs, models, outs
        In the order in which they were given.
    progress
        To be called with step, done, total: it also sends what is finished.
    """

    inputs: list[Any]
    models: list[Any]
    outs: list[Any]
    progress: Progress


@contextlib.contextmanager
def open_folders(
    inputs: Sequence[Any] = (),
    outs: Sequence[Any] = (),
    models: Sequence[Any] = (),
    progress: Progress = ignore_progress,
) -> Iterator[Opened]:
    """Fetch what lies in stores, and send back what the ``with`` changed in `outs`.

    Parameters
    ----------
    inputs
        Paths, addresses (``s3://bucket/with``), or anything else, which stays as it is: folders that are only read.
    outs
        Run folders, and others that are written.
    models
        Run folders of which only the model is wanted.
    progress
        Called with step, done, total.

    Yields
    ------
    Opened
    """
    if not any(map(is_uri, (*inputs, *outs, *models))):
        yield Opened(list(inputs), list(models), list(outs), progress)
        return
    with contextlib.ExitStack() as stack:
        stack.enter_context(_named_by_uri([one for one in (*inputs, *outs, *models) if is_uri(one)]))
        sender = _Sender(progress)
        # The runs first: whoever may not write there is told so before anything is fetched.
        written = [_open_out(one, stack, sender) if is_uri(one) else one for one in outs]
        read = [fetch_folder(one, progress) if is_uri(one) else one for one in inputs]
        lean = [fetch_folder(one, progress, NOT_OF_MODEL) if is_uri(one) else one for one in models]
        yield Opened(read, lean, written, sender)
        sender.send()


class _Sender:
    """Progress that sends on the way: at the end of each step, and of each minute of a long one."""

    def __init__(self, progress: Progress) -> None:
        self.mirrors: list[Any] = []
        self._progress, self._time, self._n_sent = progress, time.monotonic(), 0

    def __call__(self, step: str, done: int, total: int) -> None:
        self._progress(step, done, total)
        if done != total and time.monotonic() - self._time < SEND_EVERY:
            return
        try:
            self.send()
        except UnwritableFileError:
            # A store that never took anything is told at once; one that fails later may be back before the end.
            if not self._n_sent:
                raise

    def send(self) -> None:
        for mirror in self.mirrors:
            mirror.send(self._progress)
        self._time, self._n_sent = time.monotonic(), self._n_sent + 1


def _open_out(uri: str, stack: contextlib.ExitStack, sender: _Sender) -> Path:
    mirror = Mirror(uri)
    stack.enter_context(mirror.lock())
    mirror.fetch(sender._progress, is_run=True)
    sender.mirrors.append(mirror)
    return mirror.path


def fetch_folder(uri: str, progress: Progress, leave_out: Sequence[str] = ()) -> Path:
    """Fetch a folder of a store; returns its mirror."""
    mirror = Mirror(uri)
    with mirror.lock():
        mirror.fetch(progress, leave_out=leave_out)
    if not mirror.path.exists():
        raise BadInputError(f"expected a folder, found nothing at {mirror.url}; check the address")
    return mirror.path


@contextlib.contextmanager
def _named_by_uri(uris: Sequence[str]) -> Iterator[None]:
    """Errors speak of the folder that was given, not of its mirror."""
    try:
        yield
    except SegvoteError as error:
        text = str(error)
        for uri in uris:
            with contextlib.suppress(BadInputError):  # the address itself may be what is wrong
                text = text.replace(str(find_local_path(uri)), uri)
        if text == str(error):
            raise
        raise type(error)(text) from error
