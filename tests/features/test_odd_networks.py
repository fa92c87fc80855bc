"""Networks that are none, or not for images, are refused in one line; a network that gives NaN is named."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from segvote import annotate
from segvote.errors import BadInputError, SegvoteError
from segvote.features import make_features
from segvote.settings import Settings

FLOAT = TensorProto.FLOAT
ANY = helper.make_tensor_value_info("y", FLOAT, None)
IMAGE = helper.make_tensor_value_info("x", FLOAT, [1, 3, "h", "w"])
KERNEL = numpy_helper.from_array(np.ones((4, 3, 8, 8), np.float32), "w")
SEQUENCE = helper.make_sequence_type_proto(helper.make_tensor_type_proto(FLOAT, None))


def make_conv(output="y", **attributes):
    return helper.make_node("Conv", ["x", "w"], [output], **{"strides": [8, 8], **attributes})


def make_model(nodes, inputs=(IMAGE,), outputs=(ANY,), weights=(KERNEL,)):
    graph = helper.make_graph(list(nodes), "odd", list(inputs), list(outputs), list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def take(*sides):
    return [helper.make_tensor_value_info("x", FLOAT, [1, 3, *sides])]


def cut_to_nothing(axis):
    numbers = [numpy_helper.from_array(np.array([value]), name) for name, value in (("s", 0), ("e", 0), ("a", axis))]
    return make_model([make_conv("c"), helper.make_node("Slice", ["c", *"sea"], ["y"])], weights=[KERNEL, *numbers])


def convert(kind):
    output = helper.make_tensor_value_info("y", kind, None)
    return make_model([make_conv("c"), helper.make_node("Cast", ["c"], ["y"], to=kind)], outputs=[output])


def leave_strides_empty():
    node = helper.make_node("Conv", ["x", "w"], ["y"])
    node.attribute.add(name="strides", type=7)
    return make_model([node])


CONSTANT = helper.make_node("Constant", [], ["y"], value=numpy_helper.from_array(np.ones((1, 2, 3, 3), np.float32)))
REFUSED = {
    "takes nothing": make_model([CONSTANT], inputs=(), weights=()),
    "no strides": leave_strides_empty(),
    "an input of 120 GB": make_model([make_conv()], inputs=take(100_000, 100_000)),
    "an input of nothing": make_model([make_conv()], inputs=take(0, 0)),
    "gives text": convert(TensorProto.STRING),
    "gives a sequence": make_model(
        [make_conv("c"), helper.make_node("SequenceConstruct", ["c"], ["y"])],
        outputs=[helper.make_value_info("y", SEQUENCE)],
    ),
    "gives no channels": cut_to_nothing(1),
    "gives no image": cut_to_nothing(0),
    "gives one number": make_model([helper.make_node("ReduceSum", ["x"], ["y"], keepdims=0)], weights=()),
    "no operation": make_model([helper.make_node("Nothing", ["x"], ["y"])], weights=()),
    "its own input": make_model([helper.make_node("Add", ["x", "y"], ["y"])], weights=()),
    "weights cut short": make_model(
        [make_conv()], weights=[TensorProto(name="w", data_type=1, dims=[4], raw_data=b"1")]
    ),
    "weights of no kind": make_model([make_conv()], weights=[TensorProto(name="w", data_type=99, dims=[4, 3, 8, 8])]),
}
TAKEN = {
    "a stride of a billion": make_model([make_conv(strides=[10**9, 10**9])]),
    "whole numbers": convert(TensorProto.INT64),
    "no nodes": make_model([helper.make_node("Identity", ["x"], ["y"])], weights=()),
}


def extract(path):
    features = make_features(str(path))
    features.get_key()
    labels = np.repeat([[0, 1]], 40, axis=0).repeat(30, axis=1)
    return features.extract(np.full((40, 60, 3), 100, np.uint8), labels)


@pytest.mark.parametrize("kind", REFUSED)
def test_an_odd_network_is_refused_in_one_line(tmp_path, kind):
    path = tmp_path / "odd.onnx"
    path.write_bytes(REFUSED[kind].SerializeToString())
    with pytest.raises(SegvoteError, match=r"odd\.onnx") as caught:
        extract(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", TAKEN)
def test_an_odd_network_that_gives_maps_is_taken(tmp_path, kind):
    (tmp_path / "odd.onnx").write_bytes(TAKEN[kind].SerializeToString())
    assert len(extract(tmp_path / "odd.onnx")) == 2


def test_a_network_that_gives_nan_is_named_with_the_image(tmp_path, scenes):
    nodes = [make_conv("c"), helper.make_node("Sub", ["c", "c"], ["d"]), helper.make_node("Log", ["d"], ["y"])]
    (tmp_path / "nan.onnx").write_bytes(make_model(nodes).SerializeToString())
    settings = Settings(features=str(tmp_path / "nan.onnx"), n_segments=20, size=96)
    with pytest.raises(BadInputError, match=r"with/with-000\.png.*nan\.onnx.*not finite"):
        annotate(scenes / "with", scenes / "without", tmp_path / "out", settings, n_jobs=1)
