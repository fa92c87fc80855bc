import numpy as np
import onnx
import pytest

from segvote.errors import BadInputError
from segvote.features import make_features
from segvote.features.networks.backbone import BackboneFeatures, lay_out_tokens
from segvote.features.networks.onnx_graph import GraphBuilder

PATCH = 8


def add_patches(graph, n_channels=5):
    kernel = np.random.default_rng(0).normal(size=(n_channels, 3, PATCH, PATCH)).astype(np.float32)
    return graph.convolve("image", kernel, np.zeros(n_channels, np.float32), strides=[PATCH, PATCH])


def add_tokens(graph, n_extra):
    """Patches as (1, n, 5), as a vision transformer has them, with `n_extra` tokens of 99 in front."""
    flat = graph.add("Reshape", [add_patches(graph), graph.store(np.array([1, 5, -1]))])
    tokens = graph.add("Transpose", [flat], perm=[0, 2, 1])
    return graph.add("Concat", [graph.store(np.full((1, n_extra, 5), 99, np.float32)), tokens], axis=1)


@pytest.fixture
def map_model(tmp_path):
    graph = GraphBuilder()
    path = tmp_path / "maps.onnx"
    path.write_bytes(graph.build([add_patches(graph)]))
    return path


def make_token_model(path, n_extra):
    graph = GraphBuilder()
    path.write_bytes(graph.build([add_tokens(graph, n_extra)]))
    return path


def make_scene(height=60, width=90):
    rng = np.random.default_rng(1)
    labels = np.arange(6).reshape(2, 3).repeat(20, axis=0).repeat(20, axis=1)
    return rng.integers(0, 256, (height, width, 3)).astype(np.uint8), labels


def test_maps_are_pooled_over_segments(map_model):
    extractor = BackboneFeatures(map_model, size=48)
    features = extractor.extract(*make_scene())
    assert extractor.blocks == (5,)
    assert features.shape == (6, 5)
    cells = extractor.compute_maps(make_scene()[0])[0]
    assert cells.shape == (5, 4, 6)  # 32 x 48 pixels in patches of 8
    expected = cells.reshape(5, 2, 2, 3, 2).mean(axis=(2, 4)).reshape(5, 6).T  # a segment is 2 x 2 cells
    np.testing.assert_allclose(features, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_extra", [0, 1, 5])
def test_tokens_give_what_maps_give(map_model, n_extra, tmp_path):
    tokens = BackboneFeatures(make_token_model(tmp_path / "tokens.onnx", n_extra), size=48)
    maps = BackboneFeatures(map_model, size=48)
    np.testing.assert_allclose(tokens.extract(*make_scene()), maps.extract(*make_scene()), rtol=1e-4, atol=1e-5)


def test_tokens_that_fill_no_grid_are_refused():
    with pytest.raises(BadInputError, match="100 tokens"):
        lay_out_tokens(np.zeros((100, 2)), 48, 48)


def test_mean_and_std_are_applied(map_model):
    image, _ = make_scene()
    plain = BackboneFeatures(map_model, size=48, mean=(0, 0, 0), std=(1, 1, 1))._prepare(image)
    shifted = BackboneFeatures(map_model, size=48, mean=(0.5, 0.25, 0), std=(0.5, 1, 2))._prepare(image)
    np.testing.assert_allclose(shifted[0, 0], plain[0, 0] * 2 - 1, atol=1e-6)
    np.testing.assert_allclose(shifted[0, 2], plain[0, 2] / 2, atol=1e-6)
    assert plain.min() >= 0
    assert plain.max() <= 1


def test_a_model_of_fixed_sides_keeps_them(tmp_path):
    graph = GraphBuilder()
    model = onnx.load_from_string(graph.build([add_patches(graph)]))
    for place, side in ((2, 24), (3, 40)):
        model.graph.input[0].type.tensor_type.shape.dim[place].dim_value = side
    path = tmp_path / "fixed.onnx"
    onnx.save(model, path)
    assert BackboneFeatures(path).compute_maps(make_scene()[0])[0].shape == (5, 3, 5)


def test_outputs_that_are_no_maps_are_passed_over(tmp_path):
    graph = GraphBuilder()
    cells = add_patches(graph)
    pooled = graph.add("Flatten", [graph.add("GlobalAveragePool", [cells])])
    path = tmp_path / "two.onnx"
    path.write_bytes(graph.build([pooled, cells]))
    assert BackboneFeatures(path, size=48).blocks == (5,)
    path.write_bytes(graph.build([pooled]))
    with pytest.raises(BadInputError, match="without its pooling"):
        BackboneFeatures(path, size=48).extract(*make_scene())


def test_weights_beside_the_model_are_found_and_hashed(map_model, tmp_path):
    path = tmp_path / "large.onnx"
    onnx.save_model(onnx.load(map_model), path, save_as_external_data=True, location="large.weights", size_threshold=0)
    extractor, inside = BackboneFeatures(path, size=48), BackboneFeatures(map_model, size=48)
    np.testing.assert_array_equal(extractor.extract(*make_scene()), inside.extract(*make_scene()))
    before = extractor.get_key()
    data = bytearray((tmp_path / "large.weights").read_bytes())
    data[5] ^= 1
    (tmp_path / "large.weights").write_bytes(data)
    assert extractor.get_key() != before


def test_a_side_that_the_model_cannot_take_is_explained(map_model, tmp_path):
    graph = GraphBuilder()
    value = graph.add("Reshape", [add_patches(graph), graph.store(np.array([1, 5, 6, 6]))])
    path = tmp_path / "square.onnx"
    path.write_bytes(graph.build([value]))
    assert BackboneFeatures(path, size=48).blocks == (5,)
    with pytest.raises(BadInputError, match="size and multiple"):
        BackboneFeatures(path, size=48).extract(*make_scene())


def test_files_that_are_no_models_are_named(tmp_path):
    with pytest.raises(BadInputError, match="found no file"):
        make_features(str(tmp_path / "nothing.onnx"))
    (tmp_path / "text.onnx").write_text("hello, this is no model")
    with pytest.raises(BadInputError, match=r"text\.onnx"):
        make_features(str(tmp_path / "text.onnx")).extract(*make_scene())
