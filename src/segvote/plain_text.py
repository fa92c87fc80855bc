"""Untrusted text for a terminal: file names may hold line ends, colours, right-to-left marks, raw bytes."""

from __future__ import annotations

import unicodedata

# Unicode categories: controls, formats (such as text direction), surrogates, line and paragraph separators.
STRANGE = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def make_plain(text: object) -> str:
    r"""One line without terminal control characters, which are written as ``\n`` and ``\x1b``.

    Examples
    --------
    >>> make_plain("two\nlines")
    'two\\nlines'
    """
    return "".join(
        one.encode("unicode_escape").decode("ascii") if unicodedata.category(one) in STRANGE else one
        for one in str(text)
    )
