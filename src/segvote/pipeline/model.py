"""The learned decision as a file that travels: safetensors for arrays, JSON for words, no pickle."""

from __future__ import annotations

from typing import Any

import numpy as np

from segvote.features import FeatureExtractor
from segvote.io.atomic import write_bytes
from segvote.io.run_folder import RunFolder
from segvote.io.tables import write_json
from segvote.pipeline.settings import Settings
from segvote.pipeline.voting_step import Table, Verdict, measure_survival

__all__ = ["MODEL_VERSION", "write_model"]

# Raised when the meaning of a stored array changes; `read_model` refuses what it does not know.
MODEL_VERSION = 1


def write_model(
    run: RunFolder, settings: Settings, extractor: FeatureExtractor, table: Table, voter: Any, verdict: Verdict
) -> None:
    """Write ``model.safetensors`` and ``model.json`` into the run's ``model`` folder.

    The arrays are the segments that vote (half precision), their bags, tags, weights and priors, the scales of the
    features and what the extractor learned: all that scoring an unseen segment needs.
    """
    from safetensors.numpy import save

    arrays: dict[str, np.ndarray] = {
        "X": table.X.astype(np.float16),
        "bags": table.bags.astype(np.int32),
        "tags": table.tags.astype(np.uint8),
        "survival": measure_survival(table, settings).astype(np.float32),
        "weights": verdict.weights.astype(np.float32),
        **{f"standardiser.{name}": array for name, array in table.standardiser.get_state().items()},
        **{f"features.{name}": np.ascontiguousarray(array) for name, array in extractor.get_state().items()},
    }
    write_bytes(run.model_path / "model.safetensors", save(arrays))
    write_json(
        run.model_path / "model.json",
        {"version": MODEL_VERSION, "settings": settings.to_dict(), "features": extractor.get_key()},
    )
