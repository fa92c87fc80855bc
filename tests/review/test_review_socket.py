"""The server over a real socket: a log that another process holds, and a run folder that goes away."""

import contextlib
import json
import sqlite3
import threading
import urllib.request

import pytest

pytest.importorskip("starlette")

from segvote.review.serving.server import make_guarded_app
from segvote.run.correction_log import read_actions
from segvote.run.run import Run

CLICK = {"bag": 0, "segments": [0], "value": 1}


def ask(address, name, message=None):
    """Status of the answer to a question, or to an action with a message."""
    body = None if message is None else json.dumps(message).encode()
    request = urllib.request.Request(f"{address}api/{name}", body, {"Content-Type": "application/json"})
    request.add_header("Origin", "/".join(address.split("/")[:3]))
    with urllib.request.urlopen(request, timeout=600) as answer:
        return answer.status


def test_clicks_that_wait_for_a_locked_log_do_not_block_the_page(run_copy, serve_in_thread, monkeypatch):
    """Another process holds the log: all else is answered meanwhile, and the clicks when it lets go."""
    monkeypatch.setattr("segvote.review.engine.PATIENCE_SECONDS", 600.0)
    answers = []
    with serve_in_thread(run_copy) as address:
        with contextlib.closing(sqlite3.connect(run_copy / "review.sqlite", isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            click = lambda: answers.append(ask(address, "set", CLICK))  # noqa: E731
            clicks = [threading.Thread(target=click) for _ in range(12)]
            for click in clicks:
                click.start()
            assert ask(address, "status") == ask(address, "images/0/picture") == 200
            assert answers == []
            holder.execute("ROLLBACK")
        for click in clicks:
            click.join()
    assert answers == [200] * 12 and len(read_actions(run_copy / "review.sqlite")) == 12


def test_actions_and_exports_on_a_moved_folder_are_refused(run_copy, tmp_path, make_client):
    app, token, (session,) = make_guarded_app(Run(run_copy))
    client = make_client(app, f"/{token}")
    run_copy.rename(tmp_path / "moved")
    for name, message in (("set", CLICK), ("export", {}), ("export-format", {"format": "png", "overwrite": True})):
        answer = client.post(f"/api/{name}", json=message)
        assert answer.status_code == 409 and "moved or replaced" in answer.json()["error"]
    assert not run_copy.exists() and client.get("/api/status").json()["action"] == 0
    (tmp_path / "moved").rename(run_copy)
    assert client.post("/api/set", json=CLICK).json() == {"action": 1, "offer": -1}
    session.close()
