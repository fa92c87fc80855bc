"""What PyPI shows: the README, with no link that leads nowhere there."""

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("hatchling")
ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
ANY_LINK = re.compile(r"\[[^\[\]]*\]\(([^()\s]+)\)")


@pytest.fixture(scope="module")
def build():
    """The hook of the build, which is no part of the package."""
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def list_relative(text):
    return [target for target in ANY_LINK.findall(text) if not re.match(r"https?://", target)]


def test_the_description_has_no_relative_link(build):
    assert list_relative(build.format_description(README)) == []


def test_without_an_address_links_become_text(build):
    text = "# a\n\n![drawn](docs/b.png)\n\nsee [`why`](docs/why.md#so) and [x](https://x.org/)\n"
    assert build.format_description(text).startswith("# a\n\nsee `why` and [x](https://x.org/)\n")


def test_with_an_address_links_and_pictures_lie_below_it(build):
    text = "![drawn](docs/b.png) [why](docs/why.md#so) [x](https://x.org/)"
    expected = "![drawn](https://h/raw/docs/b.png) [why](https://h/raw/docs/why.md#so) [x](https://x.org/)"
    assert build.format_description(text, "https://h/raw/") == expected
