"""The path of quickstart.md: annotate, review, Ctrl-C, export. The exported masks are those that the page showed."""

import os
import re
import shlex
import signal
import subprocess
import sys

import numpy as np
import pytest
from browsing import NEEDS_BROWSER, find_best, find_segment, open_image, read_mask, wait_until_drawn

from segvote.io.masks import read_mask as read_written_mask

pytest.importorskip("playwright.sync_api")
pytestmark = NEEDS_BROWSER

QUICK = ["--features", "color", "--n-segments", "40", "--size", "160", "--jobs", "1"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def start(*words):
    command = [sys.executable, "-m", "segvote", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)


def finish(process, code=0):
    out, err = process.communicate()
    assert process.returncode == code, err
    return out


def click_and_read(page):
    """Click a segment of the first image; returns the masks of all *with* images as the page shows them then."""
    open_image(page, 0)
    before = read_mask(page, 0)
    page.mouse.click(*find_segment(page, find_best(page)))
    wait_until_drawn(page, 1, 0)
    shown = {}
    for image in range(6):
        open_image(page, image)
        shown[f"with/with-{image:03}.png"] = read_mask(page, image)
    assert (before != shown["with/with-000.png"]).any()
    page.close()
    return shown


def test_an_export_after_ctrl_c_has_the_masks_of_the_page(scenes, tmp_path, open_page):
    printed = finish(start("annotate", scenes / "with", scenes / "without", "-o", tmp_path / "out", *QUICK))
    review = shlex.split(printed.splitlines()[-1])
    assert review == ["next", "segvote", "review", str(tmp_path / "out")]
    server = start(*review[2:], "--no-browser")
    try:
        shown = click_and_read(open_page(re.search(r"http://\S+", server.stdout.readline()).group()))
    finally:
        server.send_signal(signal.SIGINT)
    finish(server, 130)
    finish(start("export", tmp_path / "out", "--format", "png", "-o", tmp_path / "masks"))
    for name, mask in shown.items():
        exported = read_written_mask((tmp_path / "masks" / name).with_suffix(".png")) == 255
        np.testing.assert_array_equal(exported, mask, err_msg=name)
