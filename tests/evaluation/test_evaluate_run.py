"""A run measured against truth of every kind, and the command that prints it."""

import csv
import json
from contextlib import closing

import numpy as np
import pytest
from sklearn.metrics import average_precision_score
from typer.testing import CliRunner

from segvote import evaluate, export
from segvote.cli.app import load_commands
from segvote.errors import BadInputError
from segvote.evaluation.evaluate import rank_segments
from segvote.evaluation.segments import MaskedSegments
from segvote.io.encodings.rle import encode_rle
from segvote.io.masks import read_mask
from segvote.metrics import find_box, match_instances, measure_boundary_f, measure_iou
from segvote.run.correction_log import Action, CorrectionLog
from segvote.run.run import Run


@pytest.fixture(scope="module")
def evaluation(finished_run, scenes):
    return evaluate(finished_run, scenes / "masks")


def test_figures_per_image_are_those_of_the_masks_on_disk(finished_run, scenes, evaluation):
    for image in evaluation.images:
        index = finished_run.find(image.name)
        mask, truth = finished_run.read_mask(index), read_mask(scenes / "masks" / f"{image.name[5:-4]}.png")
        assert image.iou == pytest.approx(measure_iou(mask, truth))
        assert image.boundary_f == pytest.approx(measure_boundary_f(mask, truth))
        assert image.instances == match_instances(mask, truth)
        assert image.limit >= 0.5


def test_instances_cut_by_the_user_are_those_of_the_export(run_copy, scenes, tmp_path):
    run = Run(run_copy)
    mask = run.read_mask(0)
    line = np.zeros_like(mask)
    line[:, int(np.median(np.nonzero(mask)[1]))] = True
    counts = [count_marked(run, scenes)]
    for kind, pixels in (("cut", line), ("join", mask)):
        with closing(CorrectionLog(run.folder.corrections_path)) as log:
            log.append(
                Action(kind, run.bags[0].digest, run.bags[0].name, 0, *mask.shape, str(encode_rle(pixels)["counts"]))
            )
        counts.append(count_marked(run, scenes))
        exported = json.loads(export(run, "coco", tmp_path / kind, instances=True, val_share=0).read_text())
        number = next(image["id"] for image in exported["images"] if image["file_name"] == run.bags[0].name)
        assert counts[-1] == sum(one["image_id"] == number for one in exported["annotations"])
    assert counts[1] > counts[0] >= counts[2] == 1


def count_marked(run, scenes):
    """Marked instances of the first image."""
    images = {one.name: one for one in evaluate(run, scenes / "masks").images}
    return images[run.bags[0].name].instances.n_marked


def test_the_criterion_is_strictly_above_its_threshold(finished_run, scenes, evaluation):
    highest = float(evaluation.ious.max())
    assert evaluate(finished_run, scenes / "masks", threshold=highest).to_dict()["corloc"] == 0
    assert evaluate(finished_run, scenes / "masks", threshold=0).to_dict()["corloc"] > 0


def test_pixel_and_segment_ap_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    counted = [MaskedSegments(rng.random(30), rng.integers(1, 50, 30)) for _ in range(3)]
    scores = [rng.integers(0, 9, 30).astype(float) for _ in range(3)]
    ranking = rank_segments(scores, counted)
    score, fraction, area = (
        np.concatenate(parts) for parts in (scores, [one.fractions for one in counted], [one.areas for one in counted])
    )
    assert ranking.segment_ap == pytest.approx(average_precision_score(fraction > 0.5, score, sample_weight=area))
    pixels = average_precision_score(
        np.repeat([1, 0], 90), np.tile(score, 2), sample_weight=np.concatenate([area * fraction, area * (1 - fraction)])
    )
    assert ranking.pixel_ap == pytest.approx(pixels)
    assert ranking.recall == sorted(ranking.recall)


def write_boxes(path, boxes):
    """A COCO file of boxes x0, y0, x1, y1 by the name of the image."""
    coco = {"images": [], "annotations": [], "categories": [{"id": 1, "name": "object"}]}
    for number, (name, (x0, y0, x1, y1)) in enumerate(boxes.items(), 1):
        coco["images"].append({"id": number, "file_name": name, "height": 99, "width": 99})
        box = [int(value) for value in (x0, y0, x1 - x0, y1 - y0)]
        coco["annotations"].append({"id": number, "image_id": number, "category_id": 1, "bbox": box})
    path.write_text(json.dumps(coco))
    return path


def test_boxes_around_the_truth_give_the_box_criterion(finished_run, scenes, tmp_path):
    boxes = {path.name: find_box(read_mask(path) == 255) for path in (scenes / "masks").iterdir()}
    evaluation = evaluate(finished_run, write_boxes(tmp_path / "boxes.json", boxes))
    assert evaluation.criterion == "box"
    assert evaluation.to_dict()["boundary_f"] is None
    assert evaluation.instances is None
    assert "instance_recall" not in evaluation.to_dict()
    assert evaluation.limits.mean() > 0.5


def test_truth_of_other_images_is_refused(finished_run, tmp_path):
    with pytest.raises(BadInputError, match="stranger"):
        evaluate(finished_run, write_boxes(tmp_path / "boxes.json", {"stranger.jpg": (1, 2, 3, 4)}))


def test_the_command_prints_json_and_writes_a_table_and_a_page(finished_run, scenes, tmp_path):
    files = ["--csv", str(tmp_path / "images.csv"), "--html", str(tmp_path / "page.html")]
    arguments = ["evaluate", str(finished_run.folder.path), "--truth", str(scenes / "masks")]
    printed = CliRunner().invoke(load_commands(), [*arguments, "--json", *files])
    assert printed.exit_code == 0, printed.output
    assert json.loads(printed.stdout)["n_images"] == 6
    rows = list(csv.DictReader((tmp_path / "images.csv").read_text().splitlines()))
    assert len(rows) == 6
    assert all(int(row["n_matched"]) <= int(row["n_true"]) for row in rows)
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 1
    table = CliRunner().invoke(load_commands(), arguments).stdout
    assert all(
        word in one for one in (page, table) for word in ("boundary F", "marked instances", "limit of the segments")
    )
