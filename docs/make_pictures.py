"""Screenshots for the documentation: report and review page of the demo, by headless Chromium.

    make docs-pictures

The scenes are drawn by segvote itself, so the pictures are free and the same on every machine but for fonts. Needs
playwright and a Chromium; `CHROMIUM` names another one than the first on the path.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

import segvote
from segvote.datasets import write_scenes
from segvote.review.serving.server import open_reviewed, open_server

IMAGES = Path(__file__).resolve().parent / "images"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
N_IMAGES = 12  # of each folder
CUP = segvote.Settings(label="cup")
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 780}


def make_run(folder: Path) -> Path:
    """The demo in small."""
    os.chdir(folder)  # the page shows paths: short ones
    write_scenes("photos", n_with=N_IMAGES, n_without=N_IMAGES)
    return segvote.annotate("photos/with", "photos/without", "out", CUP, n_jobs=1).folder.path


@contextmanager
def serve(run: Path) -> Iterator[str]:
    """Address of a review server in a thread."""
    with open_server(open_reviewed(run)) as (server, listener, address):
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join()


def save(page: Page, name: str) -> None:
    """What the page shows, as a small file."""
    Image.open(io.BytesIO(page.screenshot())).convert("RGB").save(IMAGES / f"{name}.webp", quality=85, method=6)


def open_page(browser: Browser, address: str, viewport: dict[str, int]) -> Page:
    page = browser.new_page(viewport=viewport, color_scheme="light")
    page.goto(address)
    return page


def show_report(browser: Browser, run: Path) -> None:
    page = open_page(browser, (run / "report.html").resolve().as_uri(), DESKTOP)
    save(page, "report")
    page.locator(".figures").scroll_into_view_if_needed()
    save(page, "report-histograms")
    page.close()


def show_review(browser: Browser, address: str) -> None:
    """The page as it opens, after a click, the overview, finish, and on a phone."""
    page = open_page(browser, address, DESKTOP)
    page.wait_for_selector("#saved[data-votes=ready]")
    page.wait_for_function("() => segvote.getRegions() !== null && segvote.isDrawn(segvote.store.current)")
    save(page, "review")
    page.locator("#canvas").focus()
    page.locator("#hint-close").click()
    for key in ("ArrowRight", "w"):
        page.keyboard.press(key)
    page.wait_for_selector(".votes-head")
    page.wait_for_load_state("networkidle")
    save(page, "review-votes")
    for key, name in {"c": "review-overview", "e": "review-finish"}.items():
        page.keyboard.press(key)
        page.wait_for_timeout(1500)  # thumbnails are drawn one after the other
        save(page, name)
    page.close()
    phone = open_page(browser, address, PHONE)
    phone.wait_for_function("() => window.segvote?.getRegions() && segvote.isDrawn(segvote.store.current)")
    save(phone, "review-phone")
    phone.close()


def main(make: Callable[[Path], Path] = make_run) -> None:
    """Write all pictures into ``docs/images``."""
    if CHROMIUM is None:
        raise SystemExit("expected a Chromium on the path, found none; install one, or name it in CHROMIUM")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        run = make(Path(folder))
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        show_report(browser, run)
        with serve(run) as address:
            show_review(browser, address)
        browser.close()


if __name__ == "__main__":
    main()
