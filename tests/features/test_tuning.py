"""Fine-tuning on bag labels: a small network of random weights; the core never imports torch."""

import sys

import numpy as np
import pytest

from segvote.errors import BadInputError, MissingPartError
from segvote.features.networks.tuning import find_last_block, tune_last_block


def make_network(torch):
    torch.manual_seed(0)
    blocks = [torch.nn.Sequential(torch.nn.Conv2d(a, b, 3, padding=1), torch.nn.ReLU()) for a, b in ((3, 8), (8, 8))]
    return torch.nn.Sequential(*blocks)


@pytest.fixture
def folders():
    """Noise; *with* images have a vertical stripe."""
    rng = np.random.default_rng(0)
    images = rng.normal(size=(24, 3, 16, 16)).astype(np.float32)
    images[:12, :, :, 7:9] += 2
    return images, np.arange(24) < 12


def test_only_the_last_block_is_trained_and_the_loss_falls(folders):
    torch = pytest.importorskip("torch")
    network = make_network(torch)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    losses = tune_last_block(network, *folders, n_epochs=40, rate=1e-2)
    changed = {name for name, value in network.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"1.0.weight", "1.0.bias"}
    assert losses[-1] < 0.5 * losses[0]


def test_one_folder_or_one_block_is_refused(folders):
    torch = pytest.importorskip("torch")
    with pytest.raises(BadInputError, match="of both folders"):
        tune_last_block(make_network(torch), folders[0], np.ones(24, dtype=bool))
    with pytest.raises(BadInputError, match="at least two blocks"):
        find_last_block(torch.nn.Sequential(torch.nn.Conv2d(3, 3, 1)))


def test_without_torch_the_message_says_what_to_install(folders, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingPartError, match=r"install segvote\[torch\]"):
        tune_last_block(None, *folders)
