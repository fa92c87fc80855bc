"""Fit the numbers of the gpb segmenter to human boundaries: ``python benchmarks/fit_gpb.py BSDS_FOLDER [-o gpb.json]``.

The folder holds ``images/NAME.jpg`` and ``groundTruth/NAME.mat`` as BSDS500 publishes them. Three things are fitted in
turn: textons by k-means of filter responses; weights of the contrasts, by logistic regression on pixels that people
drew against pixels far from any line; weights of contrasts and spectral steps, by logistic regression on arcs, whose
target is the part of the people who put the two sides into different segments.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import faiss
import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from scipy import ndimage
from scipy.io import loadmat
from sklearn.linear_model import LogisticRegression

from segvote.errors import BadInputError
from segvote.kernels.pixels import convert_to_lab
from segvote.segmentation import gpb
from segvote.segmentation.arcs import average_along
from segvote.segmentation.cues import N_FILTERS, filter_texture

N_TEXTONS = 32
N_CONTRASTS = 15
N_NEAR, N_FAR = 2000, 4000  # pixels of each image
NEAR, FAR = 2.0, 4.0  # pixels from a line that count as on it, and as off it


def list_names(folder: Path) -> list[str]:
    return sorted(path.stem for path in (folder / "images").glob("*.jpg"))


def read_image(folder: Path, name: str) -> np.ndarray:
    return np.asarray(Image.open(folder / "images" / f"{name}.jpg").convert("RGB"))


def read_truths(folder: Path, name: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Label maps and boundaries that people drew, one of each per person."""
    people = loadmat(folder / "groundTruth" / f"{name}.mat")["groundTruth"][0]
    labels = [person["Segmentation"][0, 0].astype(np.int64) for person in people]
    return labels, [person["Boundaries"][0, 0].astype(bool) for person in people]


def count_overlaps(labels: ArrayLike, truth: ArrayLike) -> NDArray[np.int64]:
    """Pixels that each segment shares with each region of the truth.

    Parameters
    ----------
    labels, truth
        (h, w) non-negative integers.

    Returns
    -------
    (n_segments, n_truth) counts; numbers that do not occur give empty rows and columns.
    """
    labels, truth = np.asarray(labels), np.asarray(truth)
    if labels.shape != truth.shape:
        raise BadInputError(f"expected two label maps of one shape, got {labels.shape} and {truth.shape}; resize one")
    n_segments, n_truth = int(labels.max()) + 1, int(truth.max()) + 1
    keys = labels.ravel().astype(np.int64) * n_truth + truth.ravel()
    return np.bincount(keys, minlength=n_segments * n_truth).reshape(n_segments, n_truth)


def fit_model(folder: Path, names: Sequence[str], origin: str = "") -> gpb.GpbModel:
    """All three fits on the named images."""
    textons = fit_textons(folder, names)
    pixel_weights, pixel_bias = fit_pixels(folder, names, textons)
    half = gpb.GpbModel(textons, pixel_weights, pixel_bias, np.zeros(N_CONTRASTS + 2), 0.0)
    arc_weights, arc_bias = fit_arcs(folder, names, half)
    return gpb.GpbModel(textons, pixel_weights, pixel_bias, arc_weights, arc_bias, origin)


def fit_textons(folder: Path, names: Sequence[str], n_pixels: int = 2000) -> np.ndarray:
    rng = np.random.default_rng(0)
    samples = []
    for name in names:
        lightness = np.ascontiguousarray(convert_to_lab(read_image(folder, name))[..., 0])
        samples.append(rng.choice(filter_texture(lightness).reshape(-1, N_FILTERS), n_pixels, replace=False))
    kmeans = faiss.Kmeans(N_FILTERS, N_TEXTONS, niter=20, seed=1)
    kmeans.train(np.concatenate(samples).astype(np.float32))
    return kmeans.centroids


def fit_pixels(folder: Path, names: Sequence[str], textons: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights of contrasts; the direction of each sample is the strongest under the weights of the round before."""
    rng = np.random.default_rng(0)
    samples = [sample_pixels(folder, name, textons, rng) for name in names]
    contrasts = np.concatenate([sample[0] for sample in samples], axis=1)  # (8, n, 15)
    targets, weights = (np.concatenate([sample[k] for sample in samples]) for k in (1, 2))
    slopes = 1 / contrasts.std(axis=(0, 1))
    for _ in range(2):
        strongest = (contrasts @ slopes).argmax(axis=0)
        slopes, bias = fit_logistic(contrasts[strongest, np.arange(len(targets))], targets, weights)
    return slopes, bias


def sample_pixels(
    folder: Path, name: str, textons: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Contrasts (8, n, 15), targets and weights (n,) of pixels on and off lines; a line weighs what people agree."""
    distances = np.stack([ndimage.distance_transform_edt(~drawn) for drawn in read_truths(folder, name)[1]])
    on, off = np.argwhere((distances == 0).any(axis=0)), np.argwhere((distances > FAR).all(axis=0))
    on, off = (rng.permutation(places)[:count] for places, count in ((on, N_NEAR), (off, N_FAR)))
    agreement = (distances <= NEAR).mean(axis=0)[tuple(on.T)]
    rows, columns = np.concatenate([on, off]).T
    found = gpb.measure_contrasts(read_image(folder, name), textons)
    contrasts = np.stack([found.weigh(unit)[:, rows, columns] for unit in np.eye(N_CONTRASTS)], axis=-1)
    targets = np.repeat([1.0, 0.0], [len(on), len(off)])
    return contrasts, targets, np.concatenate([agreement, np.ones(len(off))])


def fit_arcs(folder: Path, names: Sequence[str], model: gpb.GpbModel) -> tuple[np.ndarray, float]:
    samples = [sample_arcs(folder, name, model) for name in names]
    values, targets, lengths = (np.concatenate([sample[k] for sample in samples]) for k in range(3))
    return fit_logistic(values, targets, lengths)


def sample_arcs(folder: Path, name: str, model: gpb.GpbModel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Contrasts and steps (n, 17), part of the people who separate the two sides (n,), and lengths (n,) of all arcs."""
    found = gpb.measure_contrasts(read_image(folder, name), model.textons)
    odds = gpb.smooth_along(found.weigh(model.pixel_weights) + np.float32(model.pixel_bias))
    steps = gpb.measure_spectral(odds)
    basins, arcs, strongest = gpb.find_boundaries(odds, steps)
    maps = [found.weigh(unit) for unit in np.eye(N_CONTRASTS)]
    maps += [gpb.enlarge(steps, basins.shape), gpb.enlarge(np.sqrt(steps), basins.shape)]
    values = np.stack([average_along(arcs, plane, strongest) for plane in maps], axis=1)
    owners = [count_overlaps(basins, truth).argmax(axis=1)[arcs.pairs] for truth in read_truths(folder, name)[0]]
    separated = np.mean([owner[:, 0] != owner[:, 1] for owner in owners], axis=0)
    return values, separated, arcs.lengths


def fit_logistic(values: np.ndarray, targets: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Logistic regression with targets in 0 .. 1: each sample counts for both answers, by its target."""
    spread = values.std(axis=0)
    doubled = np.concatenate([values, values]) / spread
    answers = np.repeat([1, 0], len(targets))
    shares = np.concatenate([weights * targets, weights * (1 - targets)])
    fitted = LogisticRegression(max_iter=1000).fit(doubled, answers, sample_weight=shares)
    return fitted.coef_[0] / spread, float(fitted.intercept_[0])


def format_model(model: gpb.GpbModel) -> str:
    """Model as JSON, six digits a number."""
    stored: dict[str, object] = {"origin": model.origin}
    for field in ("textons", "pixel_weights", "pixel_bias", "arc_weights", "arc_bias"):
        values = np.asarray(getattr(model, field), np.float64)
        stored[field] = json.loads(json.dumps(np.vectorize(lambda value: float(f"{value:.6g}"))(values).tolist()))
    return json.dumps(stored, indent=None, separators=(",", ":")).replace('],"', '],\n"').replace("],[", "],\n[") + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--output", type=Path, help="write here instead of printing")
    parser.add_argument("--limit", type=int, help="use only so many images")
    arguments = parser.parse_args()
    names = list_names(arguments.folder)[: arguments.limit]
    origin = (
        f"benchmarks/fit_gpb.py on {len(names)} images of BSDS500 val and the human segmentations that come with them"
    )
    text = format_model(fit_model(arguments.folder, names, origin))
    if arguments.output:
        arguments.output.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
