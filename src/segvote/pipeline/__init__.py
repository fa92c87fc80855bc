"""Folders to run folder: read, segment, describe, vote, refine, decide, write; cached, resumable."""

from segvote.pipeline.annotate import annotate
from segvote.pipeline.run import Run
from segvote.pipeline.settings import Settings

__all__ = ["Run", "Settings", "annotate"]
