"""Folders to run folder: read, segment, describe, vote, refine, decide, write; cached, resumable."""
