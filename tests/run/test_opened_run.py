"""A finished run for supervision and notebooks.

supervision brings another OpenCV: it is tested in an environment of its own, and a stand-in is used elsewhere.
"""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from msgspec.structs import replace

from segvote.errors import DamagedFileError, MissingPartError
from segvote.io.arrays import write_arrays
from segvote.io.images import read_image
from segvote.opened_run import N_PICTURES, OpenedRun
from segvote.run.record import Inputs
from segvote.run.run import Run
from segvote.run.run_folder import RunFolder


class Detections(SimpleNamespace):
    @classmethod
    def empty(cls):
        return cls(xyxy=np.empty((0, 4)), mask=None, confidence=None, class_id=np.empty(0, int))

    def __len__(self):
        return len(self.xyxy)


@pytest.fixture
def stand_in(monkeypatch):
    module = SimpleNamespace(Detections=Detections, DetectionDataset=SimpleNamespace)
    monkeypatch.setitem(sys.modules, "supervision", module)


def check(dataset, run):
    assert dataset.classes == [run.settings.label]
    for index, bag in enumerate(run.bags):
        found = dataset.annotations[str(run.find_source(index))]
        assert len(found) == int(bag.n_selected > 0)
        if len(found):
            np.testing.assert_array_equal(found.mask[0], run.read_mask(index))
            assert (found.class_id[0], found.confidence[0]) == (0, bag.score)


def test_every_image_has_its_mask_box_and_score(finished_run, stand_in):
    dataset = finished_run.to_supervision()
    check(dataset, finished_run)
    assert len(dataset.images) == len(finished_run)
    rows, columns = np.nonzero(finished_run.read_mask(0))
    box = dataset.annotations[str(finished_run.find_source(0))].xyxy[0]
    assert list(box) == [columns.min(), rows.min(), columns.max(), rows.max()]


def test_supervision_measures_the_same_boxes(finished_run):
    supervision = pytest.importorskip("supervision")
    dataset = finished_run.to_supervision()
    check(dataset, finished_run)
    assert len(dataset) == len(finished_run)
    for index, (path, picture, found) in enumerate(dataset):
        assert path == str(finished_run.find_source(index))
        np.testing.assert_array_equal(picture[..., ::-1], read_image(path))  # it reads blue first
        if len(found):
            np.testing.assert_array_equal(found.xyxy, supervision.mask_to_xyxy(found.mask))


def test_the_error_without_supervision_names_the_package(finished_run, monkeypatch):
    monkeypatch.setitem(sys.modules, "supervision", None)
    with pytest.raises(MissingPartError, match="pip install supervision"):
        finished_run.to_supervision()


def test_a_notebook_shows_counts_and_pictures(finished_run):
    page = OpenedRun(finished_run.folder.path)._repr_html_()
    assert "6 with, 6 without, voter ekde" in page
    assert page.count("data:image/jpeg;base64,") == min(N_PICTURES, 6)


def test_missing_pictures_are_left_out_and_names_escaped(run_copy, tmp_path):
    folder = RunFolder(run_copy.rename(tmp_path / "<i>"))
    folder.write_record(replace(folder.read_record(), inputs=Inputs("/gone/with", "/gone/without")))
    page = OpenedRun(folder.path)._repr_html_()
    assert "<img" not in page
    assert "&lt;i&gt;" in page


@pytest.mark.parametrize("name", ["scores", "votes", "weights", "selected", "thresholds"])
def test_votes_that_are_missing_or_short_are_named(run_copy, name):
    run = Run(run_copy)
    arrays = dict(run.votes)
    for spoiled in ({one: arrays[one] for one in arrays if one != name}, {**arrays, name: arrays[name][:-1]}):
        write_arrays(run.folder.votes_path, False, **spoiled)
        with pytest.raises(DamagedFileError, match="does not belong to this run"):
            Run(run_copy).votes  # noqa: B018
