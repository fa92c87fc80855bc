"""Folders in object stores: addresses, a store, and the local copy in which its files are worked on."""
