import json

import numpy as np
import pytest
from PIL import Image

from segvote import export
from segvote.errors import BadInputError, UnknownNameError
from segvote.io import EXPORTS
from segvote.io.encodings.rle import encode_rle
from segvote.io.exports.base import ExportOptions
from segvote.io.imports import read_any
from segvote.io.masks import read_mask
from segvote.pipeline.video.write import add_frame_pictures
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.run import Run
from segvote.types import Annotation


@pytest.mark.parametrize("format_", EXPORTS)
def test_every_format_can_be_exported_from_a_run(finished_run, tmp_path, format_):
    assert export(finished_run, format_, tmp_path / "out").exists()


@pytest.mark.parametrize("format_", ["coco", "cvat", "labelme"])
def test_what_was_exported_reads_back_as_the_masks_of_the_run(finished_run, tmp_path, format_):
    back = {one.name: one for one in read_any(export(finished_run, format_, tmp_path / "out", label="blob"))}
    for index, bag in enumerate(finished_run.bags):
        mask = finished_run.read_mask(index)
        if not mask.any():
            continue
        (part,) = next(one for name, one in back.items() if name.endswith(bag.name.rsplit("/", 1)[-1])).parts
        assert part.label == "blob"
        np.testing.assert_array_equal(part.mask, mask)


def test_the_results_file_holds_the_scores_of_the_run(finished_run, tmp_path):
    export(finished_run, "coco", tmp_path, val_share=0, instances=False)
    scores = [record["score"] for record in json.loads((tmp_path / "results_default.json").read_text())]
    assert scores == [bag.score for bag in finished_run.bags if bag.n_selected]


def test_unsure_pixels_are_segments_close_to_the_threshold(finished_run, tmp_path):
    export(finished_run, "png", tmp_path, unsure=0.2)
    index, bag = next((i, bag) for i, bag in enumerate(finished_run.bags) if bag.bag_label == "with")
    labels = finished_run.read_segments(index)["labels"]
    scores = finished_run.votes["scores"][finished_run.get_slice(index)]
    wanted = (np.abs(scores - bag.threshold) <= 0.2 * np.ptp(scores))[labels]
    assert wanted.any()
    np.testing.assert_array_equal(read_mask(tmp_path / f"{bag.stem}.png") == 128, wanted)


def test_a_user_label_is_sure(run_copy, tmp_path):
    run = Run(run_copy)
    bag = run.bags[0]
    everything = str(encode_rle(np.ones((bag.height, bag.width), bool))["counts"])
    CorrectionLog(run.folder.corrections_path).append(
        Action("set", bag.digest, bag.name, 1, bag.height, bag.width, everything)
    )
    export(run, "png", tmp_path / "out", unsure=1.0)
    assert not (read_mask(tmp_path / "out" / f"{bag.stem}.png") == 128).any()
    assert (read_mask(tmp_path / "out" / f"{run.bags[1].stem}.png") == 128).all()


def test_the_folder_is_below_the_run_unless_named(run_copy):
    assert export(run_copy, "yolo").is_relative_to(run_copy / "exports" / "yolo")


def test_a_folder_that_holds_something_is_left_alone(finished_run, tmp_path):
    (tmp_path / "photo.json").write_text("{}")
    with pytest.raises(BadInputError, match="not empty"):
        export(finished_run, "labelme", tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    export(finished_run, "labelme", tmp_path, overwrite=True)


def test_wrong_names_and_bands_fail_before_anything_is_written(finished_run, tmp_path):
    with pytest.raises(UnknownNameError, match="coco"):
        export(finished_run, "cocoa", tmp_path / "out")
    with pytest.raises(BadInputError, match="0 to 1"):
        export(finished_run, "voc", tmp_path / "out", unsure=2)
    assert not (tmp_path / "out").exists()


def test_frames_of_a_film_are_exported_as_pictures(tmp_path):
    (tmp_path / "film").mkdir()
    for number in range(6):
        Image.new("RGB", (12, 10), (40 * number, 0, 0)).save(tmp_path / f"film/{number:02d}.png")
    frames = [
        Annotation(f"film/{n:05d}.png", 10, 12, properties={"video": "film", "frame": n, "source": tmp_path / "film"})
        for n in (1, 3, 4)
    ]
    EXPORTS["yolo"](add_frame_pictures(frames), tmp_path / "out", ExportOptions(("object",)))
    pictures = sorted((tmp_path / "out/images/train").iterdir())
    assert [path.name for path in pictures] == ["00001.png", "00003.png", "00004.png"]
    assert [np.array(Image.open(path))[0, 0, 0] for path in pictures] == [40, 120, 160]
