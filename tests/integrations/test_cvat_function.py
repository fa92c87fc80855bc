"""The auto-annotation function, run by CVAT's own driver and checked by its own mapper of annotations."""

import numpy as np
import pytest
from PIL import Image

from segvote.integrations.cvat import create
from segvote.io.images import read_image
from segvote.masks.objects import list_objects
from segvote.pipeline.model import read_model
from segvote.pipeline.predictor import Predictor

cvat = pytest.importorskip("cvat_sdk.auto_annotation")
masks = pytest.importorskip("cvat_sdk.masks")


@pytest.fixture(scope="module")
def function(finished_run):
    return create(str(finished_run.folder.path), 0.3)


@pytest.fixture
def map_shapes(function):
    """CVAT's check of the results of a function, for a task with its labels."""
    from cvat_sdk import models
    from cvat_sdk.auto_annotation.driver import _AnnotationMapper, _SpecNameMapping

    def check(shapes, as_polygons=False):
        label = models.Label(
            id=77, name="object", type="polygon" if as_polygons else "mask", attributes=[], sublabels=[]
        )
        mapper = _AnnotationMapper(
            _NullLogger(),
            function.spec.labels,
            [label],
            allow_unmatched_labels=False,
            spec_nm=_SpecNameMapping(),
            conv_mask_to_poly=as_polygons,
        )
        return mapper.validate_and_remap(shapes, 5)[1]

    return check


class _NullLogger:
    def __getattr__(self, name):
        return lambda *_, **__: None


class Context(cvat.DetectionFunctionContext):
    def __init__(self, conf_threshold=None, conv_mask_to_poly=False):
        self._settings = conf_threshold, conv_mask_to_poly

    frame_name = "frame.png"
    conf_threshold = property(lambda self: self._settings[0])
    conv_mask_to_poly = property(lambda self: self._settings[1])


def test_the_masks_are_those_of_predict(function, map_shapes, finished_run, scenes):
    assert [(label.name, label.id, str(label.type)) for label in function.spec.labels] == [("object", 1, "mask")]
    predictor, found = Predictor(read_model(finished_run.folder.path), 0.3), 0
    for path in sorted(scenes.glob("with*/*.png")):
        with Image.open(path) as picture:
            shapes = map_shapes(function.detect(Context(), picture))
        _, mask = predictor.judge(read_image(path))
        for shape, expected in zip(shapes, list_objects(mask, predictor.model.drawing.objects), strict=True):
            assert (shape.label_id, shape.frame, str(shape.type)) == (77, 5, "mask")
            height, width = expected.shape
            decoded = masks.decode_mask(shape.points, image_width=width, image_height=height)
            np.testing.assert_array_equal(decoded, expected)
            found += 1
    assert found


def test_polygons_where_cvat_wants_them(function, map_shapes, scenes):
    shapes = []
    for path in sorted((scenes / "with").iterdir()):
        with Image.open(path) as picture:
            shapes += map_shapes(function.detect(Context(conv_mask_to_poly=True), picture), as_polygons=True)
    assert shapes
    assert {str(shape.type) for shape in shapes} == {"polygon"}


def test_masks_below_the_confidence_are_left_out(function, scenes):
    with Image.open(sorted((scenes / "with").iterdir())[0]) as picture:
        assert function.detect(Context(conf_threshold=1.0), picture) == []
