"""Inputs at the edge of what can be computed: numbers or a clear error, and never NaN in a file."""

import math

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file

from segvote import annotate, predict
from segvote.errors import SegvoteError
from segvote.io.arrays import read_arrays
from segvote.io.tables import read_json
from segvote.settings import Settings
from segvote.voters import VOTERS


def make_noise(n_images, seed, side=16):
    return np.random.default_rng(seed).integers(0, 256, (n_images, side, side, 3), dtype=np.uint8)


def make_flat(*colours):
    return [np.full((16, 16, 3), colour, np.uint8) for colour in colours]


CASES = {
    "constant images": (make_flat(10, 200, 90), make_flat(0, 255, 91)),
    "one and one": (make_noise(1, 0), make_noise(1, 1)),
    "one and many": (make_noise(1, 0), make_noise(8, 1)),
    "one pixel": (make_noise(2, 0, side=1), make_noise(2, 1, side=1)),
}


def check_finite(path):
    """Refuse a file of a run with NaN or infinity in it."""
    if path.suffix in (".npz", ".safetensors"):
        arrays = read_arrays(path) if path.suffix == ".npz" else load_file(path)
        assert all(np.isfinite(one).all() for one in arrays.values() if one.dtype.kind == "f"), path
    elif path.suffix == ".json":
        read_json(path)  # refuses NaN and infinity
    elif path.suffix in (".csv", ".html"):
        text = path.read_text().lower()
        assert not any(f"{start}nan{end}" in text for start in " ,>" for end in ",<\n "), path


@pytest.mark.parametrize("n_segments", [1, 6])
@pytest.mark.parametrize("case", CASES)
def test_odd_images_give_finite_numbers(tmp_path, case, n_segments):
    for name, images in zip(("with", "without"), CASES[case], strict=True):
        (tmp_path / name).mkdir()
        for number, image in enumerate(images):
            Image.fromarray(image).save(tmp_path / name / f"{number}.png")
    settings = Settings(features="color", n_segments=n_segments, size=32)
    run = annotate(tmp_path / "with", tmp_path / "without", tmp_path / "out", settings, n_jobs=1)
    predict(run.folder.path, tmp_path / "with", tmp_path / "new", n_jobs=1)
    assert all(math.isfinite(bag.score) and 0 <= bag.area <= 1 for bag in run.bags)
    for path in tmp_path.rglob("*"):
        check_finite(path)


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
@pytest.mark.filterwarnings("ignore")  # a solver that does not converge
def test_odd_segments_give_finite_scores_or_an_error(voter, kind):
    bags = np.repeat(np.arange(8), 5)
    X = np.random.default_rng(0).normal(size=(40, 6)).astype(np.float32)
    X, y, bags = KINDS[kind](X, bags < 4, bags)
    try:
        scores = VOTERS[voter]().fit(X, y, bags=bags).scores_
    except SegvoteError:
        return
    assert np.isfinite(scores).all() and scores.shape == (len(X),)
