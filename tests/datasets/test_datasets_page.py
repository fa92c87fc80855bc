"""The page on data sets has a section for every loader, as the registry is where names come from."""

from pathlib import Path

import pytest

from segvote.datasets import DATASETS

PAGE = Path(__file__).parents[2] / "docs" / "datasets.md"


@pytest.mark.parametrize("name", DATASETS)
def test_every_data_set_has_a_section(name):
    assert f"\n## {name}\n" in PAGE.read_text()
