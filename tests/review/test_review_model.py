"""The model click behind the page: routes, stored embeddings, corrections, and what happens without weights."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from made_sam import make_encoder, make_levels
from segvote import annotate
from segvote.errors import BadInputError, BusyRunError
from segvote.features.networks.sam import Sam
from segvote.review.engine import Engine
from segvote.review.model_click import ModelClick, check_corners
from segvote.review.serving.routes import make_app
from segvote.review.session import Session
from segvote.run.correction_log import read_actions
from segvote.run.run import Run

INSIDE = [60.0, 45.0]


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Files of a made network, the decoder first, as `find_weights` lists them."""
    folder = tmp_path_factory.mktemp("weights")
    return [make_levels(folder / "decoder.onnx"), make_encoder(folder / "encoder.onnx")]


@pytest.fixture
def installed(weights, monkeypatch):
    monkeypatch.setattr("segvote.features.networks.sam.find_weights", lambda name: weights)


@pytest.fixture
def absent(monkeypatch):
    monkeypatch.setattr("segvote.features.networks.weights.entry_points", lambda group: [])


@pytest.fixture
def embedded(monkeypatch):
    """The shapes of the pictures that were embedded."""
    found, embed = [], Sam.embed
    monkeypatch.setattr(Sam, "embed", lambda self, picture: found.append(picture.shape) or embed(self, picture))
    return found


@pytest.fixture
def client(run, make_client):
    session = Session(run)
    yield make_client(make_app(session))
    session.close()


def read_levels(answer):
    """Masks of an answer of the server, by the plain definition of the format."""
    assert answer.status_code == 200, answer.json()
    third = len(answer.content) // 3
    return [read_mask(answer.content[start : start + third]) for start in range(0, 3 * third, third)]


def read_mask(content):
    height, width = np.frombuffer(content[:8], "<u4")
    return np.unpackbits(np.frombuffer(content[8:], np.uint8), count=height * width).reshape(height, width) > 0


def test_without_weights_one_line_names_the_command(absent, client):
    problem = client.get("/api/run").json()["modelProblem"]
    assert "pip install 'segvote[sam]'" in problem and "\n" not in problem
    for answer in (client.get("/api/images/0/model"), client.get("/api/images/0/model/5/5")):
        assert answer.status_code == 409 and answer.json()["error"] == problem


def test_levels_are_nested_and_of_the_size_of_the_page(installed, client, run):
    assert client.get("/api/run").json()["modelProblem"] == ""
    part, thing, whole = read_levels(client.get("/api/images/0/model/60/45"))
    assert part.shape == (run.bags[0].height, run.bags[0].width)
    assert part.sum() <= thing.sum() <= whole.sum() == whole.size


def test_encoder_runs_once_per_image(installed, embedded, client, run):
    assert client.get("/api/images/1/model").json() == {"ready": True}
    for path in ("60/45", "61/45", "10/10/90/80"):
        read_levels(client.get(f"/api/images/1/model/{path}"))
    ModelClick(Run(run.folder.path)).embed(1)
    assert len(embedded) == 1 and len(list((run.folder.path / "segments").glob("*.embedding-*.npz"))) == 1


def test_refined_runs_and_clicks_share_embeddings(installed, embedded, scenes, tmp_path, run):
    settings = replace(run.settings, refine="mobile-sam")
    refined = annotate(scenes / "with", scenes / "without", tmp_path / "refined", settings, n_jobs=1)
    n_embedded = len(embedded)
    model = ModelClick(refined)
    model.draw(0, INSIDE, 2)
    assert len(embedded) == n_embedded >= 6


@pytest.mark.parametrize("level", [1, 2, 3])
def test_what_was_shown_is_painted_and_undone(installed, run, level):
    engine = Engine(run)
    before = engine.masks.draw_mask(0)
    shown = engine.model.draw_levels(0, INSIDE, before.shape)[level - 1]
    assert shown.any()
    engine.actions.take(0, INSIDE, level, 1)
    assert np.array_equal(engine.masks.draw_mask(0), before | shown)
    (action,) = read_actions(run.folder.corrections_path)
    assert (action.kind, action.value) == ("paint", 1)
    engine.actions.undo(1)
    assert np.array_equal(engine.masks.draw_mask(0), before)
    engine.stop()


@pytest.mark.parametrize(
    "message",
    [
        {"bag": 99, "points": INSIDE, "level": 2, "value": 1},
        {"bag": 0, "points": INSIDE, "level": 0, "value": 1},
        {"bag": 0, "points": INSIDE, "level": 4, "value": 1},
        {"bag": 0, "points": INSIDE, "level": 2, "value": 7},
        {"bag": 0, "points": [-1, 5], "level": 2, "value": 1},
        {"bag": 0, "points": [1e9, 5], "level": 2, "value": 1},
        {"bag": 0, "points": [5, 5, 5, 9], "level": 2, "value": 1},
        {"bag": 0, "points": [1, 1, 5, 5, 9, 9], "level": 2, "value": 1},
        {"bag": 0, "points": [], "level": 2, "value": 1},
        {"bag": 0, "points": INSIDE, "level": "whole", "value": 1},
    ],
)
def test_malformed_clicks_change_nothing(installed, client, message):
    answer = client.post("/api/take", json=message)
    assert answer.status_code == 400 and answer.json()["error"]
    assert client.get("/api/status").json()["action"] == 0


@pytest.mark.parametrize("path", ["99/model", "0/model/5000/5", "0/model/9/9/9/20", "0/model/1/1/9999/20"])
def test_places_outside_are_refused(installed, client, path):
    assert client.get(f"/api/images/{path}").status_code == 400
    assert client.get("/api/images/0/model/-4/5").status_code == 404


def test_a_deleted_run_folder_is_not_made_again(installed, run):
    engine = Engine(run)
    shutil.rmtree(run.folder.path)
    with pytest.raises(BusyRunError, match="deleted, moved or replaced"):
        engine.model.embed(0)
    assert not run.folder.path.exists()


def test_corners_of_a_box_come_in_any_order():
    assert check_corners([30, 5, 10, 25], 40, 50) == ((10.0, 5.0), (30.0, 25.0))
    with pytest.raises(BadInputError, match="inside the image"):
        check_corners([30, 5, 10, 41], 40, 50)
