"""The beginning of every public function: folders fetched from stores, a progress bar, the processes to use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segvote.io.progress_bar import choose_progress
from segvote.io.stores import is_uri, open_folders
from segvote.pipeline.stored import open_stored
from segvote.pipeline.workers import N_JOBS, Resources
from segvote.progress import Progress
from segvote.run.classes import ClassRuns
from segvote.run.run import Run, list_stored_sources, open_run


@dataclass(frozen=True)
class Call:
    """Local folders and resources of one call; folders that were not given are None."""

    folder: Any  # the run folder
    inputs: tuple[Any, ...]
    out: Any
    resources: Resources


@contextmanager
def open_call(
    *inputs: Any,
    out: Any = None,
    run: Any = None,
    n_jobs: int = N_JOBS,
    scheduler: str | None = None,
    progress: Progress | None = None,
    sparse: int = 0,
) -> Iterator[Call]:
    """Fetch folders that lie in stores; send the changes of the ``with`` block in `out` and `run` back.

    `run` is a run or its folder. Inputs that are no folders stay as they are. The first `sparse` inputs are not fetched
    where they and `out`, or `run`, lie in stores: tasks read and write those. Where they are not given, they are those
    of the run.
    """
    folder, target, *others = resolve_paths(scheduler, get_folder(run), out, *inputs)
    if sparse and run is not None:
        others[:sparse] = find_inputs(folder, others[:sparse])
    written = target if run is None else folder
    if sparse and all(is_uri(one) for one in (written, *others[:sparse])):
        with (
            choose_progress(progress) as report,
            open_stored(others[:sparse], written, report) as stored,
            open_folders(others[sparse:], progress=report) as (rest, _),
        ):
            images, path = [copy.path for copy in stored.inputs], stored.out.path
            resources = Resources(n_jobs, scheduler, report, stored)
            yield Call(None if run is None else path, (*images, *rest), None if run is not None else path, resources)
        return
    with (
        choose_progress(progress) as report,
        open_run(folder, report) as local_run,
        open_folders(others, [target], report) as (local, (local_out,)),
    ):
        yield Call(local_run, tuple(local), local_out, Resources(n_jobs, scheduler, report))


def find_inputs(folder: Any, given: Sequence[Any]) -> list[Any]:
    """The folders of images of a run in a store, where others are not given."""
    if not is_uri(folder):
        return list(given)
    known = list_stored_sources(folder)
    return [one or own for one, own in zip(given, known, strict=True)] if len(known) == len(given) else list(given)


def get_folder(run: Any) -> Any:
    """The folder of a run; a path or an address as it is."""
    return run.folder.path if isinstance(run, Run | ClassRuns) else run


def resolve_paths(scheduler: str | None, *folders: Any) -> list[Any]:
    """Absolute paths for workers of a scheduler, which may have been started in any folder."""
    if scheduler is None:
        return list(folders)
    return [Path(one).resolve() if isinstance(one, str | Path) and not is_uri(one) else one for one in folders]
