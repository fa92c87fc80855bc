"""Options of commands: their panels in the help, choices that complete in the shell, folders, features.

An option is one call of `option` or `research` in the signature of its command. Its default is read from what the
command calls; the order of a panel is that of the signature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from segvote.errors import UnknownNameError

INPUT, METHOD, OUTPUT, SCALE = "Input", "Method", "Output", "Scale"
# Shown by --help-all: for experiments, the defaults are what the figures of the documentation were measured with.
RESEARCH = "Research"


def option(default: Any, *names: str, panel: str, help: str, **more: Any) -> Any:
    """An option of a panel; more keywords are those of `typer.Option`."""
    return typer.Option(default, *names, rich_help_panel=panel, help=help, **more)


def research(default: Any, *names: str, help: str, **more: Any) -> Any:
    """An option that only ``--help-all`` shows."""
    return option(default, *names, panel=RESEARCH, help=help, hidden=True, **more)


SCHEDULER = option(None, panel=SCALE, metavar="ADDRESS", help="Instead of --jobs: a Dask scheduler, tcp://host:8786.")


def voter_option(help: str) -> Any:
    """``--voter-option NAME=VALUE``, any number of times; see `segvote.voters.options`."""
    return research(None, "--voter-option", metavar="NAME=VALUE", help=help)


def choice(known: Iterable[str], kind: str) -> dict[str, Any]:
    """Keywords of an option that takes one of some names: the shell completes them, an unknown one lists them."""

    def check(value: str | None) -> str | None:
        if value is not None and value not in known:
            raise UnknownNameError(f"unknown {kind} {value!r}; the known ones are: {', '.join(known)}")
        return value

    return {"metavar": "NAME", "callback": check, "autocompletion": make_completion(known)}


def make_completion(known: Iterable[str]) -> Callable[[str], list[str]]:
    """The completion of a word: the names that begin with it."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in known if name.startswith(incomplete)]

    return complete


class PathOrUri(str):
    """A path or an address of a store (``s3://bucket/folder``): a `Path` would make one slash of an address's two."""

    __slots__ = ()


RUN = typer.Argument(
    ..., metavar="RUN", parser=PathOrUri, help="Run folder of `segvote annotate`; a path or s3://bucket/folder."
)


def format_path(path: Path) -> str:
    """The address that a folder is the local copy of; any other path as it is."""
    from segvote.io.stores import is_uri, name_path_or_uri

    named = name_path_or_uri(path)
    return named if is_uri(named) else str(path)


def choose_feature_options(features: str, texts: Sequence[str] | None, device: str, download: bool) -> dict[str, Any]:
    """Feature options for `Settings`; the device is recorded as found on this machine, and left out for the CPU.

    Parameters
    ----------
    features
        As typed: a name, a path, several joined by ``+``.
    texts
        ``NAME=VALUE``, each a parameter.
    device
        A name of `segvote.features.networks.devices.DEVICES`.
    download
        Whether Hugging Face models that are not on this machine are fetched first.
    """
    from segvote.features.choose import HUGGING_FACE, list_feature_options, parse_feature_options, split_features
    from segvote.features.networks.devices import AUTO, CPU, choose_device

    models = [part.removeprefix(HUGGING_FACE) for part in split_features(features) if part.startswith(HUGGING_FACE)]
    if download and models:
        from segvote.features.networks.hugging_face import download_model

        for model in models:
            download_model(model)
    options = parse_feature_options(features, texts or ())
    if device == CPU or (device == AUTO and "device" not in list_feature_options(features)):
        return options
    found = choose_device(device, is_torch=bool(models))
    return options if found == CPU else {**options, "device": found}
