"""Folders in object stores, for the time of one call: fetched before it, what it wrote sent after it.

Whoever is given paths gets the same paths back, and nothing of a store is touched or imported.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from segvote.errors import BadInputError, SegvoteError
from segvote.io.remote.addresses import find_local_path, is_uri
from segvote.io.remote.local_copy import LocalCopy
from segvote.progress import Progress, ignore_progress

# What a model does without.
NOT_OF_MODEL = ("exports/", "features/", "heatmaps/", "masks/", "segments/", "votes/")


@dataclass(frozen=True)
class Opened:
    """Folders of this machine in the place of those that were given, in their order."""

    inputs: list[Any]
    models: list[Any]
    outs: list[Any]


@contextlib.contextmanager
def open_folders(
    inputs: Sequence[Any] = (),
    outs: Sequence[Any] = (),
    models: Sequence[Any] = (),
    progress: Progress = ignore_progress,
) -> Iterator[Opened]:
    """Fetch what lies in stores, and send back what the ``with`` changed in `outs`.

    All may be paths, addresses (``s3://bucket/with``), or anything else, which stays as it is. `inputs` are only read,
    `outs` are run folders and others that are written, of `models` only the model is wanted.
    """
    with _named_by_uri([*inputs, *outs, *models]), contextlib.ExitStack() as stack:
        written = [stack.enter_context(_open_out(one, progress)) if is_uri(one) else one for one in outs]
        read = [fetch_folder(one, progress) if is_uri(one) else one for one in inputs]
        lean = [fetch_folder(one, progress, NOT_OF_MODEL) if is_uri(one) else one for one in models]
        yield Opened(read, lean, written)


@contextlib.contextmanager
def _open_out(uri: str, progress: Progress) -> Iterator[Any]:
    copy = LocalCopy(uri)
    with copy.lock():
        copy.fetch(progress)
        yield copy.path
        copy.send(progress)


def fetch_folder(uri: str, progress: Progress, leave_out: Sequence[str] = ()) -> Any:
    """Fetch a folder of a store; returns its local copy."""
    copy = LocalCopy(uri)
    with copy.lock():
        copy.fetch(progress, leave_out)
    if not copy.path.exists():
        raise BadInputError(f"expected a folder, found nothing at {copy.url}; check the address")
    return copy.path


@contextlib.contextmanager
def _named_by_uri(given: Sequence[Any]) -> Iterator[None]:
    """Errors speak of the folders that were given, not of their local copies."""
    try:
        yield
    except SegvoteError as error:
        text = str(error)
        for uri in filter(is_uri, given):
            with contextlib.suppress(BadInputError):  # the address itself may be what is wrong
                text = text.replace(str(find_local_path(uri)), uri)
        if text == str(error):
            raise
        raise type(error)(text) from error
