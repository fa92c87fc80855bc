"""A finished run made by hand: a few small pictures, no network, no voting."""

import numpy as np
from msgspec import to_builtins
from PIL import Image

from segvote.io.arrays import write_arrays
from segvote.io.masks import write_mask
from segvote.io.overlays import blend_heat, write_jpeg
from segvote.io.tables import convert_record
from segvote.masks import Drawing
from segvote.run.record import RunRecord
from segvote.run.run_folder import RunFolder, write_drawing
from segvote.settings import Settings

HEIGHT, WIDTH, N_SEGMENTS = 60, 80, 10


def make_bag(name, bag_label, uncertainty=0.0, score=0.5, excluded=False):
    is_with = bag_label == "with"
    return {
        "name": f"{bag_label}/{name}",
        "bag_label": bag_label,
        "stem": f"{bag_label}/{name.rsplit('.', 1)[0]}",
        "digest": "0" * 64,
        "segments": "5" * 32,
        "features": "f" * 32,
        "height": HEIGHT,
        "width": WIDTH,
        "n_segments": N_SEGMENTS,
        "n_selected": 3 if is_with else 0,
        "area": 0.25 if is_with else 0.0,
        "score": score,
        "threshold": 0.1 if is_with else 0.0,
        "uncertainty": uncertainty,
        "excluded": excluded,
    }


DEFAULT_BAGS = (
    make_bag("clear.png", "with", 0.02, 0.9),
    make_bag("torn.png", "with", 0.61, 0.2),
    make_bag("fair.png", "with", 0.14, 0.4),
    make_bag("quiet.png", "without", score=-0.5),
    make_bag("loud.png", "without", score=0.3),
)


def write_run(folder, bags=DEFAULT_BAGS, problems=(), inputs=None, confidence=None):
    """Write a run folder whose pictures are noise; returns the folder."""
    rng = np.random.default_rng(0)
    inputs = inputs or {bag_label: folder.parent / f"{folder.name}-{bag_label}" for bag_label in ("with", "without")}
    run = RunFolder(folder)
    for bag in bags:
        image = rng.integers(0, 256, (bag["height"], bag["width"], 3), dtype=np.uint8)
        path = inputs[bag["bag_label"]] / bag["name"].split("/", 1)[1]
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(path)
        mask = np.zeros(image.shape[:2], bool)
        mask[10:40, 20:60] = bag["bag_label"] == "with"
        write_mask(run.mask_path(bag["stem"]), mask)
        write_jpeg(run.heatmap_path(bag["stem"]), blend_heat(image, rng.random(image.shape[:2])))
    n_segments = sum(bag["n_segments"] for bag in bags)
    is_with = np.repeat([bag["bag_label"] == "with" for bag in bags], [bag["n_segments"] for bag in bags])
    scores = rng.normal(size=n_segments)
    write_arrays(
        run.votes_path,
        scores=scores,
        votes=scores,
        weights=rng.random(n_segments) * is_with,
        selected=is_with & (scores > 0),
        thresholds=np.zeros(len(bags)),
    )
    write_drawing(run, "k", Drawing("regions"))
    record = {
        "segvote": "0.1.0",
        "versions": {"python": "3.11.7", "numpy": "2.0.0"},
        "inputs": {bag_label: str(path) for bag_label, path in inputs.items()},
        "settings": Settings().to_dict(),
        "key": "k",
        "complete": True,
        "bags": list(bags),
        "problems": list(problems),
        "confidence": confidence or {},
    }
    run.write_record(convert_record(to_builtins(record), RunRecord, run.record_path))
    return folder
