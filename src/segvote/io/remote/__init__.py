"""Folders in object stores: addresses, stores, and the mirror of a folder on this machine."""
