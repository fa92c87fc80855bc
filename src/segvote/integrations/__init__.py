"""Learned decisions inside other people's tools; each file stands alone and needs that tool's own package.

What they open is the models of a run, of a run on classes, or of a model folder, by their labels.
"""

from __future__ import annotations

from pathlib import Path

from segvote.run.classes import ClassRuns, find_class_record
from segvote.run.run_folder import RunFolder
from segvote.steps.prediction.predict import open_model
from segvote.steps.prediction.predictor import Predictor

__all__ = ["open_predictors"]


def open_predictors(path: Path | str, false_positive_rate: float = 0.01) -> dict[str, Predictor]:
    """Label to predictor.

    Parameters
    ----------
    path
        A run folder, its ``model`` folder, or the folder of a run on several classes: then one predictor for each.
    false_positive_rate
        Largest share of images without the object that may be predicted to show it.
    """
    folder = Path(path)
    if find_class_record(RunFolder(folder)).is_file():
        models = [open_model(folder / "classes" / name) for name in ClassRuns(folder).names]
    else:
        models = [open_model(folder)]
    return {model.settings.label: Predictor(model, false_positive_rate) for model in models}
