"""Voters that read a map of a classifier or a network at every segment."""
