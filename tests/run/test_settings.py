"""Settings as a record keeps them."""

import pytest

from segvote.errors import DamagedFileError
from segvote.run.settings import read_settings


def test_an_unknown_setting_is_named():
    with pytest.raises(DamagedFileError, match="shape"):
        read_settings({"shape": 3}, "run.json")
