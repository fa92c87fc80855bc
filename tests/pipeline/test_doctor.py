import json
import shutil

import cv2
import numpy as np
import pytest

from segvote import annotate
from segvote.io.images import read_image
from segvote.pipeline.doctor import diagnose_folders, diagnose_run, format_diagnosis, hash_picture
from segvote.pipeline.workers import Resources
from segvote.run.advice import describe_confidence
from segvote.run.run import format_confidence
from segvote.settings import Settings

QUICK = Settings(features="color", n_segments=40, size=160)


def copy_scenes(scenes, folder):
    for bag_label in ("with", "without"):
        shutil.copytree(scenes / bag_label, folder / bag_label)
    return folder / "with", folder / "without"


@pytest.fixture
def folders(scenes, tmp_path):
    return copy_scenes(scenes, tmp_path)


def test_faults_are_named_and_every_image_is_on_the_list_once(folders):
    (folders[0] / "broken.png").write_bytes(b"no picture")
    shutil.copy(folders[0] / "with-000.png", folders[1] / "copy.png")
    image = read_image(folders[0] / "with-001.png")
    cv2.imwrite(str(folders[1] / "small.jpg"), cv2.resize(image, None, fx=0.7, fy=0.7)[..., ::-1])
    diagnosis = diagnose_folders(*folders, QUICK, Resources(1))
    first, *pair = diagnosis.images[:3]
    assert (first.name, first.kind) == ("with/broken.png", "unreadable") and "broken.png" in first.reason
    assert {(one.name, one.other) for one in pair} == {
        ("with/with-000.png", "without/copy.png"),
        ("without/copy.png", "with/with-000.png"),
    }
    assert {one.kind for one in pair} == {"same image in both folders"}
    found = next(one for one in diagnosis.images if one.name == "without/small.jpg")
    assert found.kind == "nearly the same image" and found.other == "with/with-001.png"
    assert found in diagnosis.list_serious()
    names, suspicions = zip(*((one.name, one.suspicion) for one in diagnosis.images), strict=True)
    assert len(names) == len(set(names)) == 15 and list(suspicions) == sorted(suspicions, reverse=True)
    assert json.loads(json.dumps(diagnosis.to_dict()))["n_images"] == 15


def test_light_and_size_hardly_change_the_hash():
    image = np.random.default_rng(0).integers(0, 255, (12, 16, 3), dtype=np.uint8)
    image = cv2.resize(image, (320, 240), interpolation=cv2.INTER_CUBIC)
    brighter = np.clip(image.astype(int) + 8, 0, 255).astype(np.uint8)
    assert (hash_picture(image) != hash_picture(brighter)).sum() <= 5
    assert (hash_picture(image) != hash_picture(cv2.resize(image, (200, 150)))).sum() <= 12
    assert (hash_picture(image) != hash_picture(image[::-1, ::-1].copy())).sum() > 60


def test_a_run_folder_can_be_examined(folders, tmp_path):
    (folders[1] / "bad.jpg").write_bytes(b"")
    run = annotate(*folders, tmp_path / "run", QUICK, n_jobs=1)
    diagnosis = diagnose_run(run)
    assert diagnosis.images[0].name == "without/bad.jpg" and len(diagnosis.images) == 13
    head, *_, last = format_diagnosis(diagnosis).splitlines()
    assert "images should be looked at" in head
    assert last == format_confidence(describe_confidence(diagnosis.confidence)) != ""
