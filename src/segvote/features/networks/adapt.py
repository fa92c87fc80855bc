"""Fine-tuning on image labels: the last layers of a network learn which images show the object. Needs torch.

The paper's step for YouTube-Objects, without any mask. The layers up to the last map but one stay as they are and see
each image once; those behind it are trained by Adam with a linear head on the mean of the last map, which is discarded
at the end. On one thread with deterministic algorithms, so that a seed gives the same weights. Training can be
interrupted after every epoch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from segvote.errors import BadInputError, MissingPartError
from segvote.progress import Progress, ignore_progress

N_EPOCHS = 10
BATCH = 16
RATE = 1e-4  # of the network
HEAD_RATE = 1e-2
BETAS, EPSILON = (0.9, 0.999), 1e-8  # of Adam
HEAD = ("head.weight", "head.bias")
MOMENTS = ("mean.", "square.")  # of the gradients, before the names of weights
EPOCH = "epoch"

Weights = dict[str, np.ndarray]


def import_torch() -> Any:
    """Torch, or one line that says what to install."""
    try:
        import torch
    except ImportError as error:
        raise MissingPartError(
            "--adapt trains a network and needs torch, which is not installed: pip install 'segvote[torch]'"
        ) from error
    return torch


def adapt_network(
    network: bytes,
    samples: Iterable[tuple[np.ndarray, bool]],
    *,
    n_epochs: int = N_EPOCHS,
    rate: float = RATE,
    seed: int = 0,
    progress: Progress = ignore_progress,
    state: Mapping[str, np.ndarray] | None = None,
    keep: Callable[[Weights], None] | None = None,
) -> Weights:
    """Train the last layers of a network to tell *with* images from *without* images; both count the same.

    Parameters
    ----------
    network : bytes
        An ONNX model of `segvote.features.networks.onnx_graph`.
    samples : iterable of (ndarray of shape (1, 3, h, w) float32, bool)
        Inputs of the network, all of one size, and whether they show the object; read once.
    n_epochs, rate, seed : int, float, int
        Passes over the images, step size of Adam, seed of the order of images.
    progress : callable
        Called with step, done and total.
    state : mapping of str to ndarray or None
        What `keep` was given last by an interrupted call with the same arguments, which is continued.
    keep : callable or None
        Called with the state after every epoch.

    Returns
    -------
    dict of str to ndarray
        The new weights by their names in the network; see `segvote.features.networks.onnx_graph.replace_weights`.
    """
    torch, graph = import_torch(), read_graph(network)
    with _run_reproducibly(torch):
        maps, targets = _run_frozen(torch, graph, samples)
        training = _Training(torch, graph, maps, targets, rate)
        training.set_state(state or {})
        while training.epoch < n_epochs:
            training.run_epoch(np.random.default_rng([seed, training.epoch]), n_epochs, progress)
            if keep is not None:
                keep(training.get_state())
    return {name: training.weights[name].detach().numpy().copy() for name in graph.trained}


@dataclass(frozen=True)
class Graph:
    """A network as a list of nodes, the first of which are frozen."""

    nodes: list[tuple[str, list[str], str, dict[str, Any]]]  # kind, inputs, output, attributes
    weights: Weights
    start: int  # place of the first trained node
    output: str  # the last map

    @property
    def source(self) -> str:
        """The value from which the trained nodes start."""
        return self.nodes[self.start][1][0]

    @property
    def trained(self) -> list[str]:
        """Names of kernels and biases that are trained."""
        return [name for kind, sources, *_ in self.nodes[self.start :] if kind == "Conv" for name in sources[1:]]


def read_graph(network: bytes) -> Graph:
    """Take an ONNX model apart; the layers behind the last output but one are those that are trained."""
    import onnx

    graph = onnx.load_model_from_string(network).graph
    nodes = [
        (
            node.op_type,
            list(node.input),
            node.output[0],
            {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute},
        )
        for node in graph.node
    ]
    outputs = [one.name for one in graph.output]
    last_frozen = next(place for place, node in enumerate(nodes) if node[2] == outputs[-2])
    start = next(place for place, node in enumerate(nodes) if place > last_frozen and node[0] == "Conv")
    return Graph(nodes, {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}, start, outputs[-1])


def run_nodes(torch: Any, nodes: Iterable[tuple[str, list[str], str, dict[str, Any]]], values: dict[str, Any]) -> None:
    """Compute nodes in their order; `values` holds their inputs and gets their outputs."""
    for kind, sources, output, attributes in nodes:
        values[output] = KINDS[kind](torch.nn.functional, *(values[name] for name in sources), **attributes)


def _convolve(
    F: Any,
    value: Any,
    kernel: Any,
    bias: Any,
    strides: tuple[int, ...] = (1, 1),
    pads: tuple[int, ...] = (0, 0, 0, 0),
    group: int = 1,
    auto_pad: bytes = b"NOTSET",
) -> Any:
    if auto_pad == b"SAME_UPPER":
        needed = [
            max((-(-side // step) - 1) * step + width - side, 0)
            for side, step, width in zip(value.shape[2:], strides, kernel.shape[2:], strict=True)
        ]
        pads = (needed[0] // 2, needed[1] // 2, -(-needed[0] // 2), -(-needed[1] // 2))
    top, left, bottom, right = pads
    return F.conv2d(F.pad(value, (left, right, top, bottom)), kernel, bias, stride=tuple(strides), groups=group)


KINDS: dict[str, Callable[..., Any]] = {
    "Add": lambda F, a, b: a + b,
    "Clip": lambda F, value, low, high: value.clamp(float(low), float(high)),
    "Conv": _convolve,
    "MaxPool": lambda F, value, kernel_shape, strides: F.max_pool2d(value, tuple(kernel_shape), tuple(strides)),
    "Relu": lambda F, value: F.relu(value),
}


def _run_frozen(torch: Any, graph: Graph, samples: Iterable[tuple[np.ndarray, bool]]) -> tuple[Any, Any]:
    """(n_images, c, h, w): what the trained nodes start from; (n_images,) 1 where the object is, 0 elsewhere."""
    maps, labels = [], []
    weights = {name: torch.from_numpy(array.copy()) for name, array in graph.weights.items()}
    for image, label in samples:
        values = {**weights, "image": torch.from_numpy(image)}
        with torch.no_grad():
            run_nodes(torch, graph.nodes[: graph.start], values)
        maps.append(values[graph.source])
        labels.append(float(label))
    if len(set(labels)) < 2:
        raise BadInputError(f"expected images of both folders to adapt to, got {sum(labels):.0f} of {len(labels)} with")
    return torch.cat(maps), torch.tensor(labels)


class _Training:
    """Weights, their moments (Adam, Kingma and Ba 2015) and the number of epochs that are done."""

    def __init__(self, torch: Any, graph: Graph, maps: Any, targets: Any, rate: float) -> None:
        self.torch, self.graph, self.maps, self.targets, self.rate = torch, graph, maps, targets, rate
        self.fixed = {name: torch.from_numpy(array.copy()) for name, array in graph.weights.items()}
        n_channels = len(graph.weights[graph.trained[-2]])
        self.weights = {name: self.fixed[name] for name in graph.trained}
        self.weights |= {HEAD[0]: torch.zeros(n_channels), HEAD[1]: torch.zeros(())}
        self.moments = {
            f"{one}{name}": torch.zeros_like(self.weights[name]) for one in MOMENTS for name in self.weights
        }
        self.epoch = 0

    def get_state(self) -> Weights:
        tensors = {name: value.detach().numpy().copy() for name, value in {**self.weights, **self.moments}.items()}
        return {**tensors, EPOCH: np.array(self.epoch)}

    def set_state(self, state: Mapping[str, np.ndarray]) -> None:
        if not state:
            return
        for known in (self.weights, self.moments):
            known.update({name: self.torch.from_numpy(state[name].copy()) for name in known})
        self.epoch = int(state[EPOCH])

    def run_epoch(self, rng: np.random.Generator, n_epochs: int, progress: Progress) -> None:
        """One pass over all images in an order of its own."""
        n_images, step = len(self.targets), "adapt the network"
        n_batches = -(-n_images // BATCH)
        for number, rows in enumerate(np.array_split(rng.permutation(n_images), n_batches)):
            progress(step, self.epoch * n_batches + number, n_epochs * n_batches)
            self._take_step(self.torch.from_numpy(rows), self.epoch * n_batches + number + 1)
        self.epoch += 1
        progress(step, self.epoch * n_batches, n_epochs * n_batches)

    def _take_step(self, rows: Any, number: int) -> None:
        names = list(self.weights)
        leaves = {name: self.weights[name].detach().requires_grad_() for name in names}
        gradients = self.torch.autograd.grad(self._measure_loss(leaves, rows), [leaves[name] for name in names])
        for name, gradient in zip(names, gradients, strict=True):
            self._move(name, gradient, number)

    def _measure_loss(self, weights: Mapping[str, Any], rows: Any) -> Any:
        """Log-loss, in which both folders have the same weight."""
        values = {**self.fixed, **weights, self.graph.source: self.maps[rows]}
        run_nodes(self.torch, self.graph.nodes[self.graph.start :], values)
        logits = values[self.graph.output].mean(dim=(2, 3)) @ weights[HEAD[0]] + weights[HEAD[1]]
        share = self.targets.mean()
        importance = self.torch.where(self.targets[rows] > 0, 0.5 / share, 0.5 / (1 - share))
        measure = self.torch.nn.functional.binary_cross_entropy_with_logits
        return measure(logits, self.targets[rows], weight=importance)

    def _move(self, name: str, gradient: Any, number: int) -> None:
        mean, square = (self.moments[f"{one}{name}"] for one in MOMENTS)
        mean.mul_(BETAS[0]).add_(gradient, alpha=1 - BETAS[0])
        square.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        corrected = [value / (1 - beta**number) for value, beta in zip((mean, square), BETAS, strict=True)]
        rate = HEAD_RATE if name in HEAD else self.rate
        self.weights[name] = self.weights[name] - rate * corrected[0] / (corrected[1].sqrt() + EPSILON)


@contextlib.contextmanager
def _run_reproducibly(torch: Any) -> Iterator[None]:
    """One thread and deterministic algorithms; afterwards as before."""
    n_threads, was_on = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.set_num_threads(n_threads)
        torch.use_deterministic_algorithms(was_on)
