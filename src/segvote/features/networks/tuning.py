"""Fine-tuning on bag labels only, the paper's step for YouTube-Objects: the last block of a torch network is trained.

Needs the optional extra ``segvote[torch]``; nothing else of segvote imports torch. A tuned network, exported with
``torch.onnx.export``, goes to ``--features FILE.onnx``. Without torch the voter `walk-adapted` is the linear stand-in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from segvote.errors import BadInputError, MissingPartError

if TYPE_CHECKING:
    import torch

BATCH = 16


def tune_last_block(
    network: torch.nn.Module,
    images: np.ndarray,
    labels: np.ndarray,
    *,
    n_epochs: int = 10,
    rate: float = 1e-3,
    seed: int = 0,
) -> list[float]:
    """Train the last block of a network to tell *with* images from *without* images; all other weights stay.

    A linear head on the mean of the last map is trained along and thrown away. Both folders weigh the same. Layers that
    are not trained, their batch statistics included, stay as they are.

    Parameters
    ----------
    network : torch.nn.Module
        From (n, 3, h, w) images to (n, c, h', w') maps; changed in place. Its last block is the last of its children
        that has parameters.
    images : (n, 3, h, w) float32
        Scaled as the network wants them.
    labels : (n,) bool
        The image is in the *with* folder.
    n_epochs : int
        Passes over all images.
    rate : float
        Step size of Adam.
    seed : int
        Of the head and of the order of images.

    Returns
    -------
    list of float
        Mean loss of each pass.
    """
    torch = _import_torch()
    labels = np.asarray(labels, dtype=bool)
    if len(images) != len(labels) or labels.all() or not labels.any():
        raise BadInputError(
            f"expected one label per image, of both folders; got {len(images)} images and {labels.sum()} of "
            f"{len(labels)} labels *with*"
        )
    block, order = find_last_block(network), np.random.default_rng(seed)
    pixels = torch.from_numpy(np.asarray(images, dtype=np.float32))
    targets = torch.from_numpy(labels.astype(np.float32))
    network.eval()
    network.requires_grad_(False)
    block.requires_grad_(True)
    head = _make_head(torch, network, pixels[:1], seed)
    optimiser = torch.optim.Adam([*block.parameters(), *head.parameters()], lr=rate)
    balance = torch.tensor(float((~labels).sum() / labels.sum()))
    measure = torch.nn.BCEWithLogitsLoss(pos_weight=balance)
    losses = []
    for _ in range(n_epochs):
        batches = np.array_split(order.permutation(len(labels)), -(-len(labels) // BATCH))
        steps = [_take_step(network, head, optimiser, measure, pixels[rows], targets[rows]) for rows in batches]
        losses.append(float(np.mean(steps)))
    return losses


def find_last_block(network: torch.nn.Module) -> torch.nn.Module:
    """The last child with parameters."""
    blocks = [child for child in network.children() if any(True for _ in child.parameters())]
    if len(blocks) < 2:
        raise BadInputError(
            f"expected a network of at least two blocks with weights, got {len(blocks)}; nothing to freeze"
        )
    return blocks[-1]


def _make_head(torch: Any, network: Any, example: Any, seed: int) -> Any:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        n_channels = network(example).shape[1]
        head = torch.nn.Linear(n_channels, 1)
        head.weight.normal_(0, n_channels**-0.5, generator=generator)
        head.bias.zero_()
    return head


def _take_step(network: Any, head: Any, optimiser: Any, measure: Any, pixels: Any, targets: Any) -> float:
    optimiser.zero_grad()
    loss = measure(head(network(pixels).mean(dim=(2, 3)))[:, 0], targets)
    loss.backward()
    optimiser.step()
    return float(loss.detach())


def _import_torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingPartError("fine-tuning needs torch; install segvote[torch], or take voter walk-adapted") from error
    return torch
