"""The learned decision as a file that travels: safetensors for arrays, JSON for words, no pickle."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta, Struct
from scipy import sparse

from segvote.errors import BadInputError, DamagedFileError
from segvote.features import FeatureExtractor, Standardiser, make_features
from segvote.io.atomic import write_bytes
from segvote.io.files import open_regular
from segvote.io.tables import convert_record, format_json, read_json, write_json
from segvote.masks import Drawing
from segvote.memory_budget import check_budget, measure_on_disk
from segvote.method.extents import N_LEVELS
from segvote.method.linear import LinearPosterior
from segvote.method.table import Geometry, SegmentTable, make_folds, make_table, smooth_along
from segvote.method.vote import Vote, VoteParams, link_unseen, score_held_out, score_linked, vote_by_scores
from segvote.run.record import MODEL_VERSION
from segvote.run.run_folder import RunFolder, read_drawing
from segvote.run.settings import Settings, read_settings
from segvote.steps.prediction.calibration import N_FOLDS, Calibration, calibrate, score_by_refits, score_images
from segvote.steps.prediction.compacting import pack, unpack
from segvote.steps.table import Table
from segvote.steps.vote import Held, make_params
from segvote.voters import METHOD, make_voter

if TYPE_CHECKING:
    from segvote.steps.outcome import Corrected
    from segvote.voters.base import BaseVoter

SEGMENT_ARRAYS = ("bags", "levels", "prior", "user_labels")


def write_model(
    run: RunFolder,
    settings: Settings,
    extractor: FeatureExtractor,
    table: Table,
    held: Held,
    corrected: Corrected,
    extent: int,
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
        "user_labels": corrected.vote.user_labels.astype(np.int8),
        "prior": table.make_prior(settings).astype(np.float32),
        **_pack_adjacency(table),
        "range": np.array([corrected.vote.scores.min(), corrected.vote.scores.max()], dtype=np.float64),
        "levels": corrected.extents.levels,
        **_name("standardiser", table.standardiser.get_state()),
        **_name("features", extractor.get_state()),
        **_name("method", _pack_vote(corrected.refitted) if held.voter is None else {}),
    }
    data = save(arrays)
    write_bytes(run.model_path / "model.safetensors", data)
    words = {"version": MODEL_VERSION, "settings": settings.to_dict(), "features": extractor.get_key()}
    write_json(run.model_path / "model.json", {**words, "extent": extent, "sha256": _sum(data)})


def write_model_extent(run: RunFolder, extent: int) -> None:
    """Have the model of a run predict at another extent; its arrays stay as they are."""
    path = run.model_path / "model.json"
    write_json(path, {**read_json(path), "extent": extent})


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


def _pack_vote(found: Vote) -> dict[str, np.ndarray]:
    """What scoring unseen segments needs beside the training segments; another voter is fitted again instead."""
    table = found.table
    held_out = table.smooth(score_held_out(found, make_folds(table, N_FOLDS)), found.params.smoothing)
    return {
        "labels": found.labels.astype(np.uint8),
        "excluded": found.excluded.astype(np.uint8),
        "inside": np.array([found.inside]),
        "threshold": np.array([found.threshold]),
        "direction": found.posterior.direction.astype(np.float64),
        "offset": np.array([found.posterior.offset]),
        "held_out": score_images(held_out, table.groups[table.images]),
    }


@dataclass(frozen=True)
class Model:
    """A learned decision, ready for images never seen."""

    # How images are segmented, their features extracted and put on the scale of the training run.
    settings: Settings
    extractor: FeatureExtractor
    standardiser: Standardiser
    arrays: dict[str, np.ndarray]  # everything stored; see `write_model`
    drawing: Drawing  # how masks are drawn
    extent: int = 2  # level of the nested selections at which images are predicted

    def restore(self) -> Scorer:
        """Scores of segments never seen: by the stored vote, or by another voter fitted again on the segments."""
        arrays, table = self.arrays, self._make_table()
        params = make_params(self.settings)
        params = replace(params, n_neighbors=min(params.n_neighbors, len(table)))  # a model may ask for any number
        if self.settings.voter == METHOD:
            return Scorer(_unpack_vote(table, params, _select(arrays, "method"), arrays["user_labels"]))
        voter = make_voter(self.settings.voter, self.settings.voter_options, self.settings.finish)
        voter.fit(table.X, table.is_candidate, bags=table.images, prior=arrays["prior"])
        return Scorer(vote_by_scores(table, voter.scores_, params), voter)

    def calibrate(self, scorer: Scorer) -> Calibration:
        """What scores mean for an image; a *without* image with a user label object has it."""
        arrays, bags = self.arrays, self.arrays["bags"]
        positive = arrays["positive"].astype(bool)
        scores = arrays.get("method.held_out")
        if scores is None:
            X = arrays["X"].astype(np.float32)
            votes = score_by_refits(self.settings, X, positive, bags, arrays["prior"], arrays["user_labels"])
            found = scorer.vote
            scores = score_images(found.table.smooth(votes, found.params.smoothing), bags)
        marked = np.zeros(len(positive), dtype=bool)
        marked[bags[arrays["user_labels"] == 1]] = True
        return calibrate(scores, positive | marked)

    def _make_table(self) -> SegmentTable:
        arrays = self.arrays
        contrasts = np.where(arrays["contrasts"] < 0, np.nan, arrays["contrasts"])
        places = Geometry(edges=arrays["edges"], lengths=arrays["lengths"], contrasts=contrasts, prior=arrays["prior"])
        X, positive = arrays["X"].astype(np.float32), arrays["positive"].astype(bool)
        return make_table(X, positive, arrays["bags"].astype(np.int64), places)


@dataclass(frozen=True)
class Scorer:
    """Scores segments never seen, before smoothing; above 0 means object.

    Attributes
    ----------
    vote : Vote
        On the training segments.
    voter : BaseVoter, optional
        The voter that scores in the place of the method.
    """

    vote: Vote
    voter: BaseVoter | None = None

    def score(self, X: np.ndarray) -> tuple[np.ndarray, sparse.csr_matrix]:
        """(n,) scores of segments (n, d), and (n, n_training) the votes of training segments, if the method votes."""
        if self.voter is not None:
            return self.voter.decision_function(X), sparse.csr_matrix((len(X), len(self.vote.table)))
        graph = link_unseen(self.vote, X)
        return score_linked(self.vote, X, graph), graph

    def smooth(self, scores: np.ndarray, adjacency: sparse.csr_matrix) -> np.ndarray:
        """Scores (n,) of an image's segments with those of their adjacent segments, see `weigh_adjacent`."""
        return smooth_along(adjacency, scores, self.vote.params.smoothing)


def _unpack_vote(
    table: SegmentTable, params: VoteParams, state: dict[str, np.ndarray], user_labels: np.ndarray
) -> Vote:
    """A vote that scores segments never seen, from what `_pack_vote` gave."""
    nothing, images, labels = np.zeros(len(table)), np.zeros(table.n_images), state["labels"].astype(bool)
    return Vote(
        table=table,
        params=params,
        graph=sparse.csr_matrix((len(table), len(table))),
        connectivity=nothing,
        user_labels=user_labels,
        agreement=None,
        excluded=state["excluded"].astype(bool),
        suspicion=images,
        labels=labels,
        inside=float(state["inside"][0]),
        posterior=LinearPosterior(state["direction"], float(state["offset"][0])),
        threshold=float(state["threshold"][0]),
        votes=nothing,
        scores=nothing,
        thresholds=images,
        selected=labels,
        uncertainty=images,
        empty=images > 0,
    )


def read_model(path: Path | str) -> Model:
    """Open the model of a run: its ``model`` folder, wherever it lies now, or the run folder."""
    folder = _find_model(Path(path))
    record = _read_record(folder / "model.json")
    arrays = _unpack(_read_arrays(folder / "model.safetensors", record.sha256))
    _check_arrays(arrays, folder)
    try:
        settings = read_settings(record.settings, folder / "model.json")
        standardiser = Standardiser.from_state(_select(arrays, "standardiser"))
    except (TypeError, ValueError, KeyError) as error:
        raise DamagedFileError(f"{folder} is not a whole model ({error}); annotate again") from error
    extractor = make_features(settings.features, **settings.feature_options)
    if format_json(extractor.get_key()) != format_json(record.features):
        raise BadInputError(
            f"{folder} was learned with other features than {settings.features!r} gives here; "
            "install the same version, or put the same network where it was"
        )
    extractor.set_state(_select(arrays, "features"))
    return Model(settings, extractor, standardiser, arrays, read_drawing(folder), record.extent)


def _select(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name.split(".", 1)[1]: array for name, array in arrays.items() if name.startswith(f"{prefix}.")}


def _find_model(path: Path) -> Path:
    for folder in (path / "model", path):
        if (folder / "model.json").is_file():
            return folder
    raise BadInputError(f"no model in {path}; give the -o folder of a finished `segvote annotate`, or its model folder")


class _Version(Struct):
    """What all versions of ``model.json`` have."""

    version: int


class _ModelRecord(_Version, forbid_unknown_fields=True):
    """The content of ``model.json``."""

    settings: dict[str, Any]
    features: Any  # key of the extractor
    extent: Annotated[int, Meta(ge=1, le=N_LEVELS)]
    sha256: str = ""  # of the arrays


def _read_record(path: Path) -> _ModelRecord:
    data, advice = read_json(path), "annotate again"
    found = convert_record(data, _Version, path, advice=advice).version
    if found != MODEL_VERSION:
        advice = "install a newer segvote" if found > MODEL_VERSION else advice
        raise BadInputError(f"{path} has version {found}, this segvote reads {MODEL_VERSION}; {advice}")
    return convert_record(data, _ModelRecord, path, advice=advice)


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _read_arrays(path: Path, sha256: str) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        with open_regular(path) as file:
            # What lies on the disk is read, whatever its size; a file of holes may claim any.
            check_budget(os.fstat(file.fileno()).st_size, path, at_least=measure_on_disk(path))
            data = file.read()
        if sha256 and sha256 != _sum(data):
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
        "labels": (n_segments,),
        "excluded": (n_bags,),
        "inside": (1,),
        "threshold": (1,),
        "direction": (n_dims,),
        "offset": (1,),
        "held_out": (n_bags,),
    }
    return not state or {name: array.shape for name, array in state.items()} == shapes
