"""Options of commands: their panels in the help, names that the shell completes, options that several commands have.

An option is one call of `option` or `setting` in the signature of its command. Its default is read from the function
that the command calls, or from `Settings`; the order of a panel is that of the signature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from segvote.cli.help import RESEARCH
from segvote.pipeline.workers import N_JOBS
from segvote.registry import check_known
from segvote.settings import Settings

INPUT, METHOD, OUTPUT, SCALE = "Input", "Method", "Output", "Scale"


def option(default: Any, *names: str, panel: str, help: str, **more: Any) -> Any:
    """An option of a panel; more keywords are those of `typer.Option`. Only ``--help-all`` shows research options."""
    return typer.Option(default, *names, rich_help_panel=panel, help=help, hidden=panel == RESEARCH, **more)


def setting(name: str, panel: str, help: str, known: Iterable[str] = (), **more: Any) -> Any:
    """The option of a field of `Settings`, with its default; `known` are the names that it takes."""
    more = {**more, **(choice(known, name.replace("_", " ")) if known else {})}
    return option(getattr(Settings(), name), panel=panel, help=help, **more)


# Folders are text, not `Path`, which would make one slash of the two in ``s3://bucket/folder``.
RUN = typer.Argument(..., metavar="RUN", help="Run folder of `segvote annotate`; a path or s3://bucket/folder.")
SEGMENTS = option(None, panel=INPUT, metavar="DIR", help="Your own label maps or ucm2 files, by image name.")
STRICT = option(False, panel=INPUT, help="Stop at an unreadable image instead of reporting it.")
JOBS = option(N_JOBS, panel=SCALE, min=1, help="Number of processes; does not change the result.")
SCHEDULER = option(None, panel=SCALE, metavar="ADDRESS", help="Instead of --jobs: a Dask scheduler, tcp://host:8786.")


def choice(known: Iterable[str], kind: str) -> dict[str, Any]:
    """Keywords of an option that takes one of some names: the shell completes them, an unknown one lists them."""

    def check(value: str | None) -> str | None:
        return value if value is None else check_known(value, known, kind)

    return {"metavar": "NAME", "callback": check, "autocompletion": make_completion(known)}


def make_completion(known: Iterable[str]) -> Callable[[str], list[str]]:
    """The completion of a word: the names that begin with it."""
    return lambda incomplete: [name for name in known if name.startswith(incomplete)]


def format_path(path: Path) -> str:
    """The address that a folder is the local copy of; any other path as it is."""
    from segvote.io.stores import is_uri, name_path_or_uri

    named = name_path_or_uri(path)
    return named if is_uri(named) else str(path)


def choose_feature_options(features: str, texts: Sequence[str] | None, device: str, download: bool) -> dict[str, Any]:
    """Feature options for `Settings`, from ``NAME=VALUE`` texts and a device.

    The device is recorded as found on this machine, and left out for the CPU. With `download`, Hugging Face models that
    are not on this machine are fetched first.
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
    chosen = choose_device(device, is_torch=bool(models))
    return options if chosen == CPU else {**options, "device": chosen}
