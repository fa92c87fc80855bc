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
from segvote.features.networks.backbone import USUAL_STRIDE, BackboneFeatures, explain_errors
from segvote.features.networks.devices import CPU, choose_device
from segvote.features.networks.network import IMAGENET_MEAN, IMAGENET_STD, NetworkFeatures, hash_files

FILES = ("*.json", "*.safetensors")
NEEDS_TORCH = "hf: features need transformers and torch; pip install 'segvote[torch]'"


class HuggingFaceFeatures(BackboneFeatures):
    """Last hidden state of a vision backbone (DINOv2, DINOv3, ViT, ConvNeXt, …), pooled over segments.

    Parameters
    ----------
    path : str
        A folder with ``config.json`` and safetensors, or a name such as ``facebook/dinov2-small``.
    size : int
        Longest side of the input in pixels.
    mean, std : sequence of float or None
        As for `BackboneFeatures`; None: those of the model's ``preprocessor_config.json``, or ImageNet's.
    pooling : str
        ``mean`` or ``max`` over the cells of a segment.
    device : str
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
        folder = find_model(path)
        processor = _read_json(folder / "preprocessor_config.json")
        mean = mean or processor.get("image_mean") or IMAGENET_MEAN
        std = std or processor.get("image_std") or IMAGENET_STD
        self._set_options(str(folder), size, mean, std, pooling)
        self.multiple = _find_patch(_read_json(folder / "config.json"))
        self.device = choose_device(device, is_torch=True)

    def _name_model(self) -> dict[str, Any]:
        files = sorted(file for pattern in FILES for file in Path(self.path).glob(pattern))
        return {"name": "hf", "model": hash_files(files), "weights": "torch"}

    def _open_model(self) -> Any:
        try:
            import torch
            from transformers import AutoModel
        except ImportError as error:
            raise MissingPartError(NEEDS_TORCH) from error
        torch.set_num_threads(1)  # the pipeline works on several images at once instead
        with explain_errors(f"{self.path}: transformers cannot open the model"):
            model = AutoModel.from_pretrained(
                self.path, local_files_only=True, trust_remote_code=False, use_safetensors=True, dtype=torch.float32
            )
        # The vision half of a model for images and texts.
        return getattr(model, "vision_model", model).eval().to(self.device)

    def _choose_sides(self, height: int, width: int) -> tuple[int, int]:
        return NetworkFeatures._choose_sides(self, height, width)

    def _run(self, session: Any, prepared: np.ndarray) -> list[np.ndarray]:
        import torch

        # Position embeddings of other sizes are interpolated; DINO does so without being asked.
        asks = "interpolate_pos_encoding" in inspect.signature(session.forward).parameters
        options = {"interpolate_pos_encoding": True} if asks else {}
        with torch.inference_mode():
            answer = session(pixel_values=torch.from_numpy(prepared).to(self.device), **options)
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
        raise MissingPartError(NEEDS_TORCH) from error
    try:
        return snapshot_download(name, allow_patterns=list(FILES), local_files_only=local_files_only)
    except Exception as error:  # the hub has a dozen kinds
        advice = "give a folder, or --allow-download" if local_files_only else "check the name and the network"
        raise BadInputError(
            f"{name}: no such folder, and no model of that name in the cache of Hugging Face; {advice}"
        ) from error


def _read_json(path: Path) -> dict[str, Any]:
    with explain_errors(f"{path}: expected JSON, fetch the model again"):
        content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return content if isinstance(content, dict) else {}


def _find_patch(config: dict[str, Any]) -> int:
    """Side of a patch in pixels; 32 for models without patches, and for those that merge them (Swin)."""
    vision = config.get("vision_config") or config
    patch = vision.get("patch_size")
    return patch if isinstance(patch, int) and patch >= 1 and "depths" not in vision else USUAL_STRIDE
