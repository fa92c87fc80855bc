"""Untrusted network files: external weights are read only from files beside them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from segvote.errors import BadInputError

MAX_DEPTH = 60  # of messages within messages: a graph within a graph is four


def read_onnx(path: str) -> Any:
    """A network without the weights that lie in other files; an error is reported in one line."""
    import onnx

    try:
        return onnx.load(path, load_external_data=False)
    except Exception as error:  # protobuf and onnx raise many kinds on damaged bytes
        raise BadInputError(
            f"{path}: expected an ONNX model, the file is something else ({get_first_line(error)})"
        ) from error


def list_weight_files(path: str) -> list[Path]:
    """Files of weights, which a model names itself: refused where they lie elsewhere than beside or below it."""
    names = {
        entry.value
        for tensor in _walk_tensors(read_onnx(path))
        for entry in tensor.external_data
        if entry.key == "location"
    }
    files = [Path(path).parent / name for name in sorted(names)]
    folder = Path(path).resolve().parent
    for name, file in zip(sorted(names), files, strict=True):
        if not (file.resolve().is_relative_to(folder) and file.is_file() and ".." not in Path(name).parts):
            raise BadInputError(f"{path}: its weights {name!r:.80} are no file beside the model; do not trust it")
    return files


def _walk_tensors(message: Any, depth: int = 0) -> Iterator[Any]:
    """Every tensor of a model: weights, constants of nodes, those of graphs inside graphs and of functions."""
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
        return
    if depth > MAX_DEPTH:
        raise BadInputError(f"expected a network, got graphs within graphs {MAX_DEPTH} deep; do not trust it")
    for field, value in message.ListFields():
        if field.message_type is not None:
            # A field is one message, or a sequence of them.
            for part in [value] if hasattr(value, "DESCRIPTOR") else value:
                yield from _walk_tensors(part, depth + 1)


def get_first_line(error: Exception) -> str:
    """What an error says, without the pages that some libraries add."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
