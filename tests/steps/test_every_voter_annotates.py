"""``segvote annotate --voter NAME`` works for every name there is."""

import warnings

import numpy as np
import pytest

from segvote import annotate
from segvote.run.settings import Settings
from segvote.voters import SYSTEMS


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """One run folder for all: segments and features are made once."""
    return tmp_path_factory.mktemp("voters") / "run"


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_voter_leaves_a_mask_in_every_with_image(name, scenes, out):
    settings = Settings(features="color", n_segments=30, size=120, voter=name)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the printed iteration selected")
        run = annotate(scenes / "with", scenes / "without", out, settings, n_jobs=1)
    assert run.settings.voter == name
    assert np.isfinite(run.votes["scores"]).all()
    for index, bag in enumerate(run.bags):
        assert run.read_mask(index).any() == (bag.bag_label == "with")
