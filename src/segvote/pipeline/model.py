"""The model of a run: what its vote learned, for new images; see `segvote.run.model_file` for the files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from segvote.errors import BadInputError, DamagedFileError
from segvote.features import FeatureExtractor, Standardiser, make_features
from segvote.features.choose import list_feature_options
from segvote.features.networks.devices import AUTO, CPU
from segvote.features.networks.sam import open_sam
from segvote.io.tables import format_json
from segvote.masks import Drawing
from segvote.method.cross_fit import make_folds
from segvote.method.prior import measure_border_prior
from segvote.method.table import Geometry, SegmentTable, make_table
from segvote.method.vote import Vote
from segvote.pipeline.corrected_vote import RunVote
from segvote.pipeline.vote import BaseVote
from segvote.run.model_file import add_prefix, read_model_file, select_arrays, write_model_file
from segvote.run.run_folder import read_drawing
from segvote.selection import DEFAULT_EXTENT
from segvote.settings import Settings

# Folds of images that are left out of the vote together, where scores of training images are calibrated.
N_FOLDS = 10
ROWS_AT_ONCE = 16_384
# Segments of an image, the highest scores first, whose distances decide whether it is unlike the training images.
N_BEST = 5


def write_model(run_vote: RunVote, extent: int) -> None:
    """Write ``model.safetensors`` and ``model.json`` into the run's ``model`` folder.

    The arrays are the segments that vote (a byte for each number), their bags, bag labels and adjacency, the scales of
    the features, the state of the extractor and of the method, and scores of images held out of the vote.
    """
    inputs, table, selection = run_vote.inputs, run_vote.inputs.table, run_vote.correction.selection
    arrays: dict[str, np.ndarray] = {
        "bags": table.bags.astype(np.int32),
        "positive": table.bag_labels.astype(np.uint8),
        "user_labels": selection.user_labels.astype(np.int8),
        "prior": measure_border_prior(table.border, inputs.settings.border_prior).astype(np.float32),
        "edges": table.edges.astype(np.int32),
        "lengths": table.lengths.astype(np.float32),
        "contrasts": np.nan_to_num(table.contrasts, nan=-1.0).astype(np.float32),  # -1: not known
        "range": np.array([selection.scores.min(), selection.scores.max()], dtype=np.float64),
        "first_extents": run_vote.extents.first_extents,
        **add_prefix("standardiser", inputs.standardiser.get_state()),
        **add_prefix("features", inputs.extractor.get_state()),
        **add_prefix("method", _pack_vote(run_vote.refitted)),
    }
    write_model_file(inputs.folder, table.X, arrays, inputs.settings, inputs.extractor.get_key(), extent)


def _pack_vote(base: BaseVote) -> dict[str, np.ndarray]:
    """The state of the method that scores unseen segments; nothing for another voter, which is fitted again."""
    vote = base.source
    if not isinstance(vote, Vote):
        return {}
    table, scorer = vote.table, vote.scorer
    held_out = table.smooth(base.score_held_out(make_folds(table, N_FOLDS)), vote.inputs.params.smoothing)
    distances = measure_nearest(table.X, table.X, vote.inputs.graph)
    spans = [slice(*span) for span in pairwise(table.bag_offsets)]
    none = np.zeros(table.X.shape[1])
    contexts = [none if one.context is None else one.context for one in scorer.classifiers]
    return {
        "votes": scorer.votes.astype(np.float32),
        "excluded": (table.average_by_bag(vote.diagnostics.excluded) > 0.5).astype(np.uint8),
        "threshold": np.array([scorer.threshold]),
        "directions": np.stack([one.direction for one in scorer.classifiers]).astype(np.float64),
        "contexts": np.stack(contexts).astype(np.float64),
        "offsets": np.array([one.offset for one in scorer.classifiers]),
        "weights": np.array([one.weight for one in scorer.classifiers]),
        "held_out": np.maximum.reduceat(held_out, table.bag_offsets[:-1]),
        "nearest": np.array([measure_strangeness(held_out[own], distances[own]) for own in spans]),
    }


def measure_strangeness(scores: np.ndarray, distances: np.ndarray) -> float:
    """Mean of the distances (n_segments,) to the nearest voter over the `N_BEST` highest scores of an image."""
    return float(distances[np.argsort(-scores, kind="stable")[:N_BEST]].mean())


def measure_nearest(X: np.ndarray, voters: np.ndarray, graph: sparse.csr_matrix) -> np.ndarray:
    """(n,) distance of each segment (n, d) to its nearest voter (n_voters, d).

    The nearest is the one with the largest weight in `graph` (n, n_voters); 0 where no segment votes.
    """
    nearest, has_voter = np.asarray(graph.argmax(axis=1)).ravel(), np.diff(graph.indptr) > 0
    distances = np.zeros(len(X))
    for start in range(0, len(X), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        distances[rows] = np.linalg.norm(X[rows] - voters[nearest[rows]], axis=1)
    return np.where(has_voter, distances, 0.0)


@dataclass(frozen=True)
class Model:
    """The model of a run, ready for new images."""

    settings: Settings
    extractor: FeatureExtractor
    standardiser: Standardiser  # scale of the features in the training run
    arrays: dict[str, np.ndarray]  # written by `write_model`
    drawing: Drawing  # how masks are drawn
    extent: int = DEFAULT_EXTENT  # of the nested selections, at which images are predicted

    def make_table(self) -> SegmentTable:
        """The training segments."""
        arrays = self.arrays
        contrasts = np.where(arrays["contrasts"] < 0, np.nan, arrays["contrasts"])
        places = Geometry(edges=arrays["edges"], lengths=arrays["lengths"], contrasts=contrasts, prior=arrays["prior"])
        X, positive = arrays["X"].astype(np.float32), arrays["positive"].astype(bool)
        return make_table(X, positive, arrays["bags"].astype(np.int64), places)


def read_model(path: Path | str, device: str | None = None) -> Model:
    """Open the model of a run folder or of a (copied) ``model`` folder; `device` replaces the run's for its network."""
    stored = read_model_file(path)
    folder, arrays, settings = stored.folder, stored.arrays, stored.settings
    try:
        standardiser = Standardiser.from_state(select_arrays(arrays, "standardiser"))
    except (TypeError, ValueError, KeyError) as error:
        raise DamagedFileError(f"{folder} is not a whole model ({error}); annotate again") from error
    settings = replace(settings, feature_options=_choose_device(settings, device))
    extractor = make_features(settings.features, **settings.feature_options)
    if format_json(_drop_device(extractor.get_key())) != format_json(_drop_device(stored.features)):
        raise BadInputError(
            f"{folder} was learned with other features than {settings.features!r} gives here; "
            "install the same version, or put the same network where it was"
        )
    extractor.set_state(select_arrays(arrays, "features"))
    drawing = read_drawing(folder)
    if drawing.refine:
        if device is not None:
            drawing = replace(drawing, device=settings.feature_options.get("device", CPU))
        open_sam(drawing.refine, drawing.refine_sha256, drawing.device)  # other files are an error before any work
    return Model(settings, extractor, standardiser, arrays, drawing, stored.extent)


def _choose_device(settings: Settings, device: str | None) -> dict[str, Any]:
    """Options of the features with another device; the CPU is the default, and ``auto`` needs a network."""
    options = settings.feature_options
    if device is None or (device == AUTO and "device" not in list_feature_options(settings.features)):
        return options
    return _drop_device(options) if device == CPU else {**options, "device": device}


def _drop_device(key: Any) -> Any:
    return {name: value for name, value in key.items() if name != "device"} if isinstance(key, dict) else key
