"""Folders to run folder: read, segment, extract features, vote, decide, write; cached, resumable."""
