"""The learned decision as a file that travels: safetensors for arrays, JSON for words, no pickle."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from segvote.errors import BadInputError, DamagedFileError
from segvote.features import FeatureExtractor, Standardiser, make_features
from segvote.io.atomic import write_bytes
from segvote.io.files import open_regular
from segvote.io.tables import format_json, read_json, write_json
from segvote.memory_budget import check_budget, measure_on_disk
from segvote.method import Geometry
from segvote.method.table import make_folds
from segvote.run.record import MODEL_VERSION
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings, read_settings
from segvote.steps.prediction.calibration import N_FOLDS, Calibration, calibrate, score_by_refits, score_images
from segvote.steps.prediction.compacting import pack, unpack
from segvote.steps.table import Table
from segvote.steps.voting.making import make_annotator

if TYPE_CHECKING:
    from segvote.method import Result, SegmentAnnotator

OLDEST_VERSION = 4  # that can be read: earlier ones hold another method's votes
SEGMENT_ARRAYS = ("bags", "prior", "user_labels")


def write_model(
    run: RunFolder,
    settings: Settings,
    extractor: FeatureExtractor,
    table: Table,
    annotator: SegmentAnnotator,
    result: Result,
) -> None:
    """Write ``model.safetensors`` and ``model.json`` into the run's ``model`` folder.

    The arrays are the segments that vote (a byte for each number), their bags, bag labels and adjacency, the scales of
    the features, what the extractor and the method learned, and how images score that had no part in the vote: all that
    scoring and judging an unseen image needs.
    """
    from safetensors.numpy import save

    codes, scales = pack(table.X)
    arrays: dict[str, np.ndarray] = {
        "codes": codes,
        "scales": scales,
        "bags": table.bags.astype(np.int32),
        "positive": table.positive.astype(np.uint8),
        "user_labels": result.user_labels.astype(np.int8),
        "prior": table.make_prior(settings).astype(np.float32),
        **_pack_adjacency(table),
        "range": np.array([result.scores.min(), result.scores.max()], dtype=np.float64),
        **_name("standardiser", table.standardiser.get_state()),
        **_name("features", extractor.get_state()),
        **_name("method", _get_state(annotator, table)),
    }
    data = save(arrays)
    write_bytes(run.model_path / "model.safetensors", data)
    write_json(
        run.model_path / "model.json",
        {"version": MODEL_VERSION, "settings": settings.to_dict(), "features": extractor.get_key(), **_sum(data)},
    )


def _pack_adjacency(table: Table) -> dict[str, np.ndarray]:
    """Adjacent segments of all bags, numbered over all bags; a contrast that is not known is -1."""
    return {
        "edges": np.concatenate(
            [edges + start for edges, start in zip(table.edges, table.offsets, strict=False)]
        ).astype(np.int32),
        "lengths": np.concatenate(table.lengths).astype(np.float32),
        "contrasts": np.nan_to_num(np.concatenate(table.contrasts), nan=-1.0).astype(np.float32),
    }


def _unpack(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays with X as numbers."""
    if "codes" not in arrays or arrays["codes"].ndim != 2 or arrays.get("scales", arrays["codes"]).ndim != 1:
        return arrays
    rest = {name: array for name, array in arrays.items() if name not in ("codes", "scales")}
    return {"X": unpack(arrays["codes"], arrays["scales"]), **rest}


def _name(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {f"{prefix}.{name}": np.ascontiguousarray(array) for name, array in arrays.items()}


def _get_state(annotator: SegmentAnnotator, table: Table) -> dict[str, np.ndarray]:
    """What the method has learned; another voter is fitted again when it is needed."""
    if annotator.voter is not None:
        return {}
    held_out = annotator.smooth_training(annotator.score_held_out(make_folds(table.positive, N_FOLDS)[table.groups]))
    return {**annotator.get_state(), "held_out": score_images(held_out, table.bags)}


@dataclass(frozen=True)
class Model:
    """A learned decision, ready for images never seen."""

    # How images are segmented, their features extracted and put on the scale of the training run.
    settings: Settings
    extractor: FeatureExtractor
    standardiser: Standardiser
    arrays: dict[str, np.ndarray]  # everything stored; see `write_model`

    def restore(self) -> SegmentAnnotator:
        """The method, fitted: taken over as it was, or another voter fitted again on the stored segments."""
        arrays, bags = self.arrays, self.arrays["bags"]
        annotator = make_annotator(self.settings)
        annotator.n_neighbors = min(annotator.n_neighbors, len(bags))  # a stranger's settings may ask for any number
        X, y = arrays["X"].astype(np.float32), arrays["positive"].astype(bool)[bags]
        if annotator.voter is None:
            return annotator.set_state(X, y, bags, _select(self.arrays, "method"))
        annotator.exclude_mislabelled = False
        return annotator.fit(X, y, images=bags, geometry=self._make_geometry())

    def calibrate(self, annotator: SegmentAnnotator) -> Calibration:
        """What scores mean for an image; a *without* image with a user label object has it."""
        arrays, bags = self.arrays, self.arrays["bags"]
        positive = arrays["positive"].astype(bool)
        scores = arrays.get("method.held_out")
        if scores is None:
            X = arrays["X"].astype(np.float32)
            votes = score_by_refits(self.settings, X, positive, bags, arrays["prior"], arrays["user_labels"])
            scores = score_images(annotator.smooth_training(votes), bags)
        marked = np.zeros(len(positive), dtype=bool)
        marked[bags[arrays["user_labels"] == 1]] = True
        return calibrate(scores, positive | marked)

    def _make_geometry(self) -> Geometry:
        arrays = self.arrays
        contrasts = np.where(arrays["contrasts"] < 0, np.nan, arrays["contrasts"])
        return Geometry(edges=arrays["edges"], lengths=arrays["lengths"], contrasts=contrasts, prior=arrays["prior"])


def read_model(path: Path | str) -> Model:
    """Open the model of a run: its ``model`` folder, wherever it lies now, or the run folder."""
    folder = _find_model(Path(path))
    words = _read_words(folder / "model.json")
    arrays = _unpack(_read_arrays(folder / "model.safetensors", words))
    _check_arrays(arrays, folder)
    try:
        settings = read_settings(words["settings"], folder / "model.json")
        standardiser = Standardiser.from_state(_select(arrays, "standardiser"))
    except (TypeError, ValueError, KeyError) as error:
        raise DamagedFileError(f"{folder} is not a whole model ({error}); annotate again") from error
    extractor = make_features(settings.features, **settings.feature_options)
    if format_json(extractor.get_key()) != format_json(words.get("features")):
        raise BadInputError(
            f"{folder} was learned with other features than {settings.features!r} gives here; "
            "install the same version, or put the same network where it was"
        )
    extractor.set_state(_select(arrays, "features"))
    return Model(settings, extractor, standardiser, arrays)


def _select(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.split(".", 1)[1]: array for name, array in arrays.items() if name.startswith(f"{prefix}.")}


def _find_model(path: Path) -> Path:
    for folder in (path / "model", path):
        if (folder / "model.json").is_file():
            return folder
    raise BadInputError(f"no model in {path}; give the -o folder of a finished `segvote annotate`, or its model folder")


def _read_words(path: Path) -> dict[str, Any]:
    words = read_json(path)
    found = words.get("version") if isinstance(words, dict) else None
    if not isinstance(found, int) or not isinstance(words.get("settings"), dict):
        raise DamagedFileError(f"{path} is not the description of a model; annotate again")
    if found > MODEL_VERSION:
        raise BadInputError(f"{path} has version {found}, this segvote reads {MODEL_VERSION}; install a newer segvote")
    if found < OLDEST_VERSION:
        raise BadInputError(
            f"{path} has version {found}, which lacks what {OLDEST_VERSION} and later have; repeat the "
            "`segvote annotate` that wrote it, which votes again and segments nothing anew"
        )
    return words


def _sum(data: bytes) -> dict[str, str]:
    return {"sha256": hashlib.sha256(data).hexdigest()}


def _read_arrays(path: Path, words: dict[str, Any]) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        with open_regular(path) as file:
            # What lies on the disk is read, whatever its size; a file of holes may claim any.
            check_budget(os.fstat(file.fileno()).st_size, path, at_least=measure_on_disk(path))
            data = file.read()
        if words.get("sha256", _sum(data)["sha256"]) != _sum(data)["sha256"]:
            raise BadInputError("its bytes are not those that model.json speaks of")
        return load(data)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise DamagedFileError(f"{path} cannot be read ({error}); annotate again") from error


def _check_arrays(arrays: dict[str, np.ndarray], folder: Path) -> None:
    """Shapes and numbers that belong together, so that a damaged file fails here and not in the middle of a vote."""
    wanted = {"X", "positive", "edges", "lengths", "contrasts", "range", *SEGMENT_ARRAYS}
    whole = wanted <= arrays.keys() and arrays["X"].ndim == 2 and arrays["edges"].ndim == 2
    if whole:
        n_segments, n_bags = len(arrays["X"]), len(arrays["positive"])
        whole = all(arrays[name].shape == (n_segments,) for name in SEGMENT_ARRAYS)
        whole &= np.array_equal(np.unique(arrays["bags"]), np.arange(n_bags)) and bool(
            np.diff(arrays["bags"]).min() >= 0
        )
        whole &= arrays["range"].shape == (2,) and arrays["edges"].shape[1:] == (2,)
        whole &= arrays["lengths"].shape == arrays["contrasts"].shape == (len(arrays["edges"]),)
        whole &= _is_state_whole(_select(arrays, "method"), n_segments, n_bags, arrays["X"].shape[1])
        whole &= bool(arrays["edges"].max(initial=0) < n_segments and arrays["edges"].min(initial=0) >= 0)
        whole &= all(np.isfinite(array).all() for array in arrays.values() if array.dtype.kind == "f")
    if not whole:
        raise DamagedFileError(f"the arrays of {folder} do not belong together; annotate again")


def _is_state_whole(state: dict[str, np.ndarray], n_segments: int, n_bags: int, n_dims: int) -> bool:
    """Whether what the method learned belongs to so many segments; nothing is stored of another voter."""
    shapes = {
        "voting": (n_segments,),
        "excluded": (n_segments,),
        "inside": (1,),
        "threshold": (1,),
        "direction": (n_dims,),
        "offset": (1,),
        "held_out": (n_bags,),
    }
    return not state or {name: array.shape for name, array in state.items()} == shapes
