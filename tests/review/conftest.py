"""A copy of the small finished run, clients of the application, servers in threads and pages in a browser."""

import contextlib
import threading

import pytest
from browsing import ARGUMENTS, CHROMIUM, PATIENCE

from segvote.review.serving.server import open_server
from segvote.run.classes import open_any_run
from segvote.run.run import Run


@pytest.fixture
def run(run_copy):
    return Run(run_copy)


@pytest.fixture
def make_client():
    """Makes clients of an application whose requests begin with the same path."""
    testclient = pytest.importorskip("starlette.testclient")
    address, own = "http://127.0.0.1:9876", {"Origin": "http://127.0.0.1:9876"}
    return lambda app, base="": testclient.TestClient(app, f"{address}{base}", headers=own, follow_redirects=False)


@contextlib.contextmanager
def serve(folder):
    """Address of a server in a thread: quicker to start than a process."""
    with open_server(open_any_run(folder)) as (server, listener, address):
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
