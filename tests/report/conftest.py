"""Runs to report on."""

import pytest
from made_runs import write_run

from segvote.run.run import Run


@pytest.fixture
def make_run(tmp_path):
    """Function that writes a run folder and opens it."""

    def make(name="out", **options):
        return Run(write_run(tmp_path / name, **options))

    return make
