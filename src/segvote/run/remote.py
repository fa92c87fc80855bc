"""A run folder that may lie in an object store, and the images it was made of."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from segvote.errors import SegvoteError
from segvote.io.remote.addresses import is_uri
from segvote.io.remote.opening import fetch_folder, open_folders
from segvote.io.tables import read_json
from segvote.progress import Progress, ignore_progress
from segvote.run.inputs import Inputs
from segvote.run.run_folder import RunFolder

__all__ = ["open_run"]


@contextlib.contextmanager
def open_run(run: Any, progress: Progress = ignore_progress) -> Iterator[tuple[Any, Progress]]:
    """A run folder, and the images it was made of where they lie in the same store.

    Yields
    ------
    tuple
        The folder of this machine, or what was given if that is no address; what to call with step, done, total.
    """
    with open_folders(outs=[run], progress=progress) as opened:
        if is_uri(run):
            for uri in _list_sources(opened.outs[0]):
                if _get_bucket(uri) == _get_bucket(run):
                    fetch_folder(uri, progress)
        yield opened.outs[0], opened.progress


def _list_sources(folder: Path) -> list[str]:
    """Addresses of the images of a run, or of a run on classes."""
    with contextlib.suppress(SegvoteError, OSError):
        if (record_path := RunFolder(folder).record_path).is_file():
            inputs = Inputs.from_record(read_json(record_path)["inputs"])
            return [one for one in (*inputs.folders.values(), *(more.folder for more in inputs.added)) if is_uri(one)]
        root = read_json(folder / "classes.json")["input"]
        return [root] if is_uri(root) else []
    return []


def _get_bucket(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])
