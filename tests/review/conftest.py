"""A copy of the small finished run, and a caller of ASGI applications that sends exactly what it is told."""

import asyncio
import contextlib
import json
import threading
from dataclasses import dataclass
from urllib.parse import unquote

import pytest
from browsing import ARGUMENTS, CHROMIUM, PATIENCE

from segvote.review.serving.server import open_reviewed, open_server
from segvote.run.run import Run

HOST = "127.0.0.1:9876"


@pytest.fixture
def run(run_copy):
    return Run(run_copy)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict
    content: bytes

    def json(self):
        return json.loads(self.content)


class Caller:
    """Calls an application as a server would, by the address it was given."""

    def __init__(self, app, base=""):
        self.app, self.base = app, base

    def get(self, path, **headers):
        return self.call("GET", path, headers, [b""])

    def post(self, path, message=None, chunks=None, **headers):
        body = chunks if chunks is not None else [json.dumps(message).encode()]
        return self.call("POST", path, {"content-type": "application/json", **headers}, body)

    def call(self, method, path, headers, chunks):
        sent = {"host": HOST}
        sent.update({name.replace("_", "-"): value for name, value in headers.items()})
        where, _, query = (self.base + path).partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(where),
            "raw_path": where.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.encode(), value.encode("latin-1")) for name, value in sent.items()],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 9876),
        }
        return asyncio.run(self._talk(scope, list(chunks)))

    async def _talk(self, scope, chunks):
        messages = []

        async def receive():
            if not chunks:
                return {"type": "http.disconnect"}
            return {"type": "http.request", "body": chunks.pop(0), "more_body": bool(chunks)}

        async def send(message):
            messages.append(message)

        await self.app(scope, receive, send)
        headers = {name.decode().lower(): value.decode() for name, value in messages[0]["headers"]}
        return Answer(messages[0]["status"], headers, b"".join(message.get("body", b"") for message in messages[1:]))


@pytest.fixture
def make_caller():
    return Caller


@contextlib.contextmanager
def serve(folder):
    """Address of a server in a thread: quicker to start than a process."""
    with open_server(open_reviewed(folder)) as (server, listener, address):
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="session")
def serve_in_thread():
    return serve


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def address(run_copy, serve_in_thread):
    with serve_in_thread(run_copy) as address:
        yield address


@pytest.fixture
def open_page(browser):
    """Opens pages and fails on any error that one of them reports."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(PATIENCE)
    errors = []

    def open_one(address):
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]")
        page.wait_for_selector("#saved[data-votes=ready]")
        return page

    yield open_one
    context.close()
    assert errors == []
