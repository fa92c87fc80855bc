"""The model of a run as files: safetensors for arrays, JSON for settings, no pickle.

Features take a byte for each number; see `pack`.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from msgspec import Meta, Struct

from segvote.errors import BadInputError, DamagedFileError
from segvote.io.files import open_regular, write_bytes
from segvote.io.tables import convert_record, read_json, write_json
from segvote.limits import check_budget, measure_on_disk
from segvote.method.extents import N_EXTENTS
from segvote.run.record import MODEL_VERSION
from segvote.run.run_folder import RunFolder
from segvote.settings import Settings, read_settings

STEPS = 127  # of int8, on either side of zero
ROWS_AT_ONCE = 16_384


@dataclass(frozen=True)
class StoredModel:
    """The content of a model folder."""

    folder: Path
    settings: Settings
    features: Any  # key of the extractor of features
    extent: int  # of the nested selections, at which images are predicted
    arrays: dict[str, np.ndarray]  # as written, and the features *X* (n_segments, d) float32


def write_model_file(
    run: RunFolder, X: np.ndarray, arrays: dict[str, np.ndarray], settings: Settings, features: Any, extent: int
) -> None:
    """Write ``model.safetensors`` and ``model.json`` into the run's ``model`` folder; see `StoredModel`."""
    from safetensors.numpy import save

    codes, scales = pack(X)
    data, folder = save({"codes": codes, "scales": scales, **arrays}), run.model_path
    write_bytes(folder / "model.safetensors", data)
    record = _ModelRecord(MODEL_VERSION, settings.to_dict(), features, extent, hashlib.sha256(data).hexdigest())
    write_json(folder / "model.json", record)


def write_model_extent(run: RunFolder, extent: int) -> None:
    """Set the extent at which the model of a run predicts."""
    path = run.model_path / "model.json"
    write_json(path, {**read_json(path), "extent": extent})


def read_model_file(path: Path | str) -> StoredModel:
    """Read the model of a run folder, or of a (copied) ``model`` folder."""
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
    except (TypeError, ValueError, KeyError) as error:
        raise DamagedFileError(f"{folder} is not a whole model ({error}); annotate again") from error
    return StoredModel(folder, settings, record.features, record.extent, arrays)


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


def add_prefix(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The arrays with a prefix and a dot before their names."""
    return {f"{prefix}.{name}": np.ascontiguousarray(array) for name, array in arrays.items()}


def select_arrays(arrays: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The arrays whose names begin with a prefix and a dot, without it."""
    return {name.split(".", 1)[1]: array for name, array in arrays.items() if name.startswith(f"{prefix}.")}


class _ModelRecord(Struct, forbid_unknown_fields=True):
    """The content of ``model.json``."""

    version: int
    settings: dict[str, Any]
    features: Any  # key of the extractor
    extent: Annotated[int, Meta(ge=1, le=N_EXTENTS)]
    sha256: str  # of the arrays


def _read_record(path: Path) -> _ModelRecord:
    data, advice = read_json(path), "annotate again"
    version = data.get("version") if isinstance(data, dict) else None
    if isinstance(version, int) and version != MODEL_VERSION:
        advice = "install a newer segvote" if version > MODEL_VERSION else advice
        raise BadInputError(f"{path} has version {version}, this segvote reads {MODEL_VERSION}; {advice}")
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
