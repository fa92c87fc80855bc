"""Registries of voters, features, segmenters and export formats by name."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from segvote.errors import UnknownNameError


def check_known(name: str, known: Iterable[str], kind: str) -> str:
    """Return the name; raise `UnknownNameError` with the known ones of its kind where it is none of them.

    Examples
    --------
    >>> check_known("red", ("red", "green"), "colour")
    'red'
    """
    names = list(known)
    if name not in names:
        raise UnknownNameError(f"unknown {kind} {name!r:.80}; the known ones are: {', '.join(names)}")
    return name


class Registry(Mapping[str, Any]):
    """A read-only mapping from names to parts, which are imported on first use.

    Parameters
    ----------
    kind : str
        Kind of the parts for error messages, such as ``"voter"``.
    parts : dict of str to str
        Name to ``"module:attribute"``.

    Examples
    --------
    >>> import segvote
    >>> "crane" in segvote.VOTERS, "coco" in segvote.EXPORTS, "color" in segvote.FEATURES, "slic" in segvote.SEGMENTERS
    (True, True, True, True)
    >>> segvote.VOTERS["crane"].__name__
    'CRANE'
    """

    def __init__(self, kind: str, parts: dict[str, str]) -> None:
        self.kind = kind
        self._parts = dict(sorted(parts.items()))

    def check(self, name: str) -> None:
        """Raise `UnknownNameError` for an unknown name, without importing anything."""
        check_known(name, self._parts, self.kind)

    def __getitem__(self, name: str) -> Any:
        self.check(name)
        module, attribute = self._parts[name].split(":")
        return getattr(importlib.import_module(module), attribute)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts)

    def __len__(self) -> int:
        return len(self._parts)

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    def __repr__(self) -> str:
        return f"Registry({self.kind!r}: {', '.join(self._parts)})"
