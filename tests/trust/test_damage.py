"""A bit flipped in a file of a run is noticed or changes nothing; damaged caches are recomputed."""

import shutil
from contextlib import closing

import numpy as np
import pytest
from commands import read_outputs

from segvote.errors import DamagedFileError, SegvoteError
from segvote.io.arrays import read_arrays
from segvote.pipeline.model import read_model
from segvote.run.correction_log import Action, CorrectionLog, read_actions


def freeze(arrays):
    return {name: (array.shape, array.dtype.str, array.tobytes()) for name, array in arrays.items()}


def write_log(run):
    with closing(CorrectionLog(run / "review.sqlite")) as log:
        for number in range(40):
            log.append(Action("set", "ab" * 32, "with/a.png", number % 2, 40, 60, f"0{number}l1"))
    return run / "review.sqlite"


def check_whole(path, actions):
    """The actions, if none was damaged; those that were are named, and the others are as they were written."""
    lost = [action.number for action in actions if action.kind == "lost"]
    for action in actions:
        assert action.number in lost or action.counts == f"0{action.number - 1}l1"
    if lost:
        raise DamagedFileError(f"{path}: actions {lost} are damaged")
    return actions


# Kind of file to its path in a run folder, and its reader.
FILES = {
    "features": (lambda run: min(run.glob("features/*.npz")), lambda run, path: freeze(read_arrays(path))),
    "votes": (lambda run: run / "votes/votes.npz", lambda run, path: freeze(read_arrays(path))),
    "model": (lambda run: run / "model/model.safetensors", lambda run, path: freeze(read_model(run).arrays)),
    "review.sqlite": (write_log, lambda run, path: check_whole(path, read_actions(path))),
}


@pytest.mark.parametrize("n_flips", [60, pytest.param(600, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", FILES)
def test_a_flipped_bit_is_noticed(own_run, kind, n_flips):
    path, read = FILES[kind][0](own_run), FILES[kind][1]
    whole, wanted, rng = path.read_bytes(), repr(read(own_run, path)), np.random.default_rng(n_flips)
    for _ in range(n_flips):
        data = bytearray(whole)
        data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        try:
            assert repr(read(own_run, path)) == wanted
        except SegvoteError as error:
            assert path.name in str(error)


def test_a_damaged_cache_is_made_again(stage, world):
    rng = np.random.default_rng(0)
    assert stage.run(*world.type("annotate"))["code"] == 0
    wanted = read_outputs(world)
    for folder in ("features", "segments", "votes"):
        for path in (world.out / folder).glob("*.npz"):
            data = path.read_bytes()
            path.write_bytes(data[: int(rng.integers(len(data)))])
    shutil.rmtree(world.out / "masks")
    done = stage.run(*world.type("annotate"))
    assert done["code"] == 0, done["errors"]
    assert read_outputs(world) == wanted
