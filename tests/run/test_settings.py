"""Settings: what runs of earlier versions called them is still read."""

import pytest

from segvote.errors import DamagedFileError
from segvote.run.run import Run
from segvote.run.settings import OLD_NAMES, Settings, read_settings


def give_old_names(data):
    new_to_old = {new: old for old, new in OLD_NAMES.items()}
    return {new_to_old.get(name, name): value for name, value in data.items()}


def test_settings_of_an_earlier_version_are_read():
    settings = Settings(border_prior=0.5, motion_prior=0.25, exclude_mislabelled=False, smoothing=0.1)
    old = give_old_names(settings.to_dict())
    assert set(old) >= {"border_survival", "motion_survival", "mute_suspects", "second_vote"}
    old |= {"elect": True, "n_pieces": 7, "decision": "outlines"}  # given up since
    assert read_settings(old, "run.json") == settings


def test_a_run_of_an_earlier_version_is_opened(run_copy):
    now = Run(run_copy)
    record = now.folder.read_record()
    now.folder.write_record({**record, "settings": give_old_names(record["settings"])})
    assert Run(run_copy).settings == now.settings


def test_an_unknown_setting_is_named():
    with pytest.raises(DamagedFileError, match="shape"):
        read_settings({"shape": 3}, "run.json")
