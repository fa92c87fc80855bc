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


@contextlib.contextmanager
def open_run(run: Any, progress: Progress = ignore_progress) -> Iterator[Any]:
    """A run folder, and the images it was made of where they lie in the same store.

    Gives the folder of this machine, or what was given if that is no address.
    """
    with open_folders(outs=[run], progress=progress) as opened:
        if is_uri(run):
            for uri in _list_sources(opened.outs[0]):
                if _is_near(uri, str(run)):
                    fetch_folder(uri, progress)
        yield opened.outs[0]


def _list_sources(folder: Path) -> list[str]:
    """Addresses of the images of a run, or of a run on classes."""
    with contextlib.suppress(SegvoteError, OSError):
        if (record_path := RunFolder(folder).record_path).is_file():
            inputs = Inputs.from_record(read_json(record_path)["inputs"])
            return [one for one in (*inputs.folders.values(), *(more.folder for more in inputs.added)) if is_uri(one)]
        root = read_json(folder / "classes.json")["input"]
        return [root] if is_uri(root) else []
    return []


def _is_near(place: str, run: str) -> bool:
    """Whether a folder that a run names lies in the same bucket, or, where there are none, beside the run.

    ``file://`` knows no buckets: a stranger's record could name any folder of this machine.
    """
    if bucket := _get_bucket(run):
        return _get_bucket(place) == bucket
    beside = run.rstrip("/").rpartition("/")[0]
    is_root = beside.endswith(":/") or beside.endswith("://")
    return place.startswith(f"{beside}/") and not is_root and ".." not in place.split("/")


def _get_bucket(url: str) -> str:
    """Scheme and bucket of an address; empty where what follows the scheme is a path."""
    scheme, _, rest = url.partition("://")
    bucket = rest.split("/", 1)[0]
    return f"{scheme}://{bucket}" if bucket else ""
