"""Progress bar in a terminal or a notebook: step, count, rate and time left; quiet elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

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

SHORT = 1.0  # seconds: a rate measured over less is that of looking up earlier results


class RateColumn(ProgressColumn):
    """Items per second, after the first second."""

    def render(self, task: Task) -> Text:
        elapsed = task.finished_time if task.finished else task.elapsed
        if not task.completed or elapsed is None or elapsed < SHORT:
            return Text("")
        return Text(f"{task.completed / elapsed:.1f}/s", style="progress.data.speed")


@contextlib.contextmanager
def draw_progress(check: Callable[[], None] = lambda: None, console: Console | None = None) -> Iterator[Progress]:
    """Give a progress callback that draws one bar per step, on stderr or in the cell of a notebook (with ipywidgets).

    `check` is called with every report; it may raise.
    """
    console = console or Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield lambda step, done, total: check()
        return
    rest = BarColumn(), MofNCompleteColumn(), RateColumn(), TimeRemainingColumn()
    with Bar(SpinnerColumn(), TextColumn("{task.description:22}"), *rest, console=console) as bar:
        tasks: dict[str, int] = {}

        def report(step: str, done: int, total: int) -> None:
            check()
            if step not in tasks:
                tasks[step] = bar.add_task(step, total=total)
            bar.update(tasks[step], completed=done, total=total)  # type: ignore[arg-type]

        yield report


@contextlib.contextmanager
def choose_progress(progress: Progress | None) -> Iterator[Progress]:
    """The given callback; None: a bar, in a terminal or a notebook."""
    with draw_progress() if progress is None else contextlib.nullcontext(progress) as chosen:
        yield chosen
