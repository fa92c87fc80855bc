"""One image in memory is judged as a folder of them is."""

import numpy as np
import pytest

from segvote.errors import BadInputError
from segvote.io.images import read_image
from segvote.steps.prediction.model import read_model
from segvote.steps.prediction.predict import predict
from segvote.steps.prediction.predictor import Predictor


def test_an_image_in_memory_is_judged_like_one_on_disk(finished_run, scenes, tmp_path):
    """The images of the run itself: among their own copies they are found, and that is enough here."""
    found = predict(finished_run.folder.path, scenes, tmp_path / "new", false_positive_rate=0.3, n_jobs=1)
    predictor = Predictor(read_model(finished_run.folder.path), 0.3)
    assert (predictor.rate, predictor.threshold) == (found.rate, found.threshold)
    assert any(one.contains for one in found.images)
    for index, one in enumerate(found.images):
        said = predictor.judge(read_image(scenes / one.name))
        assert said.contains == one.contains
        assert (said.score, said.probability, said.p_value) == pytest.approx((one.score, one.probability, one.p_value))
        np.testing.assert_array_equal(said.mask, found.read_mask(index))


@pytest.mark.parametrize("rate", [0.0, 1.0, -1.0])
def test_a_rate_that_is_no_share_is_refused(finished_run, rate):
    with pytest.raises(BadInputError, match="share of images"):
        Predictor(read_model(finished_run.folder.path), rate)
