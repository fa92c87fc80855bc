"""Models of runs inside CVAT and Label Studio; each file stands alone and needs that tool's own package."""

from __future__ import annotations

from pathlib import Path

from segvote.pipeline.predict import open_model
from segvote.pipeline.predictor import FALSE_POSITIVE_RATE, Predictor
from segvote.run.classes import ClassRuns
from segvote.run.run_folder import RunFolder

__all__ = ["FALSE_POSITIVE_RATE", "open_predictors"]


def open_predictors(path: Path | str, false_positive_rate: float = FALSE_POSITIVE_RATE) -> dict[str, Predictor]:
    """Label to predictor, of a run folder, its ``model`` folder, or the folder of a run on several classes."""
    folder = Path(path)
    if RunFolder(folder).classes_path.is_file():
        models = [open_model(folder / "classes" / name) for name in ClassRuns(folder).names]
    else:
        models = [open_model(folder)]
    return {model.settings.label: Predictor(model, false_positive_rate) for model in models}
