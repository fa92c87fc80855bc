"""Parameters of voters as a user or a record writes them, checked against the signature of the voter's class."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from segvote.errors import BadInputError, UnknownNameError
from segvote.method.hypotheses import VoteParams
from segvote.voters import METHOD, VOTERS

# Parameters of the method that are no settings of a run.
METHOD_OPTIONS = ("n_neighbors", "n_steps")
WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word", tuple: "numbers joined by ,"}


def list_options(voter: str) -> dict[str, Any]:
    """Names of the parameters of a voter, or of the method, to their types."""
    part: Any = VoteParams if voter == METHOD else VOTERS[voter]
    hints = get_type_hints(part.__init__)
    return {name: hints[name] for name in (METHOD_OPTIONS if voter == METHOD else inspect.signature(part).parameters)}


def check_options(voter: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a voter has not, or whose values are of another kind: a record may hold any."""
    for name, value in options.items():
        _convert(voter, name, value, strict=True)


def parse_options(voter: str, texts: Iterable[str]) -> dict[str, Any]:
    """Options of one voter, each ``NAME=VALUE``: ``none`` where one may be left open, numbers joined by commas."""
    return {name: _convert(voter, name, value, strict=False) for name, value in map(_split, texts)}


def _convert(voter: str, name: str, value: Any, strict: bool) -> Any:
    """The value as its parameter wants it; text is parsed where `strict` is false."""
    known = list_options(voter)
    if name not in known:
        raise UnknownNameError(f"voter {voter} has no option {name!r:.60}; it has: {', '.join(known) or 'none'}")
    kinds = get_args(known[name]) if NoneType in get_args(known[name]) else (known[name],)
    plain = [get_origin(kind) or kind for kind in kinds]
    given = value
    if not strict:
        given = None if value.lower() == "none" and NoneType in plain else value.split(",") if tuple in plain else value
    try:
        if isinstance(given, int) and abs(given) > sys.float_info.max:
            raise msgspec.ValidationError
        return msgspec.convert(given, known[name], strict=strict)
    except msgspec.ValidationError as error:
        wanted = " or ".join(WORDS.get(kind, "none") for kind in plain)
        raise BadInputError(f"{name} of voter {voter} must be {wanted}; got {value!r:.60}") from error


def parse_options_of_all(voters: Sequence[str], texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Voter to its options, where it has any: ``NAME=VALUE`` for each that has it, ``VOTER.NAME=VALUE`` for one."""
    options: dict[str, dict[str, Any]] = {}
    for text in texts:
        start, dot, rest = text.partition(".")
        if dot and "=" not in start:
            if start not in voters:
                raise UnknownNameError(f"no voter {start!r} takes part; those that do: {', '.join(voters)}")
            chosen, text = [start], rest
        else:
            chosen = [voter for voter in voters if _split(text)[0] in list_options(voter)]
        if not chosen:
            known = sorted({name for voter in voters for name in list_options(voter)})
            raise UnknownNameError(f"no voter has an option {_split(text)[0]!r}; known are: {', '.join(known)}")
        for voter in chosen:
            options.setdefault(voter, {}).update(parse_options(voter, [text]))
    return options


def _split(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise BadInputError(f"expected an option as NAME=VALUE, got {text!r}")
    return name.strip().replace("-", "_"), value.strip()
