"""Killed at any moment and started again, a run ends as if nothing had happened."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from segvote.run.settings import Settings
from segvote.steps import extract
from segvote.steps.annotate import annotate

COMMAND = [sys.executable, "-m", "segvote", "annotate"]
OPTIONS = ["--features", "color", "--n-segments", "40", "--size", "160"]


def start(scenes, out, jobs=1):
    arguments = [str(scenes / "with"), str(scenes / "without"), "-o", str(out), "--jobs", str(jobs), *OPTIONS]
    return subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.DEVNULL, start_new_session=True)


def read_outputs(folder):
    wanted = ["masks", "votes", "model", "segments", "features", "heatmaps"]
    files = [path for name in wanted for path in (folder / name).rglob("*") if path.is_file()]
    files += [folder / "annotations.coco.json", folder / "run.json"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def survive(scenes, tmp_path, n_kills, seed):
    rng, started = random.Random(seed), time.monotonic()
    assert start(scenes, tmp_path / "calm").wait() == 0
    duration = time.monotonic() - started
    for _ in range(n_kills):
        process = start(scenes, tmp_path / "killed")
        time.sleep(rng.uniform(0.3, 1.0) * duration)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert start(scenes, tmp_path / "killed").wait() == 0
    assert read_outputs(tmp_path / "killed") == read_outputs(tmp_path / "calm")


def test_three_kills_change_nothing(scenes, tmp_path):
    survive(scenes, tmp_path, 3, seed=0)


@pytest.mark.slow
def test_fifty_kills_change_nothing(scenes, tmp_path):
    survive(scenes, tmp_path, 50, seed=1)


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
