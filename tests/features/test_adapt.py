"""Fine-tuning on image labels, on a tiny network; run by `make test-torch`."""

import os

import numpy as np
import pytest

from segvote.errors import BadInputError, DamagedFileError
from segvote.features.networks.adapt import adapt_network, read_graph, run_nodes
from segvote.features.networks.lite0 import Lite0Features
from segvote.features.networks.network import make_session
from segvote.features.networks.onnx_graph import GraphBuilder, replace_weights

if not os.environ.get("SEGVOTE_NEED_TORCH"):
    pytest.importorskip("torch")

SIDE = 16


def make_network(seed=0):
    """Two maps of three layers, of the kinds that lite0 and the VGGs have."""
    rng, graph = np.random.default_rng(seed), GraphBuilder()

    def draw(*shape):
        return rng.standard_normal(shape, np.float32) / np.float32(np.sqrt(np.prod(shape[1:])))

    limits = [graph.store(np.float32(one)) for one in (0, 6)]
    same = {"auto_pad": "SAME_UPPER"}
    first = graph.add("Clip", [graph.convolve("image", draw(4, 3, 3, 3), draw(4), strides=[2, 2], **same), *limits])
    deep = graph.add("Relu", [graph.convolve(first, draw(4, 1, 3, 3), draw(4), group=4, pads=[1, 1, 1, 1])])
    pooled = graph.add("MaxPool", [graph.add("Add", [deep, first])], kernel_shape=[2, 2], strides=[2, 2])
    return graph.build([first, graph.convolve(pooled, draw(5, 4, 1, 1), draw(5))])


def make_samples(count=12):
    """Noise; images with the object have more red at the top."""
    rng = np.random.default_rng(0)
    for number in range(count):
        image = rng.standard_normal((1, 3, SIDE, SIDE), np.float32)
        image[:, 0, :4] += number % 2
        yield image, bool(number % 2)


@pytest.fixture(scope="module")
def network():
    return make_network()


@pytest.fixture(scope="module")
def adapted(network):
    return adapt_network(network, make_samples(), n_epochs=4, rate=1e-2)


def measure_loss(network, head_steps=200):
    """Log-loss of a linear head on the mean of the last map, fitted by plain gradient descent."""
    session = make_session(network)
    means = np.array([session.run(None, {"image": image})[-1].mean(axis=(2, 3))[0] for image, _ in make_samples()])
    labels, head = np.array([label for _, label in make_samples()], float), np.zeros(means.shape[1] + 1)
    X = np.column_stack([means, np.ones(len(means))])
    for _ in range(head_steps):
        head -= X.T @ (1 / (1 + np.exp(-X @ head)) - labels) / len(labels)
    logits = X @ head
    return float(np.mean(np.log1p(np.exp(-np.where(labels > 0, logits, -logits)))))


@pytest.mark.parametrize("name", ["tiny", "lite0"])
def test_torch_computes_what_the_onnx_model_computes(name, network):
    import torch

    model = network if name == "tiny" else Lite0Features(size=64).build_network()
    graph, image = read_graph(model), next(make_samples())[0].repeat(4, axis=2).repeat(4, axis=3)[:, :, :64, :64]
    values = {**{key: torch.from_numpy(array.copy()) for key, array in graph.weights.items()}}
    values["image"] = torch.from_numpy(image)
    with torch.no_grad():
        run_nodes(torch, graph.nodes, values)
    expected = make_session(model).run(None, {"image": image})[-1]
    np.testing.assert_allclose(values[graph.output].numpy(), expected, atol=1e-4)


def test_adaptation_lowers_the_loss(network, adapted):
    assert measure_loss(replace_weights(network, adapted)) < measure_loss(network) - 0.02


def test_early_layers_stay(network, adapted):
    graph = read_graph(network)
    trained = [name for node in graph.nodes[graph.start :] if node[0] == "Conv" for name in node[1][1:]]
    assert list(adapted) == trained and 0 < len(trained) < len(graph.weights)
    sessions = make_session(network), make_session(replace_weights(network, adapted))
    image = next(make_samples())[0]
    before, after = (session.run(None, {"image": image}) for session in sessions)
    np.testing.assert_array_equal(before[0], after[0])
    assert not np.allclose(before[1], after[1])


def test_the_first_step_is_adams(network):
    """With its moments at zero Adam moves every number by the step size, against the sign of its gradient."""
    old, new = read_graph(network).weights, adapt_network(network, make_samples(), n_epochs=1, rate=1e-3)
    assert all(np.array_equal(old[name], new[name]) for name in new)  # the head is zero: no gradient yet
    again = adapt_network(network, make_samples(), n_epochs=2, rate=1e-3)
    moved = np.concatenate([np.abs(again[name] - old[name]).ravel() for name in again])
    assert np.median(moved) == pytest.approx(1e-3 * 0.1 / (1 - 0.9**2) / np.sqrt(0.001 / (1 - 0.999**2)), rel=0.05)


def test_an_interrupted_training_continues(network):
    states, whole = [], adapt_network(network, make_samples(), n_epochs=3)
    adapt_network(network, make_samples(), n_epochs=2, keep=states.append)
    resumed = adapt_network(network, make_samples(), n_epochs=3, state=states[-1])
    assert len(states) == 2
    for name in whole:
        np.testing.assert_array_equal(whole[name], resumed[name])


def test_a_seed_gives_the_same_weights(network, adapted):
    again = adapt_network(network, make_samples(), n_epochs=4, rate=1e-2)
    assert all(np.array_equal(adapted[name], again[name]) for name in adapted)


def test_progress_reaches_its_end(network):
    reports = []
    adapt_network(network, make_samples(20), n_epochs=2, progress=lambda *report: reports.append(report))
    assert reports[0][1:] == (0, 4) and reports[-1][1:] == (4, 4)


def test_both_folders_are_needed(network):
    samples = [(image, True) for image, _ in make_samples()]
    with pytest.raises(BadInputError, match=r"both folders.*12 of 12"):
        adapt_network(network, samples)


def test_other_weights_than_those_of_the_network_are_refused(network, adapted):
    name = next(iter(adapted))
    for wrong in (adapted[name][:1], adapted[name].astype(float), adapted[name] * np.float32("nan")):
        with pytest.raises(DamagedFileError, match=f"{name}.*expected finite float32"):
            replace_weights(network, {name: wrong})
    with pytest.raises(DamagedFileError, match="'elsewhere'"):
        replace_weights(network, {"elsewhere": adapted[name]})
