"""`annotate --unsure`: clean images in the *with* folder come out without a mask, in files too."""

import json
import shutil
from dataclasses import replace

import pytest

from segvote import annotate
from segvote.datasets import write_scenes
from segvote.errors import BadInputError
from segvote.run.settings import Settings

QUICK = Settings(n_segments=60, size=160, draw="segments", unsure=True, feature_options={"size": 224})
N_CLEAN = 6


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Twelve scenes with the object and some without in one folder, others without in the second."""
    folder = tmp_path_factory.mktemp("mixed")
    write_scenes(folder, 12, 20 + N_CLEAN, size=(160, 120), object_area=(0.08, 0.16))
    for path in sorted((folder / "without").iterdir())[:N_CLEAN]:
        shutil.move(path, folder / "with" / f"clean-{path.name}")
    return folder


@pytest.fixture(scope="module")
def run(mixed, tmp_path_factory):
    return annotate(mixed / "with", mixed / "without", tmp_path_factory.mktemp("unsure") / "out", QUICK, n_jobs=1)


def test_clean_images_have_no_mask_and_most_others_have_one(run):
    clean = [index for index, bag in enumerate(run.bags) if "clean" in bag.name]
    others = [index for index, bag in enumerate(run.bags) if bag.bag_label == "with" and index not in clean]
    assert sum(run.read_mask(index).any() for index in clean) <= 1
    assert sum(run.read_mask(index).any() for index in others) >= 10


def test_files_agree_with_the_masks(run):
    annotations = json.loads(run.folder.coco_path.read_text())
    names = {image["id"]: image["file_name"] for image in annotations["images"]}
    drawn = {names[one["image_id"]] for one in annotations["annotations"]}
    assert len(drawn) == sum(run.read_mask(index).any() for index in range(len(run.bags)))
    for bag in run.bags:
        assert (bag.n_selected > 0) == (bag.area > 0)


def test_another_voter_is_refused_before_any_work(mixed, tmp_path):
    with pytest.raises(BadInputError, match="crane"):
        annotate(mixed / "with", mixed / "without", tmp_path / "out", replace(QUICK, voter="crane"))
    assert not (tmp_path / "out").exists()
