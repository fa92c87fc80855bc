"""Regions redrawn by a promptable network: made encoders and decoders whose answers are known."""

import json
import shutil
from dataclasses import replace

import cv2
import numpy as np
import pytest
from PIL import Image

from made_sam import POINTS, make_decoder, make_encoder
from segvote import annotate, annotate_images, predict
from segvote.errors import BadInputError, MissingPartError
from segvote.features.networks import sam
from segvote.features.networks.sam import Sam, hash_refiner, make_prompt, pick_places
from segvote.features.networks.weights import list_weights
from segvote.pipeline.extent import change_extent
from segvote.review.engine import Engine
from segvote.run.run import Run
from segvote.settings import Settings


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Names of refiners by what their decoder answers."""
    folder = tmp_path_factory.mktemp("models")
    encoder = make_encoder(folder / "encoder.onnx")
    return {kind: f"sam:{encoder},{make_decoder(folder / f'{kind}.onnx', kind)}" for kind in ("red", "prompt", "all")}


def make_picture(shape=(192, 256)):
    """A red box on grey, and where it is."""
    picture, truth = np.full((*shape, 3), 110, np.uint8), np.zeros(shape, bool)
    truth[48:128, 64:160] = True
    picture[truth] = (220, 30, 30)
    return picture, truth


def redraw(refine, mask, heat, picture):
    sam = Sam(refine)
    return sam.refine(mask, heat, sam.embed(picture))


def shift(mask, pixels):
    return np.roll(mask, pixels, axis=1)


@pytest.mark.parametrize("shape", [(192, 256), (256, 192), (192, 192)])
def test_agreeing_mask_replaces_the_region(models, shape):
    picture, truth = make_picture(shape)
    rough = shift(truth, 12)
    redrawn = redraw(models["red"], rough, rough.astype(float), picture)
    # A cell of the made network is four pixels of this picture.
    inner, outer = (getattr(cv2, name)(truth.astype(np.uint8), np.ones((9, 9))) > 0 for name in ("erode", "dilate"))
    assert redrawn[inner].all() and not redrawn[~outer].any()


@pytest.mark.parametrize(("kind", "pixels"), [("red", 48), ("red", 90), ("all", 0)])
def test_other_mask_leaves_the_region(models, kind, pixels):
    picture, truth = make_picture()
    rough = shift(truth, pixels)
    assert np.array_equal(redraw(models[kind], rough, rough.astype(float), picture), rough)


def test_each_region_is_judged_alone(models):
    picture, truth = make_picture()
    rough = shift(truth, 8)
    rough[150:190, 200:250] = True  # grey: no red to agree with
    redrawn = redraw(models["red"], rough, rough.astype(float), picture)
    assert redrawn[150:190, 200:250].all() and (redrawn[:140] & truth[:140]).sum() > 0.95 * truth.sum()


def test_mask_of_the_prompt_comes_back_in_its_place(models):
    picture, truth = make_picture((160, 256))
    assert np.array_equal(redraw(models["prompt"], truth, truth.astype(float), picture), truth)


def test_encoder_that_normalises_itself_gets_plain_pixels(models, tmp_path):
    picture, truth = make_picture((192, 192))
    encoder, decoder = make_encoder(tmp_path / "plain.onnx", rank=3), models["red"].split(",")[1]
    redrawn = redraw(f"sam:{encoder},{decoder}", shift(truth, 8), truth.astype(float), picture)
    assert (redrawn & truth).sum() / (redrawn | truth).sum() > 0.9


def test_points_are_the_highest_scores_apart():
    scores = np.zeros((20, 20))
    scores[5, 5], scores[5, 6], scores[15, 15], scores[2, 18] = 4, 3, 2, 5
    allowed = np.ones((20, 20), bool)
    allowed[2, 18] = False
    assert pick_places(scores, allowed, 2, 4.0).tolist() == [[5, 5], [15, 15]]
    # Of equal scores the deepest cell comes first.
    assert pick_places(np.zeros((9, 9)), np.ones((9, 9), bool), 1, 2.0).tolist() == [[4, 4]]


def test_prompt_has_points_box_and_mask():
    cells = np.zeros((192, 256), bool)
    cells[40:60, 100:140] = True
    prompt = make_prompt(cells, cells, cells.astype(float))
    inside, outside = prompt.points[prompt.labels == 1], prompt.points[prompt.labels == 0]
    assert len(inside) == 3 and len(outside) == 2
    assert all(cells[int(y / 4), int(x / 4)] for x, y in inside)
    assert not any(cells[int(y / 4), int(x / 4)] for x, y in outside)
    assert prompt.points[prompt.labels == 2].tolist() == [[400, 160]]
    assert prompt.points[prompt.labels == 3].tolist() == [[560, 240]]


def test_bad_refiners_are_refused_in_one_line(models, tmp_path):
    encoder, decoder = models["red"].removeprefix("sam:").split(",")
    few = {name: shape for name, shape in POINTS.items() if name != "orig_im_size"}
    other = make_decoder(tmp_path / "few.onnx", "red", few)
    (tmp_path / "text.onnx").write_text("no model")
    expected = {
        "mobile": "mobile-sam or sam:ENCODER.onnx,DECODER.onnx",
        f"sam:{make_encoder(tmp_path / 'other.onnx', side=32)},{decoder}": r"\[1, 3, 32, 32\].*a pair of one network",
        f"sam:{encoder}": "sam:ENCODER.onnx,DECODER.onnx",
        f"sam:{encoder},nowhere.onnx": "found no file",
        f"sam:{encoder},{tmp_path / 'text.onnx'}": "expected an ONNX model",
        f"sam:{encoder},{other}": "expected the inputs .*orig_im_size",
        f"sam:{decoder},{decoder}": "expected one input of floats",
    }
    for refine, message in expected.items():
        with pytest.raises(BadInputError, match=message) as caught:
            Sam(refine)
        assert "\n" not in str(caught.value)


# Runs -----------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def refined(models, tmp_path_factory):
    """A run whose red boxes are redrawn, and the settings; the grey margin of each box belongs to its segments."""
    folder = tmp_path_factory.mktemp("refined")
    for name in ("with", "without"):
        (folder / name).mkdir()
        for index in range(5):
            picture = np.random.default_rng([index, len(name)]).integers(100, 120, (96, 128, 3)).astype(np.uint8)
            if name == "with":
                picture[32:64, 40 + 4 * index : 88 + 4 * index] = (220, 30, 30)
            Image.fromarray(picture).save(folder / name / f"{index}.png")
    settings = Settings(features="color", n_segments=30, size=128, refine=models["red"])
    annotate(folder / "with", folder / "without", folder / "run", settings, n_jobs=1)
    return folder, settings


def test_run_records_the_refiner_and_its_hash(refined, models):
    folder, settings = refined
    run = Run(folder / "run")
    assert run.drawing.refine == settings.refine
    assert run.drawing.refine_sha256 == hash_refiner(models["red"])
    assert "Regions redrawn by red.onnx" in (folder / "run" / "report.html").read_text()


@pytest.fixture
def calls(monkeypatch):
    """Names of the calls of embed and refine, in order."""
    found = []
    for name in ("embed", "refine"):

        def count(self, *arguments, name=name, whole=getattr(Sam, name)):
            found.append(name)
            return whole(self, *arguments)

        monkeypatch.setattr(Sam, name, count)
    return found


def test_review_extent_predict_redraw_the_same_way(refined, calls):
    folder, settings = refined
    run = Run(folder / "run")
    assert np.array_equal(Engine(run).masks.draw_mask(0), run.read_mask(0)) and calls == ["refine"]
    found = predict(folder / "run", folder / "with", folder / "predicted", false_positive_rate=0.5, n_jobs=1)
    n_drawn = 1 + sum(one.contains for one in found.images)
    assert calls.count("refine") == n_drawn > 1
    change_extent(folder / "run", 3)
    assert calls.count("refine") > n_drawn
    n_drawn = calls.count("refine")
    annotate_images(*(sorted((folder / name).iterdir()) for name in ("with", "without")), settings)
    assert calls.count("refine") == n_drawn + 5


def test_embeddings_are_stored_and_used_again(refined, calls, tmp_path):
    folder, settings = refined
    run = shutil.copytree(folder / "run", tmp_path / "run")
    stored = sorted((run / "segments").glob("*.embedding-*.npz"))
    assert len(stored) == 5
    change_extent(run, 4)
    annotate(folder / "with", folder / "without", run, replace(settings, smoothing=0.2), n_jobs=1)
    assert "refine" in calls and "embed" not in calls
    stored[0].write_bytes(b"damaged")
    before = Run(run).read_mask(0)
    annotate(folder / "with", folder / "without", run, replace(settings, smoothing=0.3), n_jobs=1)
    assert calls.count("embed") == 1 and Run(run).read_mask(0).shape == before.shape


def test_embedding_is_a_step_with_progress(refined, tmp_path):
    folder, settings = refined
    steps = []
    report = lambda *state: steps.append(state)  # noqa: E731
    annotate(folder / "with", folder / "without", tmp_path / "run", settings, n_jobs=1, progress=report)
    assert [state for state in steps if state[0] == "embed images"] == [("embed images", i, 5) for i in range(6)]


def test_other_weights_are_another_run(refined, models, tmp_path):
    folder, settings = refined
    encoder, decoder = (tmp_path / name for name in ("encoder.onnx", "decoder.onnx"))
    make_encoder(encoder)
    make_decoder(decoder, "red")
    own = replace(settings, refine=f"sam:{encoder},{decoder}")
    annotate(folder / "with", folder / "without", tmp_path / "run", own, n_jobs=1)
    key = json.loads((tmp_path / "run" / "run.json").read_text())["key"]
    make_decoder(decoder, "all")
    with pytest.raises(BadInputError, match="not those of the run"):
        predict(tmp_path / "run", folder / "with", tmp_path / "predicted", n_jobs=1)
    assert annotate(folder / "with", folder / "without", tmp_path / "run", own, n_jobs=1).record.key != key


# The package segvote-mobile-sam ---------------------------------------------------------------------------------------

is_installed = pytest.mark.skipif(
    not any(one.name == "mobile-sam" for one in list_weights()), reason="segvote-mobile-sam is not installed"
)


def test_absent_package_is_one_line(monkeypatch):
    monkeypatch.setattr("segvote.features.networks.weights.entry_points", lambda group: [])
    with pytest.raises(MissingPartError, match=r"segvote-mobile-sam.*pip install 'segvote\[sam\]'"):
        sam.name_files("mobile-sam")


@is_installed
def test_installed_network_follows_the_outline():
    """A rough box around a disc becomes the disc."""
    rows, columns = np.mgrid[:240, :320]
    disc = np.hypot(rows - 120, columns - 150) < 60
    noise = np.random.default_rng(0).integers(-12, 12, (240, 320, 3))
    picture = (np.where(disc[..., None], (200, 60, 40), (70, 120, 80)) + noise).astype(np.uint8)
    rough = cv2.dilate(disc.astype(np.uint8), np.ones((15, 15))) > 0
    redrawn = redraw("mobile-sam", rough, rough.astype(float), picture)
    assert (redrawn & disc).sum() / (redrawn | disc).sum() > 0.95 > disc.sum() / rough.sum()


@is_installed
def test_installed_decoder_gives_all_masks():
    names = {one.name: one.shape for one in Sam("mobile-sam").decoder.get_outputs()}
    assert names["all_masks"] == [1, 4, 256, 256] and names["all_scores"] == [1, 4]


@is_installed
def test_run_with_the_package_keeps_its_name(refined, tmp_path):
    folder, settings = refined
    own = replace(settings, refine="mobile-sam")
    run = annotate(folder / "with", folder / "without", tmp_path / "run", own, n_jobs=1)
    assert run.settings.refine == "mobile-sam"
    assert "Regions redrawn by mobile-sam" in (tmp_path / "run" / "report.html").read_text()
