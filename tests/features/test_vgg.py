import json
import pickle

import numpy as np
import pytest
import skimage.data
from safetensors.numpy import save_file
from torch_writer import make_file

from segvote.errors import BadInputError, DamagedFileError, MissingPartError
from segvote.features import make_features
from segvote.features.networks.network import make_session
from segvote.features.networks.vgg import REPEATS, Vgg19Features, build_vgg, list_vgg_shapes, read_vgg_weights
from segvote.features.networks.weights import list_weights

LABELS = np.arange(12).reshape(3, 4).repeat(10, axis=0).repeat(10, axis=1)


def make_layers(name):
    """Random weights that keep the size of the signal (He 2015)."""
    rng = np.random.default_rng(0)
    return [
        (
            rng.standard_normal(shape, np.float32) * np.float32(np.sqrt(2 / np.prod(shape[1:]))),
            rng.standard_normal(shape[0], np.float32) / 10,
        )
        for shape in list_vgg_shapes(name).values()
    ]


@pytest.fixture(scope="module")
def layers():
    return make_layers("vgg19")


PARTS = ("weight", "bias")


def name_layers(layers):
    pairs = zip(list_vgg_shapes("vgg19"), layers, strict=True)
    return {f"{name}.{part}": array for name, layer in pairs for part, array in zip(PARTS, layer, strict=True)}


@pytest.fixture(scope="module")
def weight_file(layers, tmp_path_factory):
    path = tmp_path_factory.mktemp("vgg19") / "vgg19.safetensors"
    save_file(name_layers(layers), path)
    return path


def run_slowly(name, layers, image):
    """A plain forward pass: convolution as a sum over nine shifts, ReLU, and the maximum of 2 x 2."""
    kept, remaining = [], iter(layers)
    for stage, repeats in enumerate(REPEATS[name]):
        if stage:
            height, width = image.shape[1] // 2, image.shape[2] // 2
            image = image[:, : 2 * height, : 2 * width].reshape(-1, height, 2, width, 2).max(axis=(2, 4))
        for _ in range(repeats):
            kernel, bias = next(remaining)
            padded = np.pad(image, ((0, 0), (1, 1), (1, 1)))
            _, height, width = image.shape
            total = bias[:, None, None] + sum(
                np.tensordot(kernel[:, :, i, j], padded[:, i : i + height, j : j + width], 1)
                for i, j in np.ndindex(3, 3)
            )
            image = np.maximum(total, 0)
        kept.append(image)
    return kept[2:]


def compare_with_plain_pass(name, layers, image):
    maps = make_session(build_vgg(name, layers)).run(None, {"image": image})
    assert [cells.shape[1:] for cells in maps] == [(256, 8, 12), (512, 4, 6), (512, 2, 3)]
    for cells, expected in zip(maps, run_slowly(name, layers, image[0]), strict=True):
        np.testing.assert_allclose(cells[0], expected, atol=1e-4 * expected.max())


@pytest.mark.parametrize("name", list(REPEATS))
def test_maps_equal_a_plain_forward_pass(name):
    image = np.random.default_rng(1).standard_normal((1, 3, 32, 48), np.float32)
    compare_with_plain_pass(name, make_layers(name), image)


def test_names_are_those_of_torchvision():
    places = {name: [int(one.split(".")[1]) for one in list_vgg_shapes(name)] for name in REPEATS}
    assert places["vgg16"] == [0, 2, 5, 7, 10, 12, 14, 17, 19, 21, 24, 26, 28]
    assert places["vgg19"] == [0, 2, 5, 7, 10, 12, 14, 16, 19, 21, 23, 25, 28, 30, 32, 34]


def test_a_segment_has_1280_numbers(weight_file):
    extractor = Vgg19Features(weight_file, size=32)
    features = extractor.extract(skimage.data.chelsea(), LABELS)
    assert features.shape == (12, 1280)
    assert extractor.blocks == (256, 512, 512)
    copy = pickle.loads(pickle.dumps(extractor))  # noqa: S301 - what a process pool does
    np.testing.assert_array_equal(copy.extract(skimage.data.chelsea(), LABELS), features)
    assert json.loads(json.dumps(extractor.get_key()))["size"] == 32
    image = np.zeros((100, 200, 3), np.uint8)
    assert extractor._prepare(image).shape == (1, 3, 32, 32)
    assert Vgg19Features(weight_file, size=448, square=False)._prepare(image).shape == (1, 3, 224, 448)


def test_torch_files_give_the_same_weights(layers, tmp_path):
    (tmp_path / "a.pth").write_bytes(make_file(name_layers(layers)))
    for (kernel, bias), (expected, expected_bias) in zip(
        read_vgg_weights("vgg19", tmp_path / "a.pth"), layers, strict=True
    ):
        np.testing.assert_array_equal(kernel, expected)
        np.testing.assert_array_equal(bias, expected_bias)


def test_a_missing_name_and_a_wrong_shape_are_named(layers, tmp_path):
    state = name_layers(layers)
    path = tmp_path / "vgg.safetensors"
    save_file({**state, "features.34.bias": np.zeros(5, np.float32)}, path)
    with pytest.raises(BadInputError, match=r"features\.34\.bias of shape \(512,\), got \(5,\)"):
        read_vgg_weights("vgg19", path)
    save_file({name: array for name, array in state.items() if name != "features.16.weight"}, path)
    with pytest.raises(BadInputError, match=r"with features\.16\.weight"):
        read_vgg_weights("vgg19", path)
    save_file({**state, "features.0.bias": np.full(64, np.nan, np.float32)}, path)
    with pytest.raises(DamagedFileError, match="finite"):
        read_vgg_weights("vgg19", path)


def test_absent_weights_say_which_file_and_where(monkeypatch, weight_file):
    monkeypatch.delenv("SEGVOTE_VGG19", raising=False)
    with pytest.raises(MissingPartError, match=r"vgg19-dcbb9e9d\.pth.*download\.pytorch\.org.*SEGVOTE_VGG19"):
        make_features("vgg19")
    with pytest.raises(MissingPartError, match="no file nowhere"):
        make_features("vgg19", weights="nowhere")
    monkeypatch.setenv("SEGVOTE_VGG19", str(weight_file))
    assert make_features("vgg19").path == str(weight_file)


# The package segvote-vgg16 --------------------------------------------------------------------------------------------

is_installed = pytest.mark.skipif(
    not any(one.name == "vgg16" for one in list_weights()), reason="segvote-vgg16 is not installed"
)


def test_absent_package_is_one_line(monkeypatch):
    monkeypatch.setattr("segvote.features.networks.weights.entry_points", lambda group: [])
    with pytest.raises(MissingPartError, match=r"segvote-vgg16.*pip install 'segvote\[vgg\]'"):
        make_features("vgg16")
    with pytest.raises(MissingPartError, match="found no file"):
        make_features("vgg16", weights="nowhere")


@is_installed
def test_installed_vgg16_equals_a_plain_forward_pass():
    extractor = make_features("vgg16", size=48)
    image = extractor._prepare(skimage.data.chelsea())[:, :, :32]
    compare_with_plain_pass("vgg16", read_vgg_weights("vgg16", extractor.path), image)


@is_installed
def test_installed_vgg16_tells_photographs_apart():
    """Two halves of one photograph are nearer to each other than to those of another: the weights are trained."""
    extractor, features = make_features("vgg16"), []
    for picture in (skimage.data.chelsea(), skimage.data.coffee(), skimage.data.rocket()):
        halves = np.zeros(picture.shape[:2], int)
        halves[:, picture.shape[1] // 2 :] = 1
        features.extend(extractor.extract(picture, halves)[:, 256:])
    unit = np.array(features) / np.linalg.norm(features, axis=1, keepdims=True)
    similar = unit @ unit.T - 2 * np.eye(len(unit))
    assert similar.argmax(axis=1).tolist() == [1, 0, 3, 2, 5, 4]
