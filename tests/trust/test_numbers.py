"""Inputs at the edge of what can be computed: a sensible answer or a clear refusal, and never NaN in a file."""

import math

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file

from segvote import annotate
from segvote.errors import SegvoteError
from segvote.io.arrays import read_arrays
from segvote.io.tables import read_json
from segvote.run.settings import Settings
from segvote.steps.predict import predict
from segvote.voters import VOTERS

TINY = Settings(features="color", n_segments=6, size=32)


def write_images(folder, images):
    folder.mkdir(parents=True)
    for number, image in enumerate(images):
        Image.fromarray(image).save(folder / f"{number:05d}.png")


def make_noise(n_images, seed, side=16):
    return np.random.default_rng(seed).integers(0, 256, (n_images, side, side, 3), dtype=np.uint8)


def make_flat(colours, side=16):
    return [np.full((side, side, 3), colour, np.uint8) for colour in colours]


CASES = {
    "constant images": (make_flat([10, 200, 90]), make_flat([0, 255, 91])),
    "black and white": (make_flat([0]), make_flat([255])),
    "one and one": (make_noise(1, 0), make_noise(1, 1)),
    "one and many": (make_noise(1, 0), make_noise(8, 1)),
    "one pixel": (make_noise(2, 0, side=1), make_noise(2, 1, side=1)),
}


def count_faulty_files(folder):
    """Files of a run with a number in them that is none."""
    faulty = 0
    for path in folder.rglob("*"):
        if path.suffix == ".npz":
            arrays = read_arrays(path)
        elif path.suffix == ".safetensors":
            arrays = load_file(path)
        elif path.suffix in (".json", ".csv", ".html"):
            arrays = {}
            text = path.read_text().lower()
            faulty += any(f"{start}nan{end}" in text for start in (" ", ",", ">") for end in (",", "<", "\n", " "))
            if path.suffix == ".json":
                read_json(path)  # refuses NaN and infinity
        else:
            continue
        faulty += not all(np.isfinite(one).all() for one in arrays.values() if one.dtype.kind == "f")
    return faulty


@pytest.mark.parametrize("case", CASES)
def test_odd_images_give_numbers_or_a_refusal(tmp_path, ledger, case):
    for name, images in zip(("with", "without"), CASES[case], strict=True):
        write_images(tmp_path / name, images)
    for settings in (TINY, Settings(features="color", n_segments=1, size=32)):
        out = tmp_path / f"out{settings.n_segments}"
        run = annotate(tmp_path / "with", tmp_path / "without", out, settings, n_jobs=1)
        predict(run.folder.path, tmp_path / "with", tmp_path / f"new{settings.n_segments}", n_jobs=1)
        assert all(math.isfinite(bag.score) and 0 <= bag.area <= 1 for bag in run.bags)
    ledger(
        "images at the edge (constant, equal, one pixel, one segment, 1 + 1), no NaN", 2, count_faulty_files(tmp_path)
    )


def make_segments(change):
    """X, y, bags of eight bags with five segments each, changed."""
    bags = np.repeat(np.arange(8), 5)
    X = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    return change(X, bags < 4, bags)


KINDS = {
    "all zero": lambda X, y, bags: (0 * X, y, bags),
    "all the same": lambda X, y, bags: (X[:1].repeat(40, axis=0), y, bags),
    "one apart": lambda X, y, bags: (X[[0] + [1] * 39], y, bags),
    "huge": lambda X, y, bags: (X * np.float32(1e18), y, bags),
    "tiny": lambda X, y, bags: (X * np.float32(1e-30), y, bags),
    "one segment per bag": lambda X, y, bags: (X[::5], y[::5], bags[::5]),
    "one and one": lambda X, y, bags: (X[[0, 39]], y[[0, 39]], np.array([0, 1])),
    "thirty-nine and one": lambda X, y, bags: (X, np.arange(40) > 0, np.arange(40)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("voter", sorted(VOTERS))
@pytest.mark.filterwarnings("ignore")  # a solver that does not converge says so
def test_odd_segments_give_numbers_or_a_refusal(ledger, voter, kind):
    X, y, bags = make_segments(KINDS[kind])
    lost = 0
    try:
        scores = VOTERS[voter]().fit(X, y, bags=bags).scores_
        lost = int(not (np.isfinite(scores).all() and scores.shape == (len(X),)))
    except SegvoteError as error:
        assert str(error)
    ledger("odd segments (zero, equal, huge, tiny, alone) for every voter", 1, lost)
