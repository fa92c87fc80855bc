"""The Python face: the commands as functions, with all they leave behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from segvote.pipeline.annotate import annotate as run_annotate
from segvote.pipeline.export import export
from segvote.pipeline.predict import predict
from segvote.pipeline.run import Run
from segvote.pipeline.settings import Settings

__all__ = ["annotate", "export", "predict"]


def annotate(
    with_folder: Path | str,
    without_folder: Path | str,
    out: Path | str,
    settings: Settings | None = None,
    **options: Any,
) -> Run:
    """Masks of the thing that one folder of images shows and the other does not, and the report about them.

    Parameters are those of `segvote.pipeline.annotate.annotate`; in a script, call it only from under
    ``if __name__ == "__main__"``.
    """
    from segvote.report import write_report

    run = run_annotate(with_folder, without_folder, out, settings, **options)
    write_report(run)
    return run
