"""Progress bar in a terminal or a notebook: step, count, rate and time left; quiet elsewhere."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from html import escape
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bar
from rich.text import Text

from segvote.progress import Progress

SHORT = 1.0  # seconds: a rate of less is that of looking up what an earlier run left
PAUSE = 0.1  # seconds between two drawings in a notebook: every one is a message to the browser


class RateColumn(ProgressColumn):
    """Items per second, once there is something to measure."""

    def render(self, task: Task) -> Text:
        elapsed = task.finished_time if task.finished else task.elapsed
        if not task.completed or elapsed is None or elapsed < SHORT:
            return Text("")
        return Text(f"{task.completed / elapsed:.1f}/s", style="progress.data.speed")


@contextlib.contextmanager
def draw_progress(check: Callable[[], None] = lambda: None, console: Console | None = None) -> Iterator[Progress]:
    """Give a progress callback that draws one bar per step, on stderr or in the cell of a notebook.

    `check` is called with every report; it may raise.
    """
    console = console or Console(stderr=True)
    if console.is_jupyter:
        yield _check_first(check, NotebookProgress().report)
    elif console.is_terminal:
        with _open_bar(console) as report:
            yield _check_first(check, report)
    else:
        yield lambda step, done, total: check()


@contextlib.contextmanager
def choose_progress(progress: Progress | None) -> Iterator[Progress]:
    """The callback that was given; None: a bar, in a terminal or a notebook."""
    if progress is not None:
        yield progress
        return
    with draw_progress() as bar:
        yield bar


def _check_first(check: Callable[[], None], draw: Progress) -> Progress:
    def report(step: str, done: int, total: int) -> None:
        check()
        draw(step, done, total)

    return report


@contextlib.contextmanager
def _open_bar(console: Console) -> Iterator[Progress]:
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:22}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console) as bar:
        tasks: dict[str, int] = {}

        def report(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bar.add_task(step, total=total)
            bar.update(tasks[step], completed=done, total=total)  # type: ignore[arg-type]

        yield report


class NotebookProgress:
    """One small table below the cell that is being run, updated in place; needs nothing but IPython itself."""

    def __init__(self) -> None:
        self._steps: dict[str, tuple[int, int]] = {}  # how much of each is done, of how much
        self._handle: Any = None
        self._drawn = 0.0

    def report(self, step: str, done: int, total: int) -> None:
        """Draw, unless it was drawn a moment ago and the step goes on, or there is nothing to do."""
        if not total:
            return
        self._steps[step] = (done, total)
        if done >= total or time.monotonic() - self._drawn > PAUSE:
            self._draw()

    def _draw(self) -> None:
        from IPython.display import display

        rows = [
            f'<tr><td>{escape(name)}</td><td><progress value="{done}" max="{total}"></progress></td>'
            f"<td>{done}/{total}</td></tr>"
            for name, (done, total) in self._steps.items()
        ]
        lines = [f"{name:30} {done}/{total}" for name, (done, total) in self._steps.items()]
        content = {"text/plain": "\n".join(lines), "text/html": f"<table>{''.join(rows)}</table>"}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
        self._drawn = time.monotonic()
