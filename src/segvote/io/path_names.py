"""Which texts can be paths at all: a stranger's record may hold any."""

from __future__ import annotations

import os

__all__ = ["is_path_name"]

MAX_STEP, MAX_PATH = 255, 4095  # bytes, on every usual disk


def is_path_name(text: str) -> bool:
    """Whether a system could have a file of that path; others make its functions fail in ways of their own.

    Examples
    --------
    >>> is_path_name("photos/with/cow.jpg"), is_path_name("cow" * 100)
    (True, False)
    """
    try:
        path = os.fsencode(text)
    except UnicodeEncodeError:  # half a character
        return False
    return b"\0" not in path and len(path) <= MAX_PATH and all(len(step) <= MAX_STEP for step in path.split(b"/"))
