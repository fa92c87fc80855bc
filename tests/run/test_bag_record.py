"""What `run.json` says of a bag, under the names of earlier versions too."""

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
