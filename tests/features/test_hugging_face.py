"""Backbones by transformers and torch: tiny ones with random weights, saved to disk; run by `make test-torch`."""

import os
import pickle
from dataclasses import replace

import numpy as np
import pytest

from segvote import annotate, predict
from segvote.errors import BadInputError
from segvote.features import make_features
from segvote.features.networks.backbone import BackboneFeatures
from segvote.pipeline.opening import reopen
from segvote.settings import Settings

if not os.environ.get("SEGVOTE_NEED_TORCH"):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")

pytestmark = pytest.mark.filterwarnings("ignore")  # theirs are not ours to mend
os.environ["HF_HUB_OFFLINE"] = "1"
TINY = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
KINDS = {
    "Dinov2": {**TINY, "patch_size": 14, "image_size": 56},
    "Dinov2WithRegisters": {**TINY, "patch_size": 14, "image_size": 56, "num_register_tokens": 4},
    "DINOv3ViT": {**TINY, "patch_size": 16, "image_size": 64, "num_register_tokens": 4},
    "ViT": {**TINY, "patch_size": 16, "image_size": 64},
    "ConvNext": {"depths": [1, 1, 1, 1], "hidden_sizes": [4, 8, 8, 16]},
}
EXTRA = {"Dinov2": 1, "Dinov2WithRegisters": 5, "DINOv3ViT": 5, "ViT": 1}


@pytest.fixture(scope="module")
def save_model(tmp_path_factory):
    """Function that writes a tiny model of a kind and returns its folder and the model."""

    def save(kind):
        import torch
        import transformers

        torch.manual_seed(0)
        config = getattr(transformers, f"{kind}Config")(**KINDS[kind])
        model = getattr(transformers, f"{kind}Model")(config).eval()
        folder = tmp_path_factory.mktemp(kind)
        model.save_pretrained(folder)
        return folder, model

    return save


@pytest.fixture
def image():
    return np.random.default_rng(0).integers(0, 256, (60, 80, 3), dtype=np.uint8)


@pytest.mark.parametrize("kind", EXTRA)
def test_tokens_without_class_and_registers_are_the_map(save_model, image, kind):
    import torch

    folder, model = save_model(kind)
    patch = KINDS[kind]["patch_size"]
    features = make_features(f"hf:{folder}", size=8 * patch)
    (cells,) = features.compute_maps(image)
    assert cells.shape == (16, 6, 8)
    options = {"interpolate_pos_encoding": True} if kind == "ViT" else {}
    with torch.inference_mode():
        tokens = model(torch.from_numpy(features._prepare(image)), **options).last_hidden_state[0]
    assert len(tokens) == 48 + EXTRA[kind]
    np.testing.assert_allclose(cells.reshape(16, -1).T, tokens[EXTRA[kind] :], atol=1e-5)


def test_a_convolutional_network_gives_its_map(save_model, image):
    (cells,) = make_features(f"hf:{save_model('ConvNext')[0]}", size=128).compute_maps(image)
    assert cells.shape == (16, 3, 4)


@pytest.mark.parametrize("kind", EXTRA)
def test_the_same_model_as_onnx_gives_the_same_features(save_model, image, kind, tmp_path):
    """The recipe of docs/features.md."""
    import torch

    folder, model = save_model(kind)
    side = 6 * KINDS[kind]["patch_size"]

    class Tokens(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, image):
            options = {"interpolate_pos_encoding": True} if kind == "ViT" else {}
            return self.model(pixel_values=image, **options).last_hidden_state

    torch.onnx.export(Tokens(), (torch.zeros(1, 3, side, side),), tmp_path / "model.onnx", input_names=["image"])
    square = image[:, :60]
    labels = np.arange(16).reshape(4, 4).repeat(15, 0).repeat(15, 1)
    by_onnx = BackboneFeatures(tmp_path / "model.onnx", size=side).extract(square, labels)
    by_torch = make_features(f"hf:{folder}", size=side).extract(square, labels)
    np.testing.assert_allclose(by_onnx, by_torch, atol=1e-4)


def test_copies_for_other_processes_give_the_same(save_model, image):
    features = make_features(f"hf:{save_model('Dinov2')[0]}", size=56)
    copy = pickle.loads(pickle.dumps(features))  # noqa: S301
    np.testing.assert_array_equal(copy.compute_maps(image)[0], features.compute_maps(image)[0])
    assert copy.get_key() == features.get_key()


def test_a_name_that_is_not_on_the_machine_is_not_fetched():
    with pytest.raises(BadInputError, match="--allow-download"):
        make_features("hf:nobody/no-such-model-of-segvote")


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(BadInputError, match=r"config\.json"):
        make_features(f"hf:{tmp_path}")


def test_pickled_weights_are_not_read(save_model, tmp_path):
    import torch

    _, model = save_model("Dinov2")
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(BadInputError, match="cannot open"):
        make_features(f"hf:{tmp_path}", size=56).compute_maps(np.zeros((20, 20, 3), np.uint8))


def test_a_run_is_annotated_reopened_and_predicts(save_model, scenes, tmp_path):
    settings = Settings(
        features=f"hf:{save_model('Dinov2')[0]}", n_segments=40, size=160, feature_options={"size": 112}
    )
    run = annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=2)
    assert len(reopen(run).bags) == len(run)
    again = annotate(scenes / "with", scenes / "without", tmp_path / "again", replace(settings), n_jobs=1)
    assert [bag.features for bag in again.bags] == [bag.features for bag in run.bags]
    np.testing.assert_array_equal(again.votes["scores"], run.votes["scores"])
    assert len(predict(tmp_path / "run", scenes / "with", tmp_path / "predicted", n_jobs=1).images) == 6
