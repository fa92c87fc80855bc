"""Prints the lowest version of every package that pyproject.toml allows, for `make test-oldest`."""

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
EXTRAS = ("video", "web", "dask", "stores", "notebook")
# What the tests themselves need, in any version: tools of developers are not part of the promise.
TEST_TOOLS = ("httpx", "hypothesis", "pytest", "pytest-timeout", "PyYAML")


def list_oldest(project):
    """``name==version`` of all dependencies and of the extras that users install."""
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(one for name in EXTRAS for one in extras[name])]
    return [one.replace(">=", "==") for one in wanted]


if __name__ == "__main__":
    wanted = [*list_oldest(tomllib.loads(PROJECT.read_text())["project"]), *TEST_TOOLS]
    sys.stdout.write("\n".join(wanted) + "\n")
