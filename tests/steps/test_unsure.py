"""`annotate --unsure`: clean images in the *with* folder come out without a mask, in files too."""

import json
import shutil

from segvote import annotate
from segvote.datasets import make_scenes, write_scenes
from segvote.run.settings import Settings

QUICK = Settings(n_segments=60, size=160, draw="segments", unsure=True, feature_options={"size": 224})
N_CLEAN = 6


def test_clean_images_have_no_mask_and_most_others_have_one(tmp_path):
    """Twelve scenes with the object and some without in one folder, others without in the second."""
    write_scenes(tmp_path, make_scenes(12, 20 + N_CLEAN, size=(160, 120), object_area=(0.08, 0.16)))
    for path in sorted((tmp_path / "without").iterdir())[:N_CLEAN]:
        shutil.move(path, tmp_path / "with" / f"clean-{path.name}")
    run = annotate(tmp_path / "with", tmp_path / "without", tmp_path / "out", QUICK, n_jobs=1)
    drawn = {bag.name for index, bag in enumerate(run.bags) if run.read_mask(index).any()}
    clean = {name for name in drawn if "clean" in name}
    assert len(clean) <= 1 and len(drawn - clean) >= 10
    assert drawn == {bag.name for bag in run.bags if bag.n_selected} == {bag.name for bag in run.bags if bag.area}
    annotations = json.loads(run.folder.coco_path.read_text())
    names = {image["id"]: image["file_name"] for image in annotations["images"]}
    assert drawn == {names[one["image_id"]] for one in annotations["annotations"]}
