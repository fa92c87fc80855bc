"""An auto-annotation function for CVAT: its command line runs it over the images of a task and uploads the masks.

    cvat-cli task auto-annotate 137 --function-module segvote.integrations.cvat -p model=str:out

Needs ``pip install "cvat-sdk[masks]" cvat-cli``. A label of the task must be called like the run's (``--label``), or
like the classes of a run on several.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from segvote.errors import MissingPartError
from segvote.integrations import FALSE_POSITIVE_RATE, open_predictors
from segvote.io.encodings.polygons import list_outlines
from segvote.masks.objects import list_objects


def create(model: str, false_positive_rate: float = FALSE_POSITIVE_RATE) -> CvatFunction:
    """Make the function; CVAT calls this with the ``-p`` parameters.

    Parameters
    ----------
    model : str
        A run folder, its model folder, or the folder of a run on several classes.
    false_positive_rate : float
        Largest share of images without the object that may be predicted to show it.
    """
    return CvatFunction(model, false_positive_rate)


class CvatFunction:
    """A detection function as ``cvat_sdk.auto_annotation`` defines it: `spec` and `detect`."""

    def __init__(self, model: str, false_positive_rate: float = FALSE_POSITIVE_RATE) -> None:
        self._cvat = _import_cvat()
        self._predictors = open_predictors(model, false_positive_rate)
        labels = [
            self._cvat.label_spec(label, number, type="mask") for number, label in enumerate(self._predictors, start=1)
        ]
        self.spec = self._cvat.DetectionFunctionSpec(labels=labels)

    def detect(self, context: Any, image: Image.Image) -> list[Any]:
        """Shapes of one image; none of a label whose probability is below the confidence that CVAT asks for."""
        from cvat_sdk.masks import encode_mask

        pixels = np.asarray(image.convert("RGB"))
        shapes = []
        for number, predictor in enumerate(self._predictors.values(), start=1):
            prediction, mask = predictor.judge(pixels)
            if prediction.probability < (context.conf_threshold or 0.0):
                continue
            objects = list_objects(mask, predictor.model.drawing.objects)
            if context.conv_mask_to_poly:
                rings = [ring.ravel().tolist() for one in objects for ring in list_outlines(one)]
                shapes += [self._cvat.polygon(number, ring) for ring in rings]
            else:
                shapes += [self._cvat.mask(number, encode_mask(one)) for one in objects if one.any()]
        return shapes


def _import_cvat() -> Any:
    try:
        import cvat_sdk.auto_annotation as cvat
        import cvat_sdk.masks  # noqa: F401, an extra of the package
    except ImportError as error:
        raise MissingPartError('CVAT\'s package is missing; pip install "cvat-sdk[masks]" cvat-cli') from error
    return cvat
