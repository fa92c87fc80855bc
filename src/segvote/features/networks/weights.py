"""Weights of networks that are installed as packages of their own, found by entry points of the group `GROUP`.

Such a package has no code: the name of an entry point is that of the weights, its value the folder that holds them. The
files are compared with the hashes of the installation, so a damaged package is an error and not a bad mask.
"""

from __future__ import annotations

import base64
import csv
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, entry_points
from pathlib import Path

from segvote.errors import DamagedFileError, MissingPartError
from segvote.features.networks.network import hash_files

GROUP = "segvote.weights"
WEIGHTS = (".onnx", ".safetensors")
# Weights to the extra that installs their package.
EXTRAS = {"mobile-sam": "sam", "vgg16": "vgg"}


@dataclass(frozen=True)
class InstalledWeights:
    """Weights of one network.

    Attributes
    ----------
    name : str
        As options name them, such as ``mobile-sam``.
    package, version, licence : str
        Of the package that holds them, by its metadata.
    hashes : dict of Path to str
        Each file and the SHA-256 (hex) that its installer recorded; empty where there is none.
    """

    name: str
    package: str
    version: str
    licence: str
    hashes: dict[Path, str]

    @property
    def n_bytes(self) -> int:
        """Size of the files that are there."""
        return sum(path.stat().st_size for path in self.hashes if path.is_file())

    def format(self) -> str:
        """One line: package, version, size and licence."""
        return f"{self.package} {self.version}, {self.n_bytes / 1e6:.0f} MB, {self.licence}"


def list_weights() -> list[InstalledWeights]:
    """List the packages of weights that are installed, by name.

    Returns
    -------
    list of InstalledWeights
    """
    entries = {one.name: one for one in entry_points(group=GROUP) if one.dist is not None}
    return [_read_package(entries[name], entries[name].dist) for name in sorted(entries)]  # type: ignore[arg-type]


def find_weights(name: str) -> list[Path]:
    """Find the files of some weights, sorted by name, as they were installed.

    Parameters
    ----------
    name : str
        A name of `EXTRAS`.

    Returns
    -------
    list of Path
    """
    packages = [one for one in list_weights() if one.name == name]
    if not packages:
        raise MissingPartError(
            f"{name} needs the package segvote-{name}, which is not installed: pip install 'segvote[{EXTRAS[name]}]', "
            "or make weights in a clone of segvote"
        )
    for path, sha256 in packages[0].hashes.items():
        _check_file(path, sha256, packages[0].package)
    return sorted(packages[0].hashes)


def _read_package(point: EntryPoint, package: Distribution) -> InstalledWeights:
    metadata = package.metadata.json
    # `Distribution.files` leaves lost files out in some versions of Python.
    rows = csv.reader((package.read_text("RECORD") or "").splitlines())
    files = [(Path(row[0]), row[1].removeprefix("sha256=")) for row in rows if len(row) == 3]
    files = [(path, code) for path, code in files if path.parts[0] == point.value and path.suffix in WEIGHTS]
    hashes = {Path(str(package.locate_file(path.as_posix()))): _decode(code) for path, code in files}
    licence = str(metadata.get("license_expression") or metadata.get("license") or "licence not stated")
    return InstalledWeights(point.name, package.name, package.version, licence, hashes)


def _decode(text: str) -> str:
    """Hex digits of a hash as wheels record it: base64 for addresses, without padding."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).hex()


def _check_file(path: Path, sha256: str, package: str) -> None:
    if not path.is_file():
        raise DamagedFileError(f"{package}: expected the file {path}, found none; install the package again")
    if sha256 != hash_files([path]):
        raise DamagedFileError(f"{package}: {path} is not the file that was installed; install the package again")
