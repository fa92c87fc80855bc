"""`segvote info`: what is installed, where it lies, and what is missing; for a person and for a bug report."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

import typer

import segvote
from segvote.cli.app import app, format_examples
from segvote.errors import SegvoteError

ABSENT = "not installed"
# "av>=15; extra == 'video'": the name, and the extra if there is one.
REQUIREMENT = re.compile(r"^([\w.-]+).*?(?:extra == ['\"]([\w-]+)['\"])?$")


@app.command(epilog=format_examples("segvote info", "segvote info --json"))
def info(as_json: bool = typer.Option(False, "--json", help="Print it as JSON.")) -> None:
    """Say which versions are installed and where, which optional parts are missing, which weights were found.

    Reads only; put it into a bug report.
    """
    from segvote.io.tables import format_json

    found = collect_info()
    typer.echo(format_json(found).rstrip() if as_json else format_info(found))


def collect_info() -> dict:
    """Versions, paths, extras and weights, as JSON has them."""
    core, extras = read_requirements()
    return {
        "segvote": segvote.__version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "paths": {"segvote": str(Path(segvote.__file__).parent), "python": sys.executable},
        "packages": {name: find_version(name) for name in core},
        "extras": {extra: {name: find_version(name) for name in names} for extra, names in extras.items()},
        "weights": find_weights(),
    }


def read_requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Names of the packages that the installed segvote asks for, and those of each extra."""
    core: list[str] = []
    extras: dict[str, list[str]] = {}
    try:
        written = distribution("segvote").requires or []
    except PackageNotFoundError:  # run from its source folder: nothing says what it asks for
        written = []
    for line in written:
        match = REQUIREMENT.match(line.strip())
        if match and match[1] != "segvote":  # an extra may be made of others
            (extras.setdefault(match[2], []) if match[2] else core).append(match[1])
    return sorted(core, key=str.lower), {extra: sorted(names, key=str.lower) for extra, names in sorted(extras.items())}


def find_version(package: str) -> str | None:
    """Version of an installed package, None where there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def find_weights() -> dict[str, dict[str, str]]:
    """Per network that has weights: the path where they were found, or the reason why not."""
    from segvote.features.networks.lite0 import find_lite0_weights
    from segvote.features.networks.vgg19 import find_vgg19_weights

    return {"lite0": _look_for(find_lite0_weights), "vgg19": _look_for(find_vgg19_weights)}


def _look_for(find: Callable[[], Path]) -> dict[str, str]:
    try:
        return {"found": str(find())}
    except SegvoteError as reason:
        return {"missing": str(reason)}


def format_info(found: dict) -> str:
    """Everything as lines of two columns."""
    lines = [f"{name:<10}{found[name]:<10}{found['paths'][name]}" for name in ("segvote", "python")]
    lines += [f"{'system':<10}{found['system']}, {found['cores']} cores", "", "packages"]
    lines += [f"  {name:<36}{number or ABSENT}" for name, number in found["packages"].items()]
    lines += ["", "extras", *(format_extra(name, packages) for name, packages in found["extras"].items())]
    lines += ["", "weights"]
    lines += [f"  {name:<10}{where.get('found') or where['missing']}" for name, where in found["weights"].items()]
    return "\n".join(lines)


def format_extra(extra: str, packages: dict[str, str | None]) -> str:
    """One line: complete, or what is missing and how to get it."""
    missing = [name for name, number in packages.items() if number is None]
    if not missing:
        return f"  {extra:<11}installed"
    return f"  {extra:<11}missing: {', '.join(missing)}; get it: pip install 'segvote[{extra}]'"
