"""Made encoders and decoders of a promptable network, whose answers are known."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from segvote.features.networks import sam

POINTS = {
    "image_embeddings": [1, 3, 64, 64],
    "point_coords": [1, "n", 2],
    "point_labels": [1, "n"],
    "mask_input": [1, 1, 256, 256],
    "has_mask_input": [1],
    "orig_im_size": [2],
}


def save(path, nodes, inputs, outputs, weights=()):
    """Write an ONNX model of floats; inputs and outputs are names with shapes."""
    values = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in some.items()]
        for some in (inputs, outputs)
    ]
    stored = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights]
    graph = helper.make_graph(nodes, "made", *values, stored)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return path


def make_encoder(path, rank=4, side=64):
    """The means of squares: three channels on SAM's grid of 64 x 64."""
    squares = [1024 // side] * 2
    pool = helper.make_node("AveragePool", ["x"], ["out"], kernel_shape=squares, strides=squares)
    if rank == 4:
        pool.input[0] = "image"
        return save(path, [pool], {"image": [1, 3, 1024, 1024]}, {"out": [1, 3, side, side]})
    nodes = [
        helper.make_node("Transpose", ["image"], ["t"], perm=[2, 0, 1]),
        helper.make_node("Unsqueeze", ["t", "axes"], ["u"]),
        helper.make_node("Sub", ["u", "mean"], ["x"]),
        pool,
    ]
    mean = np.array(sam.MEAN, np.float32).reshape(1, 3, 1, 1)
    shapes = {"image": ["h", "w", 3]}, {"out": [1, 3, "a", "b"]}
    return save(path, nodes, *shapes, [("axes", np.array([0])), ("mean", mean)])


def make_levels(path):
    """Answers with the red pixels, the magenta ones, the red ones again, and everything, as one of four masks."""
    nodes = [
        helper.make_node("Conv", ["image_embeddings", "weight", "bias"], ["small"]),
        helper.make_node("Resize", ["small", "", "", "sizes"], ["all_masks"], mode="nearest"),
        helper.make_node("Slice", ["all_masks", "start", "end", "axis"], ["low_res_masks"]),
    ]
    red, magenta = (1, -1, 0), (0, -1, 1)
    weights = [
        ("weight", np.array([red, magenta, red, (0, 0, 0)], np.float32).reshape(4, 3, 1, 1)),
        ("bias", np.array([-0.5, -0.5, -0.5, 1], np.float32)),
        ("sizes", np.array([1, 4, 256, 256])),
        *((name, np.array([number])) for name, number in (("start", 0), ("end", 1), ("axis", 1))),
    ]
    return save(path, nodes, POINTS, {"low_res_masks": [1, 1, 256, 256], "all_masks": [1, 4, 256, 256]}, weights)


def make_decoder(path, kind="red", inputs=POINTS):
    """Answers with the red pixels, with the mask of the prompt or with everything; two masks, the first is empty."""
    nodes = {
        "red": [
            helper.make_node("Conv", ["image_embeddings", "weight", "bias"], ["small"]),
            helper.make_node("Resize", ["small", "", "", "sizes"], ["one"], mode="nearest"),
        ],
        "prompt": [helper.make_node("Identity", ["mask_input"], ["one"])],
        "all": [helper.make_node("Abs", ["mask_input"], ["one"])],
    }[kind]
    nodes.append(helper.make_node("Concat", ["nothing", "one"], ["low_res_masks"], axis=1))
    weights = [
        ("weight", np.array([1, -1, 0], np.float32).reshape(1, 3, 1, 1)),
        ("bias", np.array([-0.5], np.float32)),
        ("sizes", np.array([1, 1, 256, 256])),
        ("nothing", np.full((1, 1, 256, 256), -1, np.float32)),
    ]
    return save(path, nodes, inputs, {"low_res_masks": [1, 2, 256, 256]}, weights)
