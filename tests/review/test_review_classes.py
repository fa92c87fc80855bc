"""A run on several classes: a page for each, by one server."""

import shutil

import numpy as np
import pytest
from browsing import NEEDS_CHROMIUM, wait_heard
from PIL import Image

from segvote import annotate_classes
from segvote.datasets import make_scenes, write_scenes
from segvote.run.correction_log import read_actions
from segvote.settings import Settings

pytest.importorskip("starlette")
from segvote.review.serving.server import make_guarded_app

QUICK = Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})


@pytest.fixture(scope="module")
def class_runs(tmp_path_factory):
    """Four scenes of ``red``, four of ``blue``, and some of neither."""
    folder = tmp_path_factory.mktemp("classes")
    for name, seed in (("red", 1), ("blue", 2)):
        write_scenes(
            folder / name, make_scenes(n_with=4, n_without=2, size=(160, 120), object_area=(0.08, 0.16), seed=seed)
        )
    for path in (folder / "blue").glob("with*/*.png"):
        pixels = np.asarray(Image.open(path).convert("RGB"))[:, :, ::-1]
        Image.fromarray(np.ascontiguousarray(pixels)).save(path)
    for name in ("red", "blue"):
        shutil.copytree(folder / name / "with", folder / "root" / name)
        for path in (folder / name / "without").iterdir():
            (folder / "root/none").mkdir(exist_ok=True)
            shutil.copy(path, folder / "root/none" / f"{name}-{path.name}")
    return annotate_classes(folder / "root", folder / "out", QUICK, n_jobs=1)


def test_only_the_class_looked_at_counts_votes(class_runs, make_client):
    app, token, sessions = make_guarded_app(class_runs)
    client = make_client(app, f"/{token}")
    try:
        assert (client.get("/").status_code, client.get("/").headers["location"]) == (303, "classes/0/")
        assert client.get("/classes/1/").status_code == 200 and client.get("/classes/7/").status_code == 404
        described = client.get("/classes/1/api/run").json()
        assert (described["classes"], described["classNumber"]) == (["blue", "red"], 1)
        assert "annotate --classes" in described["classCommand"]
        assert [session.engine.is_started for session in sessions] == [False, True]
        assert client.get("/classes/0/api/images/0/mask").status_code == 200
        assert make_client(app, "/guess").get("/classes/0/api/run").status_code == 403
    finally:
        for session in sessions:
            session.close()


@NEEDS_CHROMIUM
@pytest.mark.browser
def test_keys_lead_from_class_to_class_at_the_same_image(class_runs, open_page, serve_in_thread):
    with serve_in_thread(class_runs.folder.path) as address:
        page = open_page(address)
        assert page.url == f"{address}classes/0/"
        assert page.locator("#classes button").all_inner_texts() == ["blue", "red"]
        index = next(number for number, image in enumerate(class_runs.images) if image.classes == ["red"])
        page.evaluate("(index) => segvote.go(index)", index)
        page.keyboard.press("2")
        page.wait_for_url(f"{address}classes/1/#{index}")
        page.wait_for_selector("#saved[data-votes=ready]")
        assert page.evaluate("() => segvote.store.current") == index
        page.keyboard.press("a")
        wait_heard(page, 1)
    logs = [run.folder.corrections_path for run in class_runs.runs.values()]
    assert [[action.kind for action in read_actions(path)] for path in logs] == [[], ["accept"]]
