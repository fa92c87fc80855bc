"""Voters that use the segments of *without* bags only."""
