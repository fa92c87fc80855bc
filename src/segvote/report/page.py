"""One self-contained page about a run."""

from __future__ import annotations

from pathlib import Path

from segvote.io.atomic import write_text
from segvote.pipeline.run import Run

__all__ = ["write_report"]


def write_report(run: Run) -> Path:
    """Write ``report.html`` into the run folder."""
    write_text(run.folder.report_path, f"<!doctype html><title>segvote</title><p>{len(run)} images</p>")
    return run.folder.report_path
