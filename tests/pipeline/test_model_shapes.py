"""A model with arrays of another shape is refused in one line, whichever array it is."""

import hashlib
import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save

import segvote
from segvote.errors import SegvoteError

CHANGES = {
    "shorter": lambda array: np.ascontiguousarray(array[:-1]) if array.ndim else array[None],
    "flat": lambda array: np.concatenate([array.ravel(), array.ravel()]),
    "deeper": lambda array: array[..., None],
    "empty": lambda array: array.ravel()[:0],
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_model_with_other_shapes_is_refused_or_predicts(finished_run, scenes, tmp_path, change):
    model = finished_run.folder.path / "model"
    arrays = load_file(model / "model.safetensors")
    for name in arrays:
        own = tmp_path / name.replace("/", "-") / "model"
        shutil.copytree(model, own)
        data = save({**arrays, name: CHANGES[change](arrays[name])})
        (own / "model.safetensors").write_bytes(data)
        record = {**json.loads((own / "model.json").read_text()), "sha256": hashlib.sha256(data).hexdigest()}
        (own / "model.json").write_text(json.dumps(record))
        try:
            segvote.predict(own, scenes / "with", tmp_path / "new", n_jobs=1)
        except SegvoteError as error:
            assert "\n" not in str(error)
