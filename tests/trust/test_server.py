"""The review server under fire: random requests, nonsense on the socket, two hundred people at once."""

import json
import random
import re
import shutil
import threading
import time
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from unittest import mock

import pytest
from commands import read_log
from fuzzer import Fuzzer, send

from segvote.io.images import resize_labels
from segvote.review import engine
from segvote.review.serving.server import open_server
from segvote.run.run import Run

N_CLIENTS = 200


@contextmanager
def run_server(folder):
    """Host and token of a server that runs in a thread; a click waits for others however busy the machine is."""
    with mock.patch.object(engine, "PATIENCE_SECONDS", 600.0), open_server(Run(folder)) as (server, listener, address):
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield re.fullmatch(r"http://(.*)/(.*)/", address).groups()
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def own_run(tiny_run, tmp_path):
    shutil.copytree(tiny_run, tmp_path / "run")
    return tmp_path / "run"


def find_fault(answer, request, token):
    """What is wrong with an answer, or None."""
    if answer is None:
        return "no answer"
    status = int(answer[9:12]) if answer.startswith(b"HTTP/1.1 ") else 0
    body = answer.partition(b"\r\n\r\n")[2]
    if status >= 500:
        return f"status {status}"
    if b"root:x:" in answer or (b'"settings"' in body and b"/api/run" not in request):
        return "a file"
    if token.encode() in answer and token.encode() not in request:
        return "the token"
    if status == 101:
        return "a socket was opened"
    return None


def fire(host, token, n_requests, seed):
    """Number of requests that were answered wrongly, or by nobody."""
    fuzzer, lost = Fuzzer(host, token, random.Random(seed)), 0
    for _ in range(n_requests):
        request = fuzzer.make()
        fault = find_fault(send(host, request), request, token)
        if fault:
            print(fault, request[:300])
            lost += 1
    return lost


def ask_status(host, token, what="status"):
    with closing(HTTPConnection(host, timeout=600)) as connection:
        connection.request("GET", f"/{token}/api/{what}")
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


@pytest.mark.parametrize("n_requests", [300, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.timeout(7200)
def test_random_requests_break_nothing(own_run, ledger, n_requests):
    record = (own_run / "run.json").read_bytes()
    with run_server(own_run) as (host, token):
        lost = fire(host, token, n_requests, seed=n_requests)
        status, answer = ask_status(host, token)
    assert status == 200 and answer["votes"] == "ready" and not answer["problem"]
    assert (own_run / "run.json").read_bytes() == record
    assert (own_run / "log.jsonl").stat().st_size < 1_000_000
    ledger.note("random requests to `review`, HTTP and WebSocket", n_requests, lost)


def click(host, token, start, n_clicks, promised):
    headers = {
        "Origin": f"http://{host}",
        "Content-Type": "application/json",
    }
    with closing(HTTPConnection(host, timeout=600)) as connection:
        start.wait()
        for number in range(n_clicks):
            body = json.dumps({"bag": number % 6, "segments": [number % 2], "value": number % 2})
            connection.request("POST", f"/{token}/api/set", body, headers)
            answer = connection.getresponse()
            content = answer.read()
            promised.append(json.loads(content)["action"] if answer.status == 200 else content)


def wait_for_votes(host, token, action):
    """Clicks are saved at once and voted on in the background: wait until the vote has heard the last one."""
    while ask_status(host, token)[1]["action"] != action:
        time.sleep(0.05)


@pytest.mark.parametrize("n_clicks", [1, pytest.param(25, marks=pytest.mark.slow)])
@pytest.mark.timeout(7200)
def test_two_hundred_people_at_once_lose_no_click(own_run, ledger, n_clicks):
    start, promised = threading.Barrier(N_CLIENTS), []
    with run_server(own_run) as (host, token):
        arguments = (host, token, start, n_clicks, promised)
        threads = [threading.Thread(target=click, args=arguments) for _ in range(N_CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        wait_for_votes(host, token, N_CLIENTS * n_clicks)
    kept = [row[0] for row in read_log(own_run / "review.sqlite")]
    wanted = list(range(1, N_CLIENTS * n_clicks + 1))
    assert kept == wanted
    lost = len(wanted) - len(set(promised) & set(wanted))
    ledger.note("clicks of 200 clients at once, each in the log once", len(wanted), lost)


def post(host, token, name, message):
    """Status and answer of one action."""
    headers = {"Origin": f"http://{host}", "Content-Type": "application/json"}
    with closing(HTTPConnection(host, timeout=600)) as connection:
        connection.request("POST", f"/{token}/api/{name}", json.dumps(message), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def click_on_others(host, token, stop):
    """Somebody else, on images without the object, as fast as it goes."""
    number = 0
    while not stop.is_set():
        post(host, token, "set", {"bag": 3 + number % 3, "segments": [number % 2], "value": 0})
        number += 1


def is_in_mask(run, bag, segment):
    """Whether most of a segment is object in the mask on the disk."""
    inside = resize_labels(run.read_segments(bag)["labels"], run.read_mask(bag).shape) == segment
    return bool(run.read_mask(bag)[inside].mean() > 0.5)


@pytest.mark.parametrize("n_exports", [3, pytest.param(60, marks=pytest.mark.slow)])
@pytest.mark.timeout(7200)
def test_an_export_while_others_click_has_every_click_before_it(own_run, ledger, n_exports):
    lost, stop, run = 0, threading.Event(), Run(own_run)
    with run_server(own_run) as (host, token):
        while ask_status(host, token)[1]["votes"] != "ready":
            time.sleep(0.05)
        other = threading.Thread(target=click_on_others, args=(host, token, stop))
        other.start()
        for number in range(n_exports):
            bag, value = number % 3, number // 3 % 2
            assert post(host, token, "set", {"bag": bag, "segments": [0], "value": value})[0] == 200
            status, answer = post(host, token, "export", {})
            told = status == 200 and is_in_mask(run, bag, 0) == bool(value)
            if not told:
                print(number, status, answer)
            lost += not told
        stop.set()
        other.join()
    ledger.note("exports of `review` while others click: the last click is in the files", n_exports, lost)
