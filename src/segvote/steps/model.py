"""The model of a run as files: safetensors for arrays, JSON for settings, no pickle."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from scipy import sparse

from segvote.errors import BadInputError, DamagedFileError
from segvote.features import FeatureExtractor, Standardiser, make_features
from segvote.features.choose import list_feature_options
from segvote.features.networks.devices import AUTO, CPU
from segvote.features.networks.sam import open_sam
from segvote.io.files import open_regular, write_bytes
from segvote.io.tables import convert_record, format_json, read_json, write_json
from segvote.masks import Drawing
from segvote.memory_budget import check_budget, measure_on_disk
from segvote.method.extents import N_LEVELS
from segvote.method.table import Geometry, SegmentTable, make_folds, make_table
from segvote.method.vote import Vote, score_held_out
from segvote.method.walk import measure_border_prior
from segvote.run.record import MODEL_VERSION
from segvote.run.run_folder import RunFolder, read_drawing
from segvote.run.settings import Settings, read_settings
from segvote.steps.reopening import Voted

# Folds of images that are left out of the vote together, where scores of training images are calibrated.
N_FOLDS = 10
STEPS = 127  # of int8, on either side of zero
ROWS_AT_ONCE = 16_384
# Segments of an image, the highest scores first, whose distances decide whether it is unlike the training images.
N_BEST = 5


def write_model(voted: Voted, extent: int) -> None:
    """Write ``model.safetensors`` and ``model.json`` into the run's ``model`` folder.

    The arrays are the segments that vote (a byte for each number), their bags, bag labels and adjacency, the scales of
    the features, the state of the extractor and of the method, and scores of images held out of the vote.
    """
    from safetensors.numpy import save

    opened, table = voted.opened, voted.opened.table
    codes, scales = pack(table.X)
    arrays: dict[str, np.ndarray] = {
        "codes": codes,
        "scales": scales,
        "bags": table.bags.astype(np.int32),
        "positive": table.bag_labels.astype(np.uint8),
        "user_labels": voted.vote.user_labels.astype(np.int8),
        "prior": measure_border_prior(table.border, opened.settings.border_prior).astype(np.float32),
        "edges": table.edges.astype(np.int32),
        "lengths": table.lengths.astype(np.float32),
        "contrasts": np.nan_to_num(table.contrasts, nan=-1.0).astype(np.float32),  # -1: not known
        "range": np.array([voted.vote.scores.min(), voted.vote.scores.max()], dtype=np.float64),
        "levels": voted.extents.levels,
        **_name("standardiser", opened.standardiser.get_state()),
        **_name("features", opened.extractor.get_state()),
        **_name("method", _pack_vote(voted.refitted) if voted.held.voter is None else {}),
    }
    data, folder = save(arrays), opened.folder.model_path
    write_bytes(folder / "model.safetensors", data)
    settings, features = opened.settings.to_dict(), opened.extractor.get_key()
    record = _ModelRecord(MODEL_VERSION, settings, features, extent, hashlib.sha256(data).hexdigest())
    write_json(folder / "model.json", record)


def write_model_extent(run: RunFolder, extent: int) -> None:
    """Set the extent at which the model of a run predicts."""
    path = run.model_path / "model.json"
    write_json(path, {**read_json(path), "extent": extent})


def pack(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(n_segments, d) numbers as int8 codes, in steps of a scale for each segment; and these scales.

    With the best segment's votes scaled to 1, the votes of a segment change by 0.001 on average and by less than 0.05
    at most (measured in ``docs/predict.md``).
    """
    codes, scales = np.empty(X.shape, dtype=np.int8), np.empty(len(X), dtype=np.float32)
    # In blocks: X may be larger than the memory that is left.
    for start in range(0, len(X), ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        largest = np.abs(X[rows]).max(axis=1, initial=0.0)
        scales[rows] = np.where(largest > 0, largest, 1.0) / STEPS
        codes[rows] = np.rint(X[rows] / scales[rows, None])
    return codes, scales


def unpack(codes: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """(n_segments, d) float32 of the codes and scales of `pack`; equal to within half a step."""
    return codes.astype(np.float32) * scales[:, None]


def _name(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{prefix}.{name}": np.ascontiguousarray(array) for name, array in arrays.items()}


def _pack_vote(found: Vote) -> dict[str, np.ndarray]:
    """The state of the method that scores unseen segments; another voter is fitted again instead."""
    table = found.table
    held_out = table.smooth(score_held_out(found, make_folds(table, N_FOLDS)), found.params.smoothing)
    distances = measure_nearest(table.X, table.X, found.graph)
    spans = [slice(*span) for span in pairwise(table.bag_offsets)]
    return {
        "labels": found.labels.astype(np.uint8),
        "excluded": (table.average_by_bag(found.excluded) > 0.5).astype(np.uint8),
        "inside": np.array([found.inside]),
        "threshold": np.array([found.threshold]),
        "direction": found.posterior.direction.astype(np.float64),
        "offset": np.array([found.posterior.offset]),
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
    arrays: dict[str, np.ndarray]  # stored by `write_model`
    drawing: Drawing  # how masks are drawn
    extent: int = 2  # level of the nested selections at which images are predicted

    def make_table(self) -> SegmentTable:
        """The training segments."""
        arrays = self.arrays
        contrasts = np.where(arrays["contrasts"] < 0, np.nan, arrays["contrasts"])
        places = Geometry(edges=arrays["edges"], lengths=arrays["lengths"], contrasts=contrasts, prior=arrays["prior"])
        X, positive = arrays["X"].astype(np.float32), arrays["positive"].astype(bool)
        return make_table(X, positive, arrays["bags"].astype(np.int64), places)


def read_model(path: Path | str, device: str | None = None) -> Model:
    """Open the model of a run folder or of a (copied) ``model`` folder; `device` replaces the run's for its network."""
    path = Path(path)
    folder = next((one for one in (path / "model", path) if (one / "model.json").is_file()), None)
    if folder is None:
        raise BadInputError(
            f"no model in {path}; give the -o folder of a finished `segvote annotate`, or its model folder"
        )
    record = _read_record(folder / "model.json")
    arrays = _read_arrays(folder / "model.safetensors", record.sha256)
    try:
        arrays["X"] = unpack(arrays.pop("codes"), arrays.pop("scales"))
        settings = read_settings(record.settings, folder / "model.json")
        standardiser = Standardiser.from_state(select_arrays(arrays, "standardiser"))
    except (TypeError, ValueError, KeyError) as error:
        raise DamagedFileError(f"{folder} is not a whole model ({error}); annotate again") from error
    settings = replace(settings, feature_options=_choose_device(settings, device))
    extractor = make_features(settings.features, **settings.feature_options)
    if format_json(_drop_device(extractor.get_key())) != format_json(_drop_device(record.features)):
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
    return Model(settings, extractor, standardiser, arrays, drawing, record.extent)


def _choose_device(settings: Settings, device: str | None) -> dict[str, Any]:
    """Options of the features with another device; the CPU is the default, and ``auto`` needs a network."""
    options = settings.feature_options
    if device is None or (device == AUTO and "device" not in list_feature_options(settings.features)):
        return options
    return _drop_device(options) if device == CPU else {**options, "device": device}


def _drop_device(key: Any) -> Any:
    return {name: value for name, value in key.items() if name != "device"} if isinstance(key, dict) else key


def select_arrays(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays whose names begin with a prefix and a dot, without it."""
    return {name.split(".", 1)[1]: array for name, array in arrays.items() if name.startswith(f"{prefix}.")}


class _ModelRecord(Struct, forbid_unknown_fields=True):
    """The content of ``model.json``."""

    version: int
    settings: dict[str, Any]
    features: Any  # key of the extractor
    extent: Annotated[int, Meta(ge=1, le=N_LEVELS)]
    sha256: str  # of the arrays


def _read_record(path: Path) -> _ModelRecord:
    data, advice = read_json(path), "annotate again"
    found = data.get("version") if isinstance(data, dict) else None
    if isinstance(found, int) and found != MODEL_VERSION:
        advice = "install a newer segvote" if found > MODEL_VERSION else advice
        raise BadInputError(f"{path} has version {found}, this segvote reads {MODEL_VERSION}; {advice}")
    return convert_record(data, _ModelRecord, path, advice=advice)


def _read_arrays(path: Path, sha256: str) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        with open_regular(path) as file:
            # A sparse file may claim any size: its size on the disk is allowed.
            check_budget(os.fstat(file.fileno()).st_size, path, at_least=measure_on_disk(path))
            data = file.read()
        if sha256 != hashlib.sha256(data).hexdigest():
            raise BadInputError("its checksum is not that of model.json")
        return load(data)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise DamagedFileError(f"{path} cannot be read ({error}); annotate again") from error
