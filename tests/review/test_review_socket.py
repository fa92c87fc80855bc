"""Attacks over a real socket, byte by byte: refused, logged, and the server still answers."""

import contextlib
import json
import shutil
import socket
import sqlite3
import threading
from urllib.parse import urlsplit

import pytest

pytest.importorskip("starlette")

from segvote.review.serving.guard import MAX_BODY
from segvote.run.correction_log import read_actions
from segvote.run.run_folder import RunFolder


class Line:
    """Speaks to a server in bytes; knows the address it would be given."""

    def __init__(self, address, folder):
        self.folder, self.n_refused = folder, 0
        self.n_refused = len(self.list_refusals())
        parts = urlsplit(address)
        self.port, self.token = parts.port, parts.path.strip("/")
        self.host = f"127.0.0.1:{self.port}"

    def list_refusals(self):
        """Reasons of what was refused since this line was opened."""
        log = map(json.loads, RunFolder(self.folder).log_path.read_text().splitlines())
        return [entry["reason"] for entry in log if "reason" in entry][self.n_refused :]

    def send(self, data, patience=600.0):
        """All that comes back until the server hangs up; empty where it does so without a word."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=patience) as line:
            with contextlib.suppress(OSError):  # it may hang up before all is said
                for start in range(0, len(data), 1 << 16):
                    line.sendall(data[start : start + (1 << 16)])
            answer = b""
            with contextlib.suppress(OSError):
                while part := line.recv(1 << 16):
                    answer += part
            return answer

    def ask(self, path="/api/status", method="GET", body=b"", patience=600.0, token=None, **changed):
        """Send a well-formed request with some of its headers changed, or left out where they are None."""
        path = f"/{self.token if token is None else token}{path}" if path.startswith("/") else path
        headers = {"Host": self.host, "Connection": "close"}
        if method == "POST":
            headers |= {"Origin": f"http://{self.host}", "Content-Type": "application/json"}
            headers["Content-Length"] = str(len(body))
        headers |= {name.replace("_", "-"): value for name, value in changed.items()}
        lines = [
            f"{method} {path} HTTP/1.1",
            *(f"{name}: {value}" for name, value in headers.items() if value is not None),
        ]
        return self.send("\r\n".join([*lines, "", ""]).encode("latin-1") + body, patience)


@pytest.fixture(scope="module")
def attacked(finished_run, tmp_path_factory, serve_in_thread):
    """One server for all attacks, and its run folder: it has to survive them one after the other."""
    folder = tmp_path_factory.mktemp("attacked") / "run"
    shutil.copytree(finished_run.folder.path, folder)
    with serve_in_thread(folder) as address:
        yield address, folder


@pytest.fixture
def line(attacked):
    """A line to a server that must still answer, with nothing changed, when the test is over."""
    line = Line(*attacked)
    yield line
    answer = line.ask()
    assert read_status(answer) == 200 and b'"action":0' in answer


def read_status(answer):
    return int(answer.split(b" ", 2)[1]) if answer else 0


def test_who_has_the_address_is_answered(line):
    assert read_status(line.ask("/api/run")) == 200
    assert line.list_refusals() == []


@pytest.mark.parametrize(
    "changed, reason",
    [
        ({"token": "guess"}, "no token"),
        ({"Host": "evil.example"}, "foreign host"),
        ({"Host": "evil.example:80@127.0.0.1"}, "foreign host"),
        ({"Origin": "http://evil.example"}, "foreign origin"),
        ({"Origin": "http://127.0.0.1:1"}, "foreign origin"),
        ({"Sec-Fetch-Site": "cross-site"}, "foreign origin"),
    ],
)
def test_strangers_are_refused_and_logged(line, changed, reason):
    for method, path in (("GET", "/api/run"), ("POST", "/api/accept")):
        answer = line.ask(path, method, b'{"bags":[0],"value":true}' if method == "POST" else b"", **changed)
        assert read_status(answer) == 403
    assert line.list_refusals() == [reason, reason]


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd",
        "/static/../../../../../../etc/passwd",
        "/static/..%2f..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/static/%2e%2e%5cserver.py",
        "/api/images/..%2f..%2frun.json/picture",
        "/api/images/0/../../../run.json",
        "/api/images/999999999999999999999/mask",
        "/api/images/0/segments/99999/votes",
        "file:///etc/passwd",
    ],
)
def test_no_path_leads_out(line, path):
    answer = line.ask(path)
    assert read_status(answer) in (400, 403, 404, 409)
    assert b"root:" not in answer and b"uvicorn" not in answer


def test_an_oversized_message_is_refused_however_it_is_sent(line):
    big = b'{"bag":0,"segments":[' + b"0," * MAX_BODY + b'0],"value":1}'
    assert read_status(line.ask("/api/set", "POST", big)) == 413
    pieces = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (big[:MAX_BODY], big[MAX_BODY:])) + b"0\r\n\r\n"
    answer = line.ask("/api/set", "POST", pieces, Content_Length=None, Transfer_Encoding="chunked")
    assert read_status(answer) in (0, 413)
    assert read_status(line.ask("/api/set", "POST", b"{}", Content_Length="99999999999")) == 413
    assert line.list_refusals()[0] == "too large"


def test_silent_lines_do_not_lock_the_owner_out(line):
    with contextlib.ExitStack() as stack:
        for _ in range(650):
            one = stack.enter_context(contextlib.closing(socket.socket()))
            one.settimeout(600)
            one.connect(("127.0.0.1", line.port))
        assert read_status(line.ask("/api/run")) == 200


def test_a_line_that_never_says_what_it_wants_is_hung_up(line, monkeypatch):
    monkeypatch.setattr("segvote.review.serving.guard.HEADER_SECONDS", 0.2)
    assert line.send(b"GET /api/run HTTP/1.1\r\nHost: ") == b""


def test_answers_that_are_not_read_are_hung_up(line, monkeypatch):
    monkeypatch.setattr("segvote.review.serving.guard.UNREAD_SECONDS", 0.2)
    request = f"GET /{line.token}/api/images/0/picture HTTP/1.1\r\nHost: 127.0.0.1:{line.port}\r\n\r\n".encode()
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.settimeout(600)
        one.connect(("127.0.0.1", line.port))
        with pytest.raises(OSError):  # the server closes the line; a client that reads nothing could send for ever
            for _ in range(100_000):
                one.sendall(request)
    assert read_status(line.ask("/api/run")) == 200


def test_clicks_that_wait_for_a_locked_log_do_not_block_the_page(run_copy, serve_in_thread, monkeypatch):
    """Another process holds the log: all else is answered meanwhile, and the clicks when it lets go."""
    monkeypatch.setattr("segvote.review.engine.PATIENCE_SECONDS", 600.0)
    body, answers = b'{"bag":0,"segments":[0],"value":1}', []
    with serve_in_thread(run_copy) as address:
        line = Line(address, run_copy)
        with contextlib.closing(sqlite3.connect(run_copy / "review.sqlite", isolation_level=None)) as holder:
            holder.execute("BEGIN IMMEDIATE")
            ask = lambda: answers.append(read_status(line.ask("/api/set", "POST", body)))  # noqa: E731
            clicks = [threading.Thread(target=ask) for _ in range(12)]
            for click in clicks:
                click.start()
            assert read_status(line.ask("/api/status")) == 200
            assert read_status(line.ask("/api/images/0/picture")) == 200
            assert answers == []
            holder.execute("ROLLBACK")
        for click in clicks:
            click.join()
    assert answers == [200] * 12 and len(read_actions(run_copy / "review.sqlite")) == 12
