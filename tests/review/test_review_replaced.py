"""A run folder that is deleted, replaced or moved while its page is open: no click is answered and lost."""

import shutil

import pytest

from segvote.review.serving.server import make_guarded_app
from segvote.run.correction_log import read_actions
from segvote.run.run import Run


@pytest.fixture
def page(run_copy, make_caller):
    """The page of a run with one saved click; the folder is a copy that may be thrown away."""
    app, token, session = make_guarded_app(Run(run_copy))
    caller = make_caller(app, f"/{token}")
    assert click(caller, 1).status == 200
    yield caller
    session.close()


def click(caller, value):
    message = {"bag": 0, "segments": [0], "value": value}
    return caller.post("/api/set", message, origin="http://127.0.0.1:9876")


def rescue(caller):
    return caller.post("/api/rescue", {}, origin="http://127.0.0.1:9876")


def list_values(folder):
    return [action.value for action in read_actions(folder / "review.sqlite")]


def test_a_click_on_a_deleted_log_is_refused_and_rescued(page, run_copy):
    (run_copy / "review.sqlite").unlink()
    refused = click(page, 0)
    assert refused.status == 409 and "nothing more is saved" in refused.json()["error"]
    unsaved = page.get("/api/status").json()["unsaved"]
    assert unsaved["n"] == 1 and "deleted" in unsaved["reason"]
    assert rescue(page).json() == {"action": 2, "notice": ""}
    assert list_values(run_copy) == [1, 0]
    assert page.get("/api/status").json()["unsaved"] is None
    assert click(page, 1).json()["action"] == 3


def test_a_folder_annotated_anew_gets_the_clicks(page, run_copy, tmp_path):
    shutil.copytree(run_copy, tmp_path / "again", ignore=shutil.ignore_patterns("review.sqlite*"))
    shutil.rmtree(run_copy)
    assert click(page, 0).status == 409
    assert rescue(page).status == 409 and not run_copy.exists()
    (tmp_path / "again").rename(run_copy)
    assert click(page, -1).status == 409
    assert rescue(page).json() == {"action": 3, "notice": ""}
    assert list_values(run_copy) == [1, 0, -1]


def test_a_folder_that_came_back_gets_the_clicks(page, run_copy, tmp_path):
    run_copy.rename(tmp_path / "moved")
    assert click(page, 0).status == 409
    (tmp_path / "moved").rename(run_copy)
    unsaved = page.get("/api/status").json()["unsaved"]
    assert unsaved["n"] == 1 and "is back" in unsaved["reason"]
    assert rescue(page).json() == {"action": 2, "notice": ""}
    assert list_values(run_copy) == [1, 0] and page.get("/api/status").json()["unsaved"] is None


def test_a_folder_of_another_run_gets_the_clicks_and_says_so(page, run_copy):
    shutil.rmtree(run_copy)
    run_copy.mkdir()
    (run_copy / "run.json").write_text("{}")
    assert click(page, 0).status == 409
    assert rescue(page).json()["notice"]
    assert list_values(run_copy) == [1]
    assert page.get("/api/status").json()["unsaved"]["n"] == 1  # a click on segments that this run has not


@pytest.mark.parametrize(("name", "message"), [("export", {}), ("export-format", {"format": "png", "overwrite": True})])
def test_an_export_after_a_move_makes_no_folder(page, run_copy, tmp_path, name, message):
    run_copy.rename(tmp_path / "moved")
    answer = page.post(f"/api/{name}", message, origin="http://127.0.0.1:9876")
    assert answer.status == 409 and "moved" in answer.json()["error"]
    page.get("/api/status", host="evil.example")  # a refusal is noted in the run's log, not in a new folder
    assert not run_copy.exists()
