"""Settings: written to a record and read back."""

import pytest

from segvote.errors import DamagedFileError
from segvote.run.settings import Settings, read_settings


def test_settings_come_back_from_a_record():
    settings = Settings(border_prior=0.5, exclude_mislabelled=False, smoothing=0.1, extent=3)
    assert read_settings(settings.to_dict(), "run.json") == settings


def test_an_unknown_setting_is_named():
    with pytest.raises(DamagedFileError, match="shape"):
        read_settings({"shape": 3}, "run.json")
