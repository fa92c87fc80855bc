"""`segvote info`: versions, machine and names of parts, for a bug report."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import typer

import segvote
from segvote.cli.app import app, format_examples
from segvote.features.networks.weights import list_weights
from segvote.io.stores import find_cache
from segvote.run.record import ABSENT, find_version, list_versions

# Extra to the package that shows whether it is installed.
EXTRAS = {
    "video": "av",
    "web": "starlette",
    "dask": "distributed",
    "stores": "fsspec",
    "notebook": "matplotlib",
    "parquet": "pyarrow",
    "torch": "transformers",
    "sam": "segvote-mobile-sam",
    "vgg": "segvote-vgg16",
}
Row = tuple[str, str]


@app.command(epilog=format_examples("segvote info"))
def info() -> None:
    """Print versions, the machine, which extras and weights are installed, and the names of parts.

    Reads only; put it into a bug report.
    """
    for name, value in (*_list_machine(), *_list_packages(), *_list_parts()):
        typer.echo(f"{name:<26}{value}")


def _list_machine() -> Iterator[Row]:
    import joblib

    memory, cache = psutil.virtual_memory(), find_cache()
    yield "segvote", f"{segvote.__version__}, {Path(segvote.__file__).parent}"
    yield "system", f"{platform.platform()}, {sys.executable}"
    yield "cores", f"{os.cpu_count()}, {joblib.cpu_count()} of them for this process"
    yield "memory", f"{memory.total / 1e9:.1f} GB, {memory.available / 1e9:.1f} GB free"
    yield "cache", f"{cache}, {'writable' if _is_writable(cache) else 'not writable: set SEGVOTE_CACHE'}"


def _is_writable(folder: Path) -> bool:
    """Whether files can be made in a folder, or the folder itself in the nearest one above it that exists."""
    existing = next(one for one in (folder, *folder.parents) if one.exists())
    return existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)


def _list_packages() -> Iterator[Row]:
    yield from list_versions().items()
    yield "onnxruntime providers", _list_providers()
    for extra, package in EXTRAS.items():
        number = find_version(package)
        missing = f"; pip install 'segvote[{extra}]'" if number == ABSENT else ""
        yield f"{package} [{extra}]", f"{number}{missing}"
    yield "weights", "lite0 (included)"
    yield from ((f"weights {one.name}", one.format()) for one in list_weights())


def _list_providers() -> str:
    try:
        import onnxruntime
    except ImportError as error:  # a broken installation is what the report is for
        return f"not importable ({' '.join(str(error).split())})"
    return ", ".join(onnxruntime.get_available_providers())


def _list_parts() -> Iterator[Row]:
    for part in ("voters", "features", "segmenters", "exports"):
        yield part, ", ".join(getattr(segvote, part.upper()))
