"""The description on PyPI is the README without relative links."""

import importlib.util
import re
from pathlib import Path

import pytest

pytest.importorskip("hatchling")
ROOT = Path(__file__).parents[2]


def test_the_description_has_no_relative_link():
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    links = re.findall(r"\[[^\[\]]*\]\(([^()\s]+)\)", build.format_description((ROOT / "README.md").read_text()))
    assert [link for link in links if not re.match(r"https?://", link)] == []
    text = "![drawn](docs/b.png) see [`why`](docs/why.md#so), [x](https://x.org/)"
    expected = "![drawn](https://h/raw/docs/b.png) see [`why`](https://h/raw/docs/why.md#so), [x](https://x.org/)"
    assert build.format_description(text, "https://h/raw/") == expected
