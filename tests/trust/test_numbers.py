"""Inputs at the edge of what can be computed: a sensible answer or a clear refusal, and never NaN in a file."""

import math
import os
import subprocess
import sys

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
    "the same image many times": (make_flat([10, 10, 10]), make_flat([20, 20, 20])),
    "black and white": (make_flat([0]), make_flat([255])),
    "one and one": (make_noise(1, 0), make_noise(1, 1)),
    "one and many": (make_noise(1, 0), make_noise(8, 1)),
    "many and one": (make_noise(8, 0), make_noise(1, 1)),
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


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("counts", [(5000, 1), (1, 5000)])
def test_five_thousand_and_one(tmp_path, ledger, counts):
    for name, n_images in zip(("with", "without"), counts, strict=True):
        write_images(tmp_path / name, make_noise(n_images, n_images, side=8))
    settings = Settings(features="color", n_segments=2, size=16, draw="segments")
    run = annotate(tmp_path / "with", tmp_path / "without", tmp_path / "out", settings, n_jobs=2)
    assert len(run) == 5001
    ledger("5,000 + 1 images, no NaN", 1, count_faulty_files(tmp_path / "out"))


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


@pytest.mark.slow
def test_threads_of_the_libraries_change_nothing(world, ledger):
    votes = []
    for n_threads in ("1", "2"):
        place = world.make_another(n_threads)
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, n_threads)}
        command = [sys.executable, "-m", "segvote", *place.type("annotate")]
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        votes.append(read_arrays(place.out / "votes" / "votes.npz"))
    worst = max(float(np.abs(votes[0][name].astype(float) - votes[1][name]).max()) for name in votes[0])
    ledger("scores with 1 and 2 threads of BLAS and OpenMP, equal to 1e-5", 1, int(worst > 1e-5))
