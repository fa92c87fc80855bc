"""Progress in a notebook: one small table below the cell, updated in place; needs nothing but IPython itself."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from html import escape
from typing import Any

__all__ = ["NotebookProgress", "StepCount"]

PAUSE = 0.1  # seconds between two drawings: every one is a message to the browser


@dataclass
class StepCount:
    """How far one step is.

    Attributes
    ----------
    name, done, total
        What it does, and how much of it.
    """

    name: str
    done: int
    total: int

    def format_text(self) -> str:
        return f"{self.name:30} {self.done}/{self.total}"

    def format_html(self) -> str:
        bar = f'<progress value="{self.done}" max="{self.total}"></progress>'
        return f"<tr><td>{escape(self.name)}</td><td>{bar}</td><td>{self.done}/{self.total}</td></tr>"


@dataclass
class NotebookProgress:
    """A progress callback that draws below the cell that is being run.

    Attributes
    ----------
    steps
        Those reported so far, by name.
    """

    steps: dict[str, StepCount] = field(default_factory=dict)
    _handle: Any = None
    _drawn: float = 0.0

    def report(self, step: str, done: int, total: int) -> None:
        """Draw, unless it was drawn a moment ago and the step goes on, or there is nothing to do."""
        if not total:
            return
        self.steps[step] = StepCount(step, done, total)
        if done >= total or time.monotonic() - self._drawn > PAUSE:
            self._draw()

    def _draw(self) -> None:
        from IPython.display import display

        content = {
            "text/plain": "\n".join(step.format_text() for step in self.steps.values()),
            "text/html": f"<table>{''.join(step.format_html() for step in self.steps.values())}</table>",
        }
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
        self._drawn = time.monotonic()
