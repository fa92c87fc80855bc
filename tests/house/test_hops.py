"""How many functions of ours a reader passes from a command, or a click, to what it is about.

A frame that only hands on its arguments is one to look into for nothing: the figures may fall, and rise for a reason.
"""

import asyncio
import json
import sys
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

import segvote
from segvote.cli.app import load_commands
from segvote.io import images
from segvote.run.correction_log import CorrectionLog
from segvote.run.run import Run

SOURCE = str(Path(segvote.__file__).parent)
TO_THE_FIRST_PIXEL = 16
TO_THE_LOG = 5


class Watch:
    """Notes who called a function when it is called for the first time, in any thread."""

    def __init__(self, function):
        self.code, self.names = function.__code__, []

    def __call__(self, frame, event, argument):
        if event == "call" and frame.f_code is self.code and not self.names:
            found = frame
            while found is not None:
                if found.f_code.co_filename.startswith(SOURCE):
                    self.names.insert(0, found.f_code.co_qualname)
                found = found.f_back


@pytest.fixture
def watch():
    def start(function):
        watching = Watch(function)
        threading.setprofile(watching)
        sys.setprofile(watching)
        return watching

    yield start
    sys.setprofile(None)
    threading.setprofile(None)


def test_from_annotate_to_the_first_pixel(scenes, tmp_path, watch):
    options = ["--features", "color", "--n-segments", "40", "--size", "160", "--jobs", "1", "--detail", "coarse"]
    folders = [str(scenes / "with"), str(scenes / "without")]
    commands = load_commands()
    seen = watch(images.read_enough)
    result = CliRunner().invoke(commands, ["annotate", *folders, "-o", str(tmp_path / "out"), *options])
    assert result.exit_code == 0, result.output
    assert seen.names[0] == "annotate"
    assert len(seen.names) <= TO_THE_FIRST_PIXEL, seen.names


def test_from_a_click_to_the_log(run_copy, watch):
    requests = pytest.importorskip("starlette.requests")
    from segvote.review.serving.routes import make_app
    from segvote.review.session import Session

    async def receive():
        return {"type": "http.request", "body": json.dumps({"bag": 0, "segments": [0], "value": 1}).encode()}

    session = Session(Run(run_copy))
    try:
        endpoint = next(route.endpoint for route in make_app(session).routes if route.path == "/api/set")
        scope = {"type": "http", "method": "POST", "headers": [(b"content-type", b"application/json")]}
        seen = watch(CorrectionLog.append_all)
        answer = asyncio.run(endpoint(requests.Request(scope, receive)))
        assert json.loads(answer.body) == {"action": 1}
    finally:
        session.close()
    # An action runs in a thread: the endpoint that handed it over is one more.
    assert seen.names[0] == "Session._set"
    assert 1 + len(seen.names) <= TO_THE_LOG, seen.names
