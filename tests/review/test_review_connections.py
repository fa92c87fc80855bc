"""Connections that never finish their headers are closed, and do not keep the page from being answered."""

import contextlib
import socket
import urllib.parse

import pytest

pytest.importorskip("starlette")

from test_review_socket import ask

from segvote.review.serving import connections

N_HALF = 200


@pytest.fixture
def half_open(run_copy, serve_in_thread):
    """Address of a page, and a function that opens connections on which half a request was sent."""
    with contextlib.ExitStack() as opened:
        address = opened.enter_context(serve_in_thread(run_copy))

        def open_half(text=b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "):
            link = socket.create_connection(("127.0.0.1", urllib.parse.urlsplit(address).port))
            opened.callback(link.close)
            link.settimeout(60)
            link.sendall(text)
            return link

        yield address, open_half


def is_closed(link):
    """Whether the server closed a connection, after at most a minute."""
    try:
        while link.recv(1 << 16):  # the rest of an answer
            pass
        return True
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False


def test_half_sent_headers_are_given_up(half_open, monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.2)
    address, open_half = half_open
    links = [open_half(), open_half(b"")]
    assert all(map(is_closed, links))
    assert ask(address, "status") == 200


def test_headers_half_sent_after_a_request_are_given_up(half_open, monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.2)
    _, open_half = half_open
    link = open_half(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    assert b"403" in link.recv(1 << 16)
    link.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
    assert is_closed(link)


def test_the_oldest_half_open_connection_gives_way(half_open, monkeypatch):
    """More connections than the limit: the page is answered, and the first that waits is closed."""
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 20)
    address, open_half = half_open
    links = [open_half() for _ in range(N_HALF)]
    assert ask(address, "status") == 200
    assert all(map(is_closed, links[: N_HALF - 20]))


def test_a_request_in_progress_is_not_given_up(half_open, monkeypatch):
    """An event stream has sent its headers: it stays open, whatever the limits."""
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.2)
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 5)
    address, open_half = half_open
    path = urllib.parse.urlsplit(address).path
    stream = open_half(f"GET {path}api/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    assert b"200 OK" in stream.recv(1 << 16)
    assert all(map(is_closed, [open_half() for _ in range(10)]))
    stream.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        assert stream.recv(1 << 16) != b""
