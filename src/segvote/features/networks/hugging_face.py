"""Features from a Hugging Face vision backbone, by `transformers` and torch: the extra ``[torch]``.

A model is a folder, or a name whose files are in the user's cache; nothing is downloaded unless `download_model` is
called. Weights are read from safetensors only: pickle executes code. Code that comes with a model is never run.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from segvote.errors import BadInputError, MissingPartError
from segvote.features.networks.backbone import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    USUAL_STRIDE,
    BackboneFeatures,
    get_first_line,
    hash_files,
)
from segvote.features.networks.devices import CPU, choose_device
from segvote.features.pooling import check_pooling, choose_sides, resize_image

FILES = ("*.json", "*.safetensors")
# One model per folder, device and process.
_MODELS: dict[tuple[str, str], Any] = {}


class HuggingFaceFeatures(BackboneFeatures):
    """Last hidden state of a vision backbone (DINOv2, DINOv3, ViT, ConvNeXt, …), pooled over segments.

    Parameters
    ----------
    path
        A folder with ``config.json`` and safetensors, or a name such as ``facebook/dinov2-small``.
    size
        Longest side of the input in pixels.
    mean, std
        As for `BackboneFeatures`; None: those of the model's ``preprocessor_config.json``, or ImageNet's.
    pooling
        ``mean`` or ``max`` over the cells of a segment.
    device
        ``cpu``, ``cuda`` or ``mps``.
    """

    def __init__(
        self,
        path: str,
        size: int = 448,
        mean: Sequence[float] | None = None,
        std: Sequence[float] | None = None,
        pooling: str = "mean",
        device: str = CPU,
    ) -> None:
        self.path, self.size, self.pooling = str(path), int(size), check_pooling(pooling)
        self.folder = find_model(self.path)
        processor = _read_json(self.folder / "preprocessor_config.json")
        self.mean = tuple(map(float, mean or processor.get("image_mean") or IMAGENET_MEAN))
        self.std = tuple(map(float, std or processor.get("image_std") or IMAGENET_STD))
        self.multiple = _find_patch(_read_json(self.folder / "config.json"))
        self.device = device if device == CPU else choose_device(device, is_torch=True)
        self._check()

    def _name_model(self) -> dict[str, Any]:
        files = sorted(file for pattern in FILES for file in self.folder.glob(pattern))
        return {"name": "hf", "model": hash_files(files), "weights": "torch"}

    def _get_session(self) -> Any:
        if self._session is None:
            key = (str(self.folder), self.device)
            if key not in _MODELS:
                _MODELS[key] = _load(self.folder, self.device)
            self._session = _MODELS[key]
        return self._session

    def _prepare(self, image: np.ndarray) -> np.ndarray:
        sides = choose_sides(image.shape[0], image.shape[1], self.size, self.multiple)
        unit = resize_image(image, *sides).astype(np.float32) / 255
        scaled = (unit - np.array(self.mean, np.float32)) / np.array(self.std, np.float32)
        return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None])

    def _run(self, session: Any, prepared: np.ndarray) -> list[np.ndarray]:
        import torch

        # Position embeddings of other sizes are interpolated; DINO does so without being asked.
        asks = "interpolate_pos_encoding" in inspect.signature(session.forward).parameters
        options = {"interpolate_pos_encoding": True} if asks else {}
        try:
            with torch.inference_mode():
                answer = session(pixel_values=torch.from_numpy(prepared).to(self.device), **options)
        except Exception as error:  # whatever a model of this kind raises
            raise BadInputError(
                f"{self.path}: the model does not take an input of {prepared.shape}: {get_first_line(error)}"
            ) from error
        return [answer.last_hidden_state.float().cpu().numpy()]


def find_model(name: str) -> Path:
    """The folder of a model: a path, or the snapshot of a name in the user's cache."""
    folder = Path(name).expanduser()
    if not folder.is_dir():
        folder = Path(_fetch(name, local_files_only=True))
    if not (folder / "config.json").is_file():
        raise BadInputError(f"{name}: expected a Hugging Face model, the folder has no config.json; check the path")
    return folder.resolve()


def download_model(name: str) -> Path:
    """Fetch configuration and safetensors of a model into the user's cache, unless it is a folder."""
    return Path(name) if Path(name).expanduser().is_dir() else Path(_fetch(name, local_files_only=False))


def _fetch(name: str, local_files_only: bool) -> str:
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise MissingPartError("hf: features need transformers and torch; pip install 'segvote[torch]'") from error
    try:
        return snapshot_download(name, allow_patterns=list(FILES), local_files_only=local_files_only)
    except Exception as error:  # the hub has a dozen kinds
        advice = "give a folder, or --allow-download" if local_files_only else "check the name and the network"
        raise BadInputError(
            f"{name}: no such folder, and no model of that name in the cache of Hugging Face; {advice}"
        ) from error


def _load(folder: Path, device: str) -> Any:
    try:
        import torch
        from transformers import AutoModel
    except ImportError as error:
        raise MissingPartError("hf: features need transformers and torch; pip install 'segvote[torch]'") from error
    torch.set_num_threads(1)  # the pipeline works on several images at once instead
    try:
        model = AutoModel.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, use_safetensors=True, dtype=torch.float32
        )
    except Exception as error:
        raise BadInputError(f"{folder}: transformers cannot open the model: {get_first_line(error)}") from error
    # Of a model for images and texts, the half that sees.
    return getattr(model, "vision_model", model).eval().to(device)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise BadInputError(f"{path}: expected JSON ({get_first_line(error)}); fetch the model again") from error
    return found if isinstance(found, dict) else {}


def _find_patch(config: dict[str, Any]) -> int:
    """Side of a patch in pixels; 32 for models without patches, and for those that merge them (Swin)."""
    vision = config.get("vision_config") or config
    patch = vision.get("patch_size")
    return patch if isinstance(patch, int) and patch >= 1 and "depths" not in vision else USUAL_STRIDE
