"""Prints the lowest version of every package that pyproject.toml allows, for `make test-oldest`."""

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
# What the tests themselves need; tools of developers are not part of the promise.
TEST_TOOLS = ("httpx", "hypothesis", "pytest", "pytest-timeout", "PyYAML")


def list_oldest(project):
    """``name==version`` of all dependencies, of the extras that users install, and of what runs the tests."""
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["video"], *extras["web"], *extras["dask"]]
    wanted += [one for one in extras["dev"] if re.split(r"[\[>=<]", one)[0] in TEST_TOOLS]
    return [one.replace(">=", "==") for one in wanted]


if __name__ == "__main__":
    sys.stdout.write("\n".join(list_oldest(tomllib.loads(PROJECT.read_text())["project"])) + "\n")
