"""Runs on adapted features: trained once, then used without torch by every command."""

import builtins
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

import segvote
from segvote.errors import BadInputError, MissingPartError
from segvote.features.networks.adapt import read_graph
from segvote.inputs.bags import Bag
from segvote.pipeline import adapt
from segvote.settings import Settings

QUICK = Settings(adapt=True, n_segments=40, size=160, feature_options={"size": 64}, voter_options={"n_neighbors": 15})


@pytest.fixture
def no_torch(monkeypatch):
    """As if torch were not installed."""
    load = builtins.__import__

    def refuse(name, *more):
        if name.split(".")[0] == "torch":
            raise ImportError(name)
        return load(name, *more)

    monkeypatch.setattr(builtins, "__import__", refuse)


@pytest.fixture(scope="module")
def calls():
    """What the training was called with."""
    return []


@pytest.fixture(scope="module")
def adapted_run(scenes, calls, tmp_path_factory):
    """A run on a copy of the scenes whose training is replaced: the last layers are halved."""

    def train(network, samples, *, seed, progress, state, keep):
        calls.append([(image.shape, label) for image, label in samples])
        graph = read_graph(network)
        return {name: graph.weights[name] * np.float32(0.5) for name in graph.trained}

    images, patch = shutil.copytree(scenes, tmp_path_factory.mktemp("adapted") / "images"), pytest.MonkeyPatch()
    patch.setattr(adapt, "adapt_network", train)
    patch.setattr(adapt, "import_torch", lambda: None)
    run = segvote.annotate(images / "with", images / "without", images.parent / "run", QUICK, n_jobs=1)
    patch.undo()
    return run


@pytest.fixture
def own(adapted_run, tmp_path):
    """A copy of the adapted run and its images, which a test may change."""
    shutil.copytree(adapted_run.folder.path.parent, tmp_path / "own")
    return tmp_path / "own"


def read_masks(folder):
    return {path.name: path.read_bytes() for path in sorted((folder / "masks").rglob("*.png"))}


def test_the_network_sees_each_image_once_with_its_label(adapted_run, calls):
    (samples,) = calls
    assert [shape for shape, _ in samples] == [(1, 3, 320, 320)] * 12
    assert [label for _, label in samples] == [True] * 6 + [False] * 6


def test_adapted_features_differ(adapted_run, scenes, tmp_path):
    usual = segvote.annotate(
        scenes / "with", scenes / "without", tmp_path / "run", replace(QUICK, adapt=False), n_jobs=1
    )
    assert [one.segments for one in usual.bags] == [one.segments for one in adapted_run.bags]
    assert not {one.features for one in usual.bags} & {one.features for one in adapted_run.bags}


def test_a_repeated_run_needs_no_torch(own, no_torch):
    run = own / "run"
    before = read_masks(run)
    for features in (run / "features").iterdir():
        features.unlink()
    next((run / "masks").rglob("*.png")).unlink()
    segvote.annotate(own / "images" / "with", own / "images" / "without", run, QUICK, n_jobs=1)
    assert read_masks(run) == before


def test_an_update_keeps_the_network(own, no_torch):
    (own / "images" / "with" / "with-002.png").unlink()
    weights = [path.read_bytes() for path in (own / "run" / "model").glob("adapted-*.npz")]
    assert len(segvote.update(own / "run", n_jobs=1)) == 11
    assert [path.read_bytes() for path in (own / "run" / "model").glob("adapted-*.npz")] == weights


def test_a_copied_model_predicts_as_the_run_does(own, scenes, no_torch, tmp_path):
    shutil.copytree(own / "run" / "model", tmp_path / "model", ignore=shutil.ignore_patterns("adapted-*"))
    one = segvote.predict(own / "run", scenes / "with", tmp_path / "one", n_jobs=1)
    other = segvote.predict(tmp_path / "model", scenes / "with", tmp_path / "other", n_jobs=1)
    assert [image.score for image in one.images] == [image.score for image in other.images]


def test_a_reopened_run_writes_the_same_model(own, no_torch):
    model = own / "run" / "model" / "model.safetensors"
    before = model.read_bytes()
    segvote.choose(own / "run", "A", n_jobs=1)
    assert model.read_bytes() == before


def test_without_torch_one_line_says_what_to_install(scenes, no_torch, tmp_path):
    with pytest.raises(MissingPartError, match=r"^--adapt .*pip install 'segvote\[torch\]'$"):
        segvote.annotate(scenes / "with", scenes / "without", tmp_path / "run", QUICK, n_jobs=1)


@pytest.mark.parametrize("features", ["color", "lite0+color", "bow"])
def test_features_without_known_layers_are_refused(features, scenes, tmp_path):
    settings = replace(QUICK, features=features, feature_options={})
    with pytest.raises(BadInputError, match=f"lite0, vgg16, vgg19, got {features.replace('+', '[+]')}"):
        segvote.annotate(scenes / "with", scenes / "without", tmp_path / "run", settings, n_jobs=1)


def test_classes_and_images_in_memory_are_refused(scenes, tmp_path):
    with pytest.raises(BadInputError, match="expected two folders with --adapt"):
        segvote.annotate_classes(scenes, tmp_path / "run", QUICK)
    images = [np.full((32, 32, 3), value, np.uint8) for value in (0, 200)]
    with pytest.raises(BadInputError, match="expected folders with adapt"):
        segvote.annotate_images(images[:1], images[1:], QUICK)


def test_few_of_many_images_are_evenly_spread(monkeypatch):
    monkeypatch.setattr(adapt, "N_IMAGES", 3)
    bags = [Bag(f"{kind}/{number}", kind, None, "") for kind in ("with", "without") for number in range(9)]
    assert [bag.name for bag in adapt.choose_bags(bags)] == [
        f"{kind}/{n}" for kind in ("with", "without") for n in (0, 3, 6)
    ]


# With torch -----------------------------------------------------------------------------------------------------------


def test_an_interrupted_adaptation_continues(scenes, tmp_path):
    if not os.environ.get("SEGVOTE_NEED_TORCH"):
        pytest.importorskip("torch")
    folders = scenes / "with", scenes / "without"
    done = []

    def stop(step, place, total):
        done.append((step, place))
        if step == "adapt the network" and place == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        segvote.annotate(*folders, tmp_path / "run", QUICK, n_jobs=1, progress=stop)
    assert (tmp_path / "run" / "model" / "adapting.npz").is_file()
    done.clear()
    segvote.annotate(*folders, tmp_path / "run", QUICK, n_jobs=1, progress=lambda *report: done.append(report[:2]))
    assert min(place for step, place in done if step == "adapt the network") >= 4
    assert not (tmp_path / "run" / "model" / "adapting.npz").exists()
    segvote.annotate(*folders, tmp_path / "whole", QUICK, n_jobs=1)
    one, other = ([*(tmp_path / name / "model").glob("adapted-*")] for name in ("run", "whole"))
    assert one[0].name == other[0].name and one[0].read_bytes() == other[0].read_bytes()
