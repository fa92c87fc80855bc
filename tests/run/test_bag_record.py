"""What `run.json` says of a bag, under the names of earlier versions too."""

import pytest

from segvote.errors import DamagedFileError
from segvote.run.bag_record import OLD_NAMES, read_bag
from segvote.run.inputs import Addition, Inputs


def test_a_bag_of_an_earlier_version_is_read(finished_run):
    new_to_old = {new: old for old, new in OLD_NAMES.items()}
    for entry, bag in zip(finished_run.record["bags"], finished_run.bags, strict=True):
        old = {new_to_old.get(name, name): value for name, value in entry.items()}
        assert {"tag", "doubt", "muted"} <= set(old)
        assert read_bag(old, finished_run.folder) == bag


def test_a_folder_that_an_earlier_version_added_is_known():
    record = {"with": "a", "without": "b", "added": [{"tag": "with", "folder": "c", "prefix": ""}]}
    assert Inputs.from_record(record).added == (Addition("with", "c", ""),)


NO_NAMES = ["x" * 256, "a/" * 3000 + "b", "half \ud800", "\0"]


@pytest.mark.parametrize("name", NO_NAMES)
@pytest.mark.parametrize("field", ["name", "stem"])
def test_a_name_that_no_file_can_have_is_refused(finished_run, field, name):
    entry = {**finished_run.record["bags"][0], field: f"with/{name}"}
    with pytest.raises(DamagedFileError, match="damaged"):
        read_bag(entry, finished_run.folder)


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_folder_that_no_disk_can_hold_is_refused(name):
    for record in (
        {"with": name, "without": "b"},
        {"with": "a", "without": "b", "added": [vars(Addition("with", name))]},
    ):
        with pytest.raises(DamagedFileError, match="no folder can have"):
            Inputs.from_record(record)
