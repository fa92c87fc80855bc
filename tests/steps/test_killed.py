"""A stopped run says how to go on, and leaves no half of a bag behind; tests/trust kills every command."""

import signal
import subprocess
import sys
import time

import pytest

from segvote import annotate
from segvote.run.settings import Settings
from segvote.steps import extract

COMMAND = [sys.executable, "-m", "segvote", "annotate"]


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(scenes, tmp_path):
    arguments = [str(scenes / "with"), str(scenes / "without"), "-o", str(tmp_path / "out"), "--jobs", "1"]
    process = subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.glob("out/segments/*")) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert errors.strip().splitlines()[-1] == "segvote: stopped; repeat the command to continue where it was"


def test_a_stop_before_segments_makes_both_again(scenes, tmp_path, monkeypatch):
    settings = Settings(features="color", n_segments=40, size=160)

    def stop(*given):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(extract, "store_superpixels", stop)
        annotate(scenes / "with", scenes / "without", tmp_path / "out", settings, n_jobs=1)
    assert not list(tmp_path.glob("out/segments/*"))
