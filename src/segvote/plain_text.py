"""Untrusted text on a terminal: file names may hold line ends, colours, right-to-left marks, raw bytes."""

from __future__ import annotations

import unicodedata

# Controls, formats (among them those that turn the direction of text), and bytes that are no text.
STRANGE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def make_plain(text: object) -> str:
    r"""One line without terminal control characters, which are written as ``\n`` and ``\x1b``.

    Examples
    --------
    >>> make_plain("two\nlines")
    'two\\nlines'
    """
    return "".join(one if not _is_strange(one) else _escape(one) for one in str(text))


def _is_strange(character: str) -> bool:
    return unicodedata.category(character) in STRANGE


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
