"""Parameters of voters as a user or a record writes them, checked against the signature of the voter's class."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from segvote.errors import BadInputError, UnknownNameError
from segvote.method.vote import VoteParams
from segvote.voters import METHOD, VOTERS

# Parameters of the method that are no settings of a run.
METHOD_OPTIONS = ("n_neighbors", "n_steps")
WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a word", tuple: "numbers joined by ,"}
TRUTH = {"true": True, "false": False}


def list_options(voter: str) -> dict[str, Any]:
    """Names of the parameters of a voter, or of the method, to their types."""
    if voter == METHOD:
        return {name: kind for name, kind in _list_parameters(VoteParams).items() if name in METHOD_OPTIONS}
    return _list_parameters(VOTERS[voter])


def _list_parameters(part: type) -> dict[str, Any]:
    names = [name for name in inspect.signature(part).parameters]
    hints = get_type_hints(part.__init__)  # type: ignore[misc]
    return {name: hints[name] for name in names}


def check_options(voter: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a voter has not, or whose values are of another kind: a record may hold any."""
    known = list_options(voter) if options else {}
    for name, value in options.items():
        if name not in known:
            raise UnknownNameError(f"voter {voter} has no option {name!r:.60}; it has: {', '.join(known) or 'none'}")
        if not any(_fits(value, kind) for kind in _list_kinds(known[name])):
            wanted = " or ".join(WORDS.get(get_origin(kind) or kind, "none") for kind in _list_kinds(known[name]))
            raise BadInputError(f"{name} of voter {voter} must be {wanted}; got {value!r:.60}")


def _list_kinds(kind: Any) -> list[Any]:
    return [kind] if get_origin(kind) is tuple else list(get_args(kind) or (kind,))


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a plain kind; kinds that JSON cannot hold are not looked at."""
    plain = get_origin(kind) or kind
    if plain in (int, float):
        return type(value) in {int, plain} and abs(value) <= sys.float_info.max
    if plain is tuple:
        return isinstance(value, list | tuple) and all(_fits(one, float) for one in value)
    return type(value) is plain if plain in (bool, str, NoneType) else True


def parse_options(voter: str, texts: Iterable[str]) -> dict[str, Any]:
    """Options of one voter, each ``NAME=VALUE``: ``none`` where one may be left open, numbers joined by commas."""
    known, options = list_options(voter), {}
    for text in texts:
        name, value = _split(text)
        if name not in known:
            raise UnknownNameError(f"voter {voter} has no option {name!r}; it has: {', '.join(known) or 'none'}")
        options[name] = _parse_value(voter, name, value, known[name])
    return options


def parse_options_of_all(voters: Sequence[str], texts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Voter to its options, where it has any: ``NAME=VALUE`` for each that has it, ``VOTER.NAME=VALUE`` for one."""
    found: dict[str, dict[str, Any]] = {}
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
            found.setdefault(voter, {}).update(parse_options(voter, [text]))
    return found


def _split(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise BadInputError(f"expected an option as NAME=VALUE, got {text!r}")
    return name.strip().replace("-", "_"), value.strip()


def _parse_value(voter: str, name: str, text: str, kind: Any) -> Any:
    kinds = _list_kinds(kind)
    if NoneType in kinds and text.lower() == "none":
        return None
    wanted = next(one for one in kinds if one is not NoneType)
    plain = get_origin(wanted) or wanted
    try:
        if plain is tuple:
            return tuple(float(part) for part in text.split(","))
        return TRUTH[text.lower()] if plain is bool else plain(text)
    except (ValueError, KeyError) as error:
        also = " or none" if NoneType in kinds else ""
        raise BadInputError(f"{name} of voter {voter} must be {WORDS[plain]}{also}; got {text!r}") from error
