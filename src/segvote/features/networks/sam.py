"""Masks redrawn by a promptable network: SAM or MobileSAM, an encoder and a decoder as ONNX files.

The pair is that of the package ``segvote-mobile-sam`` (``mobile-sam``) or the user's own (``sam:ENCODER,DECODER``).

Each region of a mask becomes a prompt: the places of highest heat in it and of lowest heat around it as points, its
box, and the region itself as a mask. The network's mask replaces the region only where the two agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np

from segvote.errors import BadInputError
from segvote.features.networks.backbone import explain_errors, hash_model, open_model
from segvote.features.networks.devices import CPU, choose_device
from segvote.features.networks.weights import find_weights

SAM, MOBILE_SAM = "sam:", "mobile-sam"
SIDE, GRID = 1024, 256  # pixels of the network's input, and cells of its low-resolution masks, a side
# Mean and deviation of red, green and blue, 0 to 255; encoders that take (height, width, 3) do this themselves.
MEAN, STD = (123.675, 116.28, 103.53), (58.395, 57.12, 57.375)
DECODER_INPUTS = {"image_embeddings", "point_coords", "point_labels", "mask_input", "has_mask_input", "orig_im_size"}
SMALL_MASKS = "low_res_masks"  # output of the decoder
# Intersection over union with the vote's region above which the network's mask replaces it.
MIN_AGREEMENT = 0.6
N_INSIDE, N_OUTSIDE = 3, 2  # points of a prompt
APART = 0.25  # least distance of two points, in sides of the region
# Regions that are prompts: the largest ones, of at least this number of cells.
MAX_REGIONS, MIN_CELLS = 64, 16
INSIDE, OUTSIDE, TOP_LEFT, BOTTOM_RIGHT = 1, 0, 2, 3  # labels of points, as SAM numbers them
LOGIT = 8.0  # of a mask as prompt: a cell is certain, on either side of 0


class Prompt(NamedTuple):
    """A region as the decoder takes it."""

    points: np.ndarray  # (n, 2) x and y in pixels of the input
    labels: np.ndarray  # (n,)
    cells: np.ndarray  # (h, w) bool on the grid, without the padding


class Sam:
    """Encoder and decoder, opened.

    Parameters
    ----------
    refine : str
        ``mobile-sam`` or ``sam:ENCODER.onnx,DECODER.onnx``.
    device : str
        A name of `segvote.features.networks.devices.DEVICES`.
    """

    def __init__(self, refine: str, device: str = CPU) -> None:
        paths, device = list_files(refine), choose_device(device)
        self.encoder, self.decoder = (open_model(str(path), device) for path in paths)
        _check_inputs(paths, self.encoder.get_inputs(), self.decoder.get_inputs())
        _check_pair(paths, self.encoder.get_outputs(), self.decoder.get_inputs())

    def embed(self, picture: np.ndarray) -> np.ndarray:
        """(1, n_channels, 64, 64) float16: the embedding of a picture (H, W, 3) uint8, by far the slowest step."""
        return _embed(self.encoder, picture.tobytes(), picture.shape)

    def refine(self, mask: np.ndarray, heat: np.ndarray, embedding: np.ndarray) -> np.ndarray:
        """(h, w) bool: a mask (h, w) with the regions redrawn on which the network agrees.

        Heat (h', w') may have another size; `embedding` is that of the picture.
        """
        _, parts, stats, _ = cv2.connectedComponentsWithStats(mask.astype(np.uint8), connectivity=8)
        sides = fit_sides(mask.shape, GRID)
        redrawn = mask.copy()
        areas = stats[1:, cv2.CC_STAT_AREA]
        for part in np.argsort(-areas, kind="stable")[:MAX_REGIONS]:
            region = parts == part + 1
            cells = _shrink(region, sides)
            if areas[part] >= MIN_CELLS * mask.size / GRID**2 and cells.any():
                prompt = make_prompt(cells, _shrink(mask, sides), cv2.resize(heat.astype(np.float32), sides[::-1]))
                found = choose_mask(self.answer(embedding, prompt, mask.shape), region)
                redrawn = redrawn if found is None else (redrawn & ~region) | found
        return redrawn

    def answer(self, embedding: np.ndarray, prompt: Prompt, shape: tuple[int, ...]) -> np.ndarray:
        """(n, *shape) bool: the masks that the decoder gives for a prompt."""
        grid = np.full((GRID, GRID), -LOGIT, np.float32)
        grid[: prompt.cells.shape[0], : prompt.cells.shape[1]][prompt.cells] = LOGIT
        small = self.decode(embedding, prompt.points, prompt.labels, shape, SMALL_MASKS, grid)
        return np.stack([enlarge(one, shape) for one in small])

    def decode(
        self,
        embedding: np.ndarray,
        points: np.ndarray,
        labels: np.ndarray,
        shape: tuple[int, ...],
        output: str = SMALL_MASKS,
        grid: np.ndarray | None = None,
    ) -> np.ndarray:
        """(n, GRID, GRID) float32: the logits of an output of the decoder, masks at low resolution.

        Points (n, 2) are x and y in pixels of the input, `labels` (n,) as SAM numbers them; `grid` are logits of a mask
        as prompt, `shape` that of the picture.
        """
        inputs = {
            "image_embeddings": embedding.astype(np.float32),
            "point_coords": points[None].astype(np.float32),
            "point_labels": labels[None].astype(np.float32),
            "mask_input": np.zeros((1, 1, GRID, GRID), np.float32) if grid is None else grid[None, None],
            "has_mask_input": np.array([grid is not None], np.float32),
            "orig_im_size": np.array(shape, np.float32),
        }
        # Exports often cut the large masks to the ratio of the image they were traced with; the small ones are whole.
        with explain_errors("the decoder of the refiner failed, export both files anew"):
            (small,) = self.decoder.run([output], inputs)
        return np.asarray(small[0])


def enlarge(logits: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """(*shape) bool: a mask of the decoder, (GRID, GRID) logits, at the size of the picture."""
    height, width = fit_sides(shape, SIDE)
    return _resize(_resize(logits, (SIDE, SIDE))[:height, :width], shape) > 0


def list_files(refine: str) -> tuple[Path, Path]:
    """Encoder and decoder of ``mobile-sam`` or ``sam:ENCODER.onnx,DECODER.onnx``."""
    if refine == MOBILE_SAM:
        decoder, encoder = find_weights(MOBILE_SAM)
        return encoder, decoder
    names = refine.removeprefix(SAM).split(",")
    if not refine.startswith(SAM) or len(names) != 2 or not all(names):
        raise BadInputError(f"expected a refiner as {MOBILE_SAM} or sam:ENCODER.onnx,DECODER.onnx, got {refine!r:.80}")
    encoder, decoder = (Path(name.strip()) for name in names)
    for path in (encoder, decoder):
        if not path.is_file():
            raise BadInputError(f"expected an ONNX file of the refiner at {path}, found no file; check the path")
    return encoder, decoder


def name_files(refine: str) -> str:
    """The refiner by a name that holds in every folder: ``mobile-sam``, or ``sam:`` and the full paths."""
    paths = list_files(refine)
    return refine if refine == MOBILE_SAM else SAM + ",".join(str(path.resolve()) for path in paths)


def hash_refiner(refine: str) -> str:
    """SHA-256 of both files and their weights."""
    return "+".join(hash_model(str(file)) for file in list_files(refine))


def open_sam(refine: str, sha256: str, device: str = CPU) -> Sam:
    """The refiner of a run, if its files are those that the run was drawn with; the last ones stay open."""
    check_refiner(refine, sha256)
    return _open(refine, sha256, device)


def check_refiner(refine: str, sha256: str) -> None:
    """Reject a refiner whose files are missing, or not those that a run was drawn with."""
    if hash_refiner(refine) != sha256:
        raise BadInputError(f"the files of {refine} are not those of the run; put them back, or annotate again")


@lru_cache(maxsize=2)
def _open(refine: str, sha256: str, device: str) -> Sam:
    return Sam(refine, device)


def make_prompt(cells: np.ndarray, mask: np.ndarray, heat: np.ndarray) -> Prompt:
    """Ask for one region (h, w) bool of a mask (h, w) bool on the grid, with heat (h, w)."""
    rows, columns = (np.flatnonzero(cells.any(axis=axis)) for axis in (1, 0))
    top, bottom, left, right = rows[0], rows[-1] + 1, columns[0], columns[-1] + 1
    height, width = bottom - top, right - left
    around = np.zeros_like(cells)
    around[max(top - height // 2, 0) : bottom + height // 2, max(left - width // 2, 0) : right + width // 2] = True
    apart = APART * max(height, width)
    inside = pick_places(heat, cells, N_INSIDE, apart)
    outside = pick_places(-heat, around & ~mask, N_OUTSIDE, apart)
    box = np.array([(left, top), (right, bottom)])
    labels = [INSIDE] * len(inside) + [OUTSIDE] * len(outside) + [TOP_LEFT, BOTTOM_RIGHT]
    points = np.concatenate([inside + 0.5, outside + 0.5, box])
    return Prompt(points * (SIDE / GRID), np.array(labels), cells)


def pick_places(scores: np.ndarray, allowed: np.ndarray, n_places: int, apart: float) -> np.ndarray:
    """(n, 2) x and y of the highest scores (h, w) among the allowed cells, no two nearer than `apart`.

    Of equal scores the cell deepest inside comes first: segments have one score each.
    """
    depth = cv2.distanceTransform(np.pad(allowed, 1).astype(np.uint8), cv2.DIST_L2, 3)[1:-1, 1:-1]
    order = np.lexsort((-depth[allowed], -scores[allowed]))
    candidates, places = np.argwhere(allowed)[order][:, ::-1], np.zeros((0, 2))
    while len(candidates) and len(places) < n_places:
        places = np.vstack([places, candidates[:1]])
        candidates = candidates[np.hypot(*(candidates - candidates[0]).T) > apart]
    return places


def choose_mask(masks: np.ndarray, region: np.ndarray) -> np.ndarray | None:
    """The mask of (n, h, w) bool that overlaps a region (h, w) bool most; None where none agrees with it."""
    agreements = [(mask & region).sum() / max((mask | region).sum(), 1) for mask in masks]
    best = int(np.argmax(agreements))
    return masks[best] if agreements[best] > MIN_AGREEMENT else None


def fit_sides(shape: Sequence[int], side: int) -> tuple[int, int]:
    """(height, width) in the ratio of a shape, the longer one `side`, rounded as SAM does."""
    scale = side / max(shape)
    return max(int(shape[0] * scale + 0.5), 1), max(int(shape[1] * scale + 0.5), 1)


def _shrink(mask: np.ndarray, sides: tuple[int, int]) -> np.ndarray:
    return cv2.resize(mask.astype(np.float32), sides[::-1], interpolation=cv2.INTER_AREA) >= 0.5


def _resize(logits: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    return cv2.resize(np.ascontiguousarray(logits, np.float32), (shape[1], shape[0]))


@lru_cache(maxsize=4)  # the page redraws an image after each click
def _embed(encoder: Any, pixels: bytes, shape: tuple[int, ...]) -> np.ndarray:
    picture = np.frombuffer(pixels, np.uint8).reshape(shape)
    height, width = fit_sides(shape[:2], SIDE)
    image: np.ndarray = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA).astype(np.float32)
    wanted = encoder.get_inputs()[0]
    if len(wanted.shape) == 4:
        scaled = (image - np.array(MEAN, np.float32)) / np.array(STD, np.float32)
        image = np.pad(scaled, ((0, SIDE - height), (0, SIDE - width), (0, 0))).transpose(2, 0, 1)[None]
    with explain_errors("the encoder of the refiner failed, export both files anew"):
        (embedding,) = encoder.run(None, {wanted.name: np.ascontiguousarray(image)})[:1]
    return embedding.astype(np.float16)  # half the size in the run folder; stored and new ones are equal


def _check_inputs(paths: Sequence[Path], image: Sequence[Any], prompt: Sequence[Any]) -> None:
    shapes = [list(one.shape) for one in image]
    is_image = len(shapes) == 1 and (len(shapes[0]) == 4 or shapes[0][2:] == [3])
    if not is_image or image[0].type != "tensor(float)":
        found = "; ".join(f"{one.name:.40} {one.shape} {one.type}" for one in image) or "none"
        wanted = f"one input of floats, (1, 3, {SIDE}, {SIDE}) or (height, width, 3)"
        raise BadInputError(f"{paths[0]}: expected {wanted}, the encoder takes {found}; export SAM's image encoder")
    names = {one.name for one in prompt}
    if names != DECODER_INPUTS:
        raise BadInputError(
            f"{paths[1]}: expected the inputs {', '.join(sorted(DECODER_INPUTS))}, the decoder takes "
            f"{', '.join(sorted(names)):.160}; export it with SAM's or MobileSAM's export_onnx_model.py"
        )


def _check_pair(paths: Sequence[Path], embeddings: Sequence[Any], prompt: Sequence[Any]) -> None:
    """Refuse an encoder and a decoder of different networks, where the files declare the shapes."""
    given, wanted = embeddings[0].shape, next(one.shape for one in prompt if one.name == "image_embeddings")
    known = [
        (one, other)
        for one, other in zip(given, wanted, strict=False)
        if isinstance(one, int) and isinstance(other, int)
    ]
    if len(given) != len(wanted) or any(one != other for one, other in known):
        raise BadInputError(
            f"{paths[0]} gives embeddings {given}, {paths[1]} takes {wanted}; give a pair of one network"
        )
