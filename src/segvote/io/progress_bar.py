"""Progress bar in a terminal or a notebook: step, count and time left; quiet elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from segvote.progress import Progress


@contextlib.contextmanager
def draw_progress(check: Callable[[], None] = lambda: None, console: Console | None = None) -> Iterator[Progress]:
    """Give a progress callback that draws one bar per step, on stderr or in the cell of a notebook (with ipywidgets).

    `check` is called with every report; it may raise.
    """
    console = console or Console(stderr=True)
    if not _can_draw(console):
        yield lambda step, done, total: check()
        return
    columns = SpinnerColumn(), TextColumn("{task.description:22}"), BarColumn(), MofNCompleteColumn()
    with Bar(*columns, TimeRemainingColumn(), console=console) as bar:
        tasks: dict[str, int] = {}

        def report(step: str, done: int, total: int) -> None:
            check()
            if step not in tasks:
                tasks[step] = bar.add_task(step, total=total)
            elif done == 0:  # a second look takes the same steps: each has one bar, with its own time left
                bar.reset(tasks[step], total=total)  # type: ignore[arg-type]
            bar.update(tasks[step], completed=done, total=total)  # type: ignore[arg-type]

        yield report


def _can_draw(console: Console) -> bool:
    """Whether bars can be redrawn in place: without ipywidgets, rich writes a warning into the cell at every step."""
    return console.is_terminal or (console.is_jupyter and find_spec("ipywidgets") is not None)


@contextlib.contextmanager
def choose_progress(progress: Progress | None) -> Iterator[Progress]:
    """The given callback; None: a bar, in a terminal or a notebook."""
    with draw_progress() if progress is None else contextlib.nullcontext(progress) as chosen:
        yield chosen
