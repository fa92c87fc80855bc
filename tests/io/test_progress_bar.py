"""Progress bars: drawn in terminals, and in notebooks that can redraw them."""

import io

import pytest
from rich.console import Console

from segvote.io import progress_bar


@pytest.mark.parametrize(("installed", "is_drawn"), [(True, True), (False, False)])
def test_a_notebook_has_bars_only_with_ipywidgets(installed, is_drawn, monkeypatch):
    monkeypatch.setattr(progress_bar, "find_spec", lambda name: object() if installed else None)
    assert progress_bar._can_draw(Console(file=io.StringIO(), force_jupyter=True)) is is_drawn


def test_steps_are_reported_where_no_bar_is_drawn():
    checks = []
    with progress_bar.draw_progress(lambda: checks.append(1), Console(file=io.StringIO())) as report:
        report("vote", 1, 2)
    assert checks == [1]
