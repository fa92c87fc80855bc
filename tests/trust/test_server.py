"""The review server: random requests, many clients, kills, and another user of the machine."""

import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from unittest import mock

import pytest
from commands import read_log
from fuzzer import Fuzzer, send

from segvote.io.images import resize_labels
from segvote.review import engine as review_engine
from segvote.review.serving.server import open_server
from segvote.run.run import Run

N_CLIENTS = 200
SLOW = pytest.mark.slow


class Page:
    """The requests of a page, each over a connection of its own."""

    def __init__(self, address):
        self.host, self.token = re.fullmatch(r"http://(.*)/(.*)/", address).groups()

    def ask(self, name, message=None):
        """Status and answer."""
        method, body = ("GET", None) if message is None else ("POST", json.dumps(message))
        headers = {"Origin": f"http://{self.host}", "Content-Type": "application/json"} if body else {}
        with closing(HTTPConnection(self.host, timeout=600)) as connection:
            connection.request(method, f"/{self.token}/api/{name}", body, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def click(self, number):
        """Number of the action, or the answer that refused it."""
        click = {"bag": number % 6, "segments": [number % 2], "value": number % 3 - 1}
        status, answer = self.ask("set", click)
        return answer["action"] if status == 200 else answer

    def wait_for_votes(self, action=None):
        while (status := self.ask("status")[1])["votes"] != "ready" or action not in (None, status["action"]):
            time.sleep(0.05)


@contextmanager
def run_server(folder):
    """The page of a server that runs in a thread; clicks wait for others however busy the machine is."""
    patience = mock.patch.object(review_engine, "PATIENCE_SECONDS", 600.0)
    with patience, open_server(Run(folder)) as (server, listener, address), running(lambda: server.run([listener])):
        try:
            yield Page(address)
        finally:
            server.should_exit = True


@contextmanager
def running(function, n_threads=1):
    threads = [threading.Thread(target=function) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()


def find_fault(answer, request, token):
    """What is wrong with an answer, or None."""
    if answer is None:
        return "no answer"
    status = int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else 0
    if status >= 500 or status == 101:
        return f"status {status}"
    if b"root:x:" in answer or (b'"settings"' in answer.partition(b"\r\n\r\n")[2] and b"/api/run" not in request):
        return "a file"
    return "the token" if token.encode() in answer and token.encode() not in request else None


@pytest.mark.parametrize("n_requests", [300, pytest.param(10_000, marks=SLOW)])
@pytest.mark.timeout(7200)
def test_random_requests_break_nothing(own_run, n_requests):
    record = (own_run / "run.json").read_bytes()
    with run_server(own_run) as page:
        fuzzer = Fuzzer(page.host, page.token, random.Random(n_requests))
        for request in (fuzzer.make() for _ in range(n_requests)):
            assert find_fault(send(page.host, request), request, page.token) is None, request[:300]
        page.wait_for_votes()  # a busy machine may load the run more slowly than it answers 300 requests
        status, answer = page.ask("status")
    assert status == 200 and answer["votes"] == "ready" and not answer["problem"]
    assert (own_run / "run.json").read_bytes() == record
    assert (own_run / "log.jsonl").stat().st_size < 1_000_000


@pytest.mark.parametrize("n_clicks", [1, pytest.param(25, marks=SLOW)])
@pytest.mark.timeout(7200)
def test_two_hundred_clients_at_once_lose_no_click(own_run, n_clicks):
    start, promised = threading.Barrier(N_CLIENTS), []

    def click():
        start.wait()
        promised.extend(page.click(number) for number in range(n_clicks))

    with run_server(own_run) as page:
        with running(click, N_CLIENTS):
            pass
        page.wait_for_votes(N_CLIENTS * n_clicks)
    wanted = list(range(1, N_CLIENTS * n_clicks + 1))
    assert [row[0] for row in read_log(own_run / "review.sqlite")] == wanted == sorted(promised)


def is_in_mask(run, bag, segment):
    """Whether most of a segment is object in the mask on the disk."""
    inside = resize_labels(run.read_segments(bag)["labels"], run.read_mask(bag).shape) == segment
    return bool(run.read_mask(bag)[inside].mean() > 0.5)


@pytest.mark.parametrize("n_exports", [3, pytest.param(60, marks=SLOW)])
@pytest.mark.timeout(7200)
def test_an_export_has_every_click_before_it(own_run, n_exports):
    """While another client clicks on an image without the object."""
    run, stop = Run(own_run), threading.Event()

    def click():
        while not stop.is_set():
            page.ask("set", {"bag": 3, "segments": [0], "value": 0})

    with run_server(own_run) as page:
        page.wait_for_votes()
        with running(click):
            try:
                for number in range(n_exports):
                    bag, value = number % 3, number // 3 % 2
                    assert page.ask("set", {"bag": bag, "segments": [0], "value": value})[0] == 200
                    assert page.ask("export", {})[0] == 200
                    assert is_in_mask(run, bag, 0) == bool(value)
            finally:
                stop.set()


def kill_review(stage, run, seconds, exports):
    """Numbers of the clicks that were answered before the server was killed."""
    started, promised = stage.start("review", run, "--no-browser"), []
    while not (found := re.search(r"http://\S+", (started.folder / "output").read_text())):
        time.sleep(0.01)
    page = Page(found[0])
    while not promised:
        with suppress(OSError):  # the address is printed a moment before the server listens
            promised.append(page.click(0))

    def click():
        with suppress(OSError, HTTPException):
            promised.extend(page.click(number) for number in itertools.count(1))

    def export():
        with suppress(OSError, HTTPException):
            while exports:
                page.ask("export", {})

    with running(click), running(export):
        time.sleep(seconds)
        os.kill(started.pid, signal.SIGKILL)
    stage.wait(started)
    return promised


@pytest.mark.parametrize("exports", [False, True])
@pytest.mark.parametrize("n_kills", [2, pytest.param(40, marks=SLOW)])
@pytest.mark.timeout(7200)
def test_no_answered_click_is_lost_in_a_kill(stage, own_run, n_kills, exports):
    rng, promised = random.Random(n_kills), []
    for _ in range(n_kills):
        promised += kill_review(stage, own_run, rng.uniform(0.0, 0.4 + 2 * exports), exports)
        # Killed while it wrote files, the run is half written: this finishes it.
        assert stage.run("update", own_run, "--jobs", "1")["code"] == 0
    assert promised and {*promised} <= {row[0] for row in read_log(own_run / "review.sqlite")}


NOBODY = 65534

INTRUDER = """
import glob, json, os, sys
from http.client import HTTPConnection

host, run = sys.argv[1:]
seen = b""
places = ["/proc/[0-9]*/cmdline", "/proc/[0-9]*/environ", "/tmp/segvote-*", "/tmp/segvote-*/*", run + "/*"]
for path in [path for place in places for path in glob.glob(place)]:
    try:
        with open(path, "rb") as file:
            seen += file.read(1 << 22)
    except OSError:
        pass
statuses = []
for path in ("/", "/api/run", "/" + "A" * 43 + "/api/run"):
    connection = HTTPConnection(host, timeout=600)
    connection.request("GET", path)
    statuses.append(connection.getresponse().status)
print(json.dumps({"uid": os.getuid(), "seen": seen.decode("latin-1"), "statuses": statuses}))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start processes of another user")
def test_another_user_does_not_find_the_token(tiny_run):
    """A process of another user searches command lines, environments and temporary files, and asks without it."""
    with tempfile.TemporaryDirectory(prefix="trust-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        run, browser = shutil.copytree(tiny_run, f"{name}/run"), Path(name, "browser")
        browser.write_text("#!/bin/sh\nsleep 60\n")
        browser.chmod(0o755)
        environment = {**os.environ, "BROWSER": str(browser), "PYTHONUNBUFFERED": "1", "TMPDIR": "/tmp"}
        command = [sys.executable, "-m", "segvote", "review", run]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True) as server:
            try:
                address = next(found[0] for line in server.stdout if (found := re.search(r"http://\S+/", line)))
                page = Page(address)
                page.wait_for_votes()
                found = intrude(page.host, run)
            finally:
                server.send_signal(signal.SIGINT)
                server.wait()
    assert found["uid"] == NOBODY
    assert found["statuses"] == [403] * 3 and page.token not in found["seen"]


def intrude(*arguments):
    who = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    command = ["/usr/bin/env", "python3", "-c", INTRUDER, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/", env={"PATH": os.defpath}, **who)
    return json.loads(done.stdout)
