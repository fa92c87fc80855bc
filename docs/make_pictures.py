"""Pictures for the documentation: pages of the demo in headless Chromium, frames of a video, predictions, an animation.

    make docs-pictures

The scenes are drawn by segvote itself, so the pictures are free and the same on every machine but for fonts. Needs
playwright and a Chromium; `CHROMIUM` names another one than the first on the path.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Browser, Page, sync_playwright
from scipy import ndimage
from skimage import data

import segvote
from segvote.datasets import make_scenes, write_scenes
from segvote.datasets.scenes import GROUNDS, draw_object, paint_ground, paint_sprite
from segvote.features.networks.weights import list_weights
from segvote.io.overlays import blend_mask
from segvote.review.serving.server import open_server
from segvote.run.classes import open_any_run

IMAGES = Path(__file__).resolve().parent / "images"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
N_IMAGES = 12  # of each folder
CUP = segvote.Settings(label="cup")
# Objects of the scenes of `write_pairs`: kind, share of the image, leftmost column.
PAIRS = {
    "with": (("cup", 0.06, 15), ("flower", 0.08, 170)),
    "without": (("plate", 0.05, 20), ("coin", 0.02, 180)),
}
N_TAUGHT = 2  # finished images of the lesson
MODEL_PLACE, COFFEE_SIZE = [350, 170], [600, 400]  # x and y on the photograph
VIDEO_SIZE, N_VIDEOS, N_FRAMES = (240, 180), 6, 16
TALL, SMALL = {"width": 800, "height": 640}, {"width": 960, "height": 600}
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 780}


def make_run(folder: Path) -> Path:
    """The demo in small."""
    os.chdir(folder)  # the page shows paths: short ones
    write_scenes("photos", make_scenes(n_with=N_IMAGES, n_without=N_IMAGES))
    return segvote.annotate("photos/with", "photos/without", "out", CUP, n_jobs=1).folder.path


@contextmanager
def serve(run: Path) -> Iterator[str]:
    """Address of a review server in a thread."""
    with open_server(open_any_run(run)) as (server, listener, address):
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
    wait_until(page, "() => segvote.getRegions() !== null && segvote.isDrawn(segvote.store.current)")
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
    wait_until(phone, "() => window.segvote?.getRegions() && segvote.isDrawn(segvote.store.current)")
    save(phone, "review-phone")
    phone.close()


def show_explanation(browser: Browser, run: Path) -> None:
    """The page of ``segvote explain --html``, for why.md."""
    command = [sys.executable, "-m", "segvote", "explain", str(run), "with-000", "--html", "why.html"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    page = open_page(browser, Path("why.html").resolve().as_uri(), TALL)
    save(page, "why")
    page.close()


def write_videos(folder: Path) -> None:
    """Pans over made scenes; in half of them a cup slides through."""
    width, height = VIDEO_SIZE
    rng = np.random.default_rng(3)
    for number, scene in enumerate(make_scenes(0, 2 * N_VIDEOS, seed=5, size=(width + 2 * N_FRAMES, height))):
        label = "with" if number % 2 else "without"
        cup, top = draw_object("cup", 0.08 * width * height, rng), rng.integers(10, height // 3)
        target = folder / label / f"clip-{number}"
        target.mkdir(parents=True)
        for frame in range(N_FRAMES):
            picture = scene.image[:, 2 * frame : 2 * frame + width].astype(np.float64) / 255
            if label == "with":
                left = 10 + frame * (width - cup.alpha.shape[1] - 20) // N_FRAMES
                moved = replace(cup, top=int(top), left=left)
                picture = paint_sprite(picture, moved, light=np.array([3.0, 3.0]))[0]
            Image.fromarray((255 * np.clip(picture, 0, 1)).astype(np.uint8)).save(target / f"{frame:03d}.png")


def show_video() -> None:
    """Frames of one video, above as they are, below under their masks."""
    write_videos(Path("films"))
    settings = segvote.Settings(label="cup", size=240, n_segments=100)
    segvote.annotate("films/with", "films/without", "film-run", settings, n_jobs=1)
    clip = sorted(Path("films/with").iterdir())[0].name
    shown, columns = np.linspace(0, N_FRAMES - 1, 5).round().astype(int), []
    for frame in shown:
        picture = np.array(Image.open(f"films/with/{clip}/{frame:03d}.png"))
        mask = np.array(Image.open(f"film-run/masks/with/{clip}/{frame:03d}.png")) > 0
        gap = np.full((6, picture.shape[1], 3), 255, np.uint8)
        columns.append(np.vstack([picture, gap, blend_mask(picture, mask)]))
    save_row(columns, [f"frame {frame}" for frame in shown], "video")


def write_pairs(folder: Path) -> None:
    """Scenes *with* a cup and a flower, both in each of them, and scenes *without* either: which of the two is it?"""
    rng, (width, height) = np.random.default_rng(4), (320, 240)
    for number in range(2 * N_IMAGES):
        label = "with" if number % 2 else "without"
        picture = paint_ground(rng.permutation(list(GROUNDS))[:2].tolist(), height, width, rng)
        for name, area, left in PAIRS[label]:
            sprite = draw_object(name, area * width * height, rng)
            place = {"top": int(rng.integers(10, 110)), "left": left + int(rng.integers(0, 50))}
            picture = paint_sprite(picture, replace(sprite, **place), light=np.array([3.0, 3.0]))[0]
        (folder / label).mkdir(parents=True, exist_ok=True)
        Image.fromarray((255 * np.clip(picture, 0, 1)).astype(np.uint8)).save(folder / label / f"{number:03d}.png")


def show_alternatives(browser: Browser) -> None:
    """The question of a report, for wrong-object.md."""
    write_pairs(Path("pairs"))
    segvote.annotate("pairs/with", "pairs/without", "pair-run", CUP, n_jobs=1)
    page = open_page(browser, Path("pair-run/report.html").resolve().as_uri(), DESKTOP)
    question = page.locator("details.alternatives")
    codes = "document.querySelectorAll('.rows code')"
    shorten = f"(path) => {codes}.forEach((one) => {{ one.textContent = one.textContent.replace(path, 'out'); }})"
    page.evaluate(shorten, str(Path("pair-run").resolve()))  # of a temporary folder
    if question.get_attribute("open") is None:
        question.locator("summary").click()
    shot = Image.open(io.BytesIO(question.screenshot())).convert("RGB")
    shot.save(IMAGES / "wrong-object.webp", quality=85, method=6)
    page.close()


def write_cells(folder: Path) -> None:
    """Cells with a nucleus among plain cells, or plain cells alone; the masks of the nuclei, too."""
    rng, (width, height) = np.random.default_rng(0), VIDEO_SIZE
    rows, columns = np.mgrid[:height, :width]
    for number in range(2 * N_IMAGES):
        label = "with" if number % 2 else "without"
        picture = np.full((height, width, 3), (236, 228, 214)) + rng.normal(0, 5, (height, width, 1))
        for x in (0.2, 0.8):
            place = (columns - x * width) ** 2 + (rows - rng.uniform(0.25, 0.75) * height) ** 2
            picture[place < rng.uniform(14, 24) ** 2] = (205, 120, 118)
        left, top = rng.uniform(0.42, 0.58) * width, rng.uniform(0.35, 0.65) * height
        distance = np.hypot(columns - left, rows - top)
        nucleus = np.hypot(columns - left - 6, rows - top + 4) < rng.uniform(15, 20)
        if label == "with":
            picture[distance < rng.uniform(36, 42)] = (176, 170, 212)
            picture[nucleus] = (92, 60, 140)
        picture = ndimage.gaussian_filter(picture, (1, 1, 0)) + rng.normal(0, 4, picture.shape)
        _write_picture(folder / label / f"{number:02d}.png", picture)
        if label == "with":
            _write_picture(folder / "masks" / f"{number:02d}.png", 255.0 * nucleus)


def _write_picture(path: Path, picture: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.clip(picture, 0, 255).astype(np.uint8)).save(path)


def show_lesson() -> None:
    """Masks before, and after two images were finished: the nucleus was meant, not the cell."""
    write_cells(Path("cells"))
    names = sorted(path.name for path in Path("cells/masks").iterdir())
    Path("few").mkdir()
    for name in names[:N_TAUGHT]:
        shutil.copy(Path("cells/masks") / name, Path("few"))
    settings, shown = segvote.Settings(label="nucleus", size=240, n_segments=100, draw="segments"), names[:5]
    folders = "cells/with", "cells/without"
    runs = [
        segvote.annotate(*folders, "cells-before", settings, n_jobs=1),
        segvote.annotate(*folders, "cells-after", settings, masks="few", n_jobs=1),
    ]
    columns = []
    for name in shown:
        picture = np.array(Image.open(f"cells/with/{name}"))
        pictures = [blend_mask(picture, run.read_mask(run.find(f"with/{name}"))) for run in runs]
        columns.append(np.vstack([pictures[0], np.full((6, picture.shape[1], 3), 255, np.uint8), pictures[1]]))
    save_row(columns, [*["finished"] * N_TAUGHT, *["follows"] * (len(shown) - N_TAUGHT)], "lesson")


def save_row(pictures: list[np.ndarray], captions: list[str], name: str) -> None:
    """Pictures (h, w, 3) side by side, a caption below each."""
    gap, below = 8, 30
    height, width = pictures[0].shape[:2]
    sheet = Image.new("RGB", (len(pictures) * (width + gap) - gap, height + below), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=15)
    for number, (picture, caption) in enumerate(zip(pictures, captions, strict=True)):
        left = number * (width + gap)
        sheet.paste(Image.fromarray(picture), (left, 0))
        pen.text((left + width / 2, height + 6), caption, fill="#333", font=font, anchor="ma")
    sheet.save(IMAGES / f"{name}.webp", quality=85, method=6)


def show_predictions(run: Path) -> None:
    """New images with and without the cup, and one of something else, under their masks."""
    write_scenes("fresh", make_scenes(n_with=2, n_without=2, seed=9))
    new = Path("new")
    new.mkdir()
    for path in Path("fresh").glob("with*/*.png"):
        path.rename(new / path.name)
    Image.fromarray(data.chelsea()).resize((320, 240)).save(new / "z-other.png")
    found = segvote.predict(run, new, "predicted", false_positive_rate=0.1, n_jobs=1)
    pictures, captions = [], []
    for one in found.images:
        picture = np.array(Image.open(new / one.name).convert("RGB").resize((240, 180)))
        mask = (
            np.array(
                Image.open(f"predicted/masks/{Path(one.name).stem}.png").resize((240, 180), Image.Resampling.NEAREST)
            )
            > 0
        )
        pictures.append(blend_mask(picture, mask) if mask.any() else picture)
        captions.append(describe(one))
    save_row(pictures, captions, "predict")


def show_model(browser: Browser) -> None:
    """Part, object and whole of the model click at one place of scikit-image's photograph of a cup, for review.md."""
    if not any(one.name == "mobile-sam" for one in list_weights()):
        print("segvote-mobile-sam is not installed: review-model.webp is left as it is")
        return
    photographs = {"with": (data.coffee(), data.coffee()[:, ::-1]), "without": (data.chelsea(), data.rocket())}
    for label, several in photographs.items():
        for number, picture in enumerate(several):
            _write_picture(Path("table") / label / f"{number}.png", picture.astype(np.float64))
    segvote.annotate("table/with", "table/without", "table-run", CUP, n_jobs=1)
    with serve(Path("table-run")) as address:
        page = open_page(browser, address, SMALL)
        page.wait_for_selector("#saved[data-votes=ready]")
        wait_drawn(page, 0)
        save_row(
            [outline_level(page, level) for level in (1, 2, 3)], ["1: part", "2: object", "3: whole"], "review-model"
        )
        page.close()


def outline_level(page: Page, level: int) -> np.ndarray:
    """(h, w, 3): the photograph on the page with the outline of a level at `MODEL_PLACE`, on an empty mask."""
    if level == 1:
        page.locator("#hint-close").click()
        page.locator("#canvas").focus()
        page.evaluate("() => document.querySelectorAll('.floating').forEach((one) => { one.hidden = true; })")
        for key in ("Shift+B", "Shift+P"):
            page.keyboard.press(key)
        page.evaluate("() => segvote.tell('opacity', 0)")
        wait_until(page, "() => segvote.store.status.lastVoted === 1 && segvote.isDrawn(0)")
    page.keyboard.press(str(level))
    film, (x, y) = Animation(page), page.evaluate("(place) => segvote.imageToScreen(...place)", MODEL_PLACE)
    corners = [page.evaluate("(place) => segvote.imageToScreen(...place)", place) for place in ([0, 0], COFFEE_SIZE)]
    box = page.locator("#canvas").bounding_box()
    film.point(box["x"] + x, box["y"] + y)
    wait_until(page, "() => segvote.getAnswer() !== null")
    page.wait_for_timeout(6000)  # until the message is gone
    film.take(0)
    (left, top), (right, bottom) = (np.round([box["x"] + x, box["y"] + y]).astype(int) for x, y in corners)
    shot = film.frames[0].crop((left, top, right, bottom))
    return np.array(shot.resize((300, round(300 * shot.height / shot.width)), Image.Resampling.LANCZOS))


def describe(image) -> str:
    """The prediction for an image in a few words."""
    answer = "shows it" if image.contains else "unlike both" if image.unlike else "does not"
    return f"{answer}, p {image.p_value:.2f}"


class Animation:
    """Screenshots of a page, and how long each is shown."""

    def __init__(self, page: Page) -> None:
        self.page, self.frames, self.durations = page, [], []

    def take(self, milliseconds: int) -> None:
        shot = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        self.frames.append(shot)
        self.durations.append(milliseconds)

    def point(self, x: float, y: float) -> None:
        """Move the pointer in steps, drawn as a ring: screenshots have none."""
        self.page.evaluate(
            """([x, y]) => {
              let ring = document.getElementById("pointer");
              if (!ring) { ring = document.createElement("div"); ring.id = "pointer"; document.body.append(ring); }
              Object.assign(ring.style, {
                position: "fixed", zIndex: 99, width: "18px", height: "18px", left: `${x - 9}px`, top: `${y - 9}px`,
                borderRadius: "50%", border: "2px solid #fff", background: "rgb(255 200 0 / .75)",
                boxShadow: "0 0 4px #000", pointerEvents: "none" });
            }""",
            [x, y],
        )
        self.page.mouse.move(x, y)

    def save(self, path: Path) -> None:
        first, *rest = self.frames
        first.save(path, save_all=True, append_images=rest, duration=self.durations, loop=0, quality=70, method=6)


def find_stray(page: Page) -> tuple[int, float, float] | None:
    """Image, and place on it, of a part of a mask that is not its largest one."""
    for image in range(N_IMAGES):
        wait_drawn(page, image)
        shown = page.evaluate(
            "(image) => { const m = segvote.lookUpMask(image, segvote.getRegions());"
            " return { width: m.width, height: m.height, pixels: [...m.pixels] }; }",
            image,
        )
        mask = np.array(shown["pixels"], dtype=bool).reshape(shown["height"], shown["width"])
        parts, n_parts = ndimage.label(mask)
        if n_parts > 1:
            sizes = np.bincount(parts.ravel())[1:]
            stray = parts == np.argsort(sizes)[-2] + 1
            row, column = np.unravel_index(np.argmax(ndimage.distance_transform_edt(stray)), stray.shape)
            return image, column + 0.5, row + 0.5
    return None


def wait_drawn(page: Page, image: int) -> None:
    page.evaluate("(image) => segvote.go(image)", image)
    wait_until(page, "(image) => segvote.getRegions() !== null && segvote.isDrawn(image)", image)


def wait_until(page: Page, condition: str, argument: object = None) -> None:
    """`wait_for_function` is refused by the page's own policy."""
    for _ in range(2400):
        if page.evaluate(condition, argument):
            return
        page.wait_for_timeout(50)
    raise SystemExit(f"the page never reached: {condition}")


def animate(browser: Browser, address: str) -> None:
    """A correction, for the README: a stray part is clicked away, the image accepted, all masks shown."""
    page = open_page(browser, address, SMALL)
    page.wait_for_selector("#saved[data-votes=ready]")
    page.locator("#hint-close").click()
    found = find_stray(page)
    image, x, y = found if found else (0, 20.0, 20.0)
    wait_drawn(page, image)
    page.wait_for_timeout(800)
    film = Animation(page)
    film.take(1600)
    page.keyboard.press("p")
    box = page.locator("#canvas").bounding_box()
    column, row = page.evaluate("([x, y]) => segvote.imageToScreen(x, y)", [x, y])
    target = np.array([box["x"] + column, box["y"] + row])
    start = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] - 60])
    for share in np.linspace(0, 1, 6):
        film.point(*(start + share * (target - start)))
        film.take(90 if share < 1 else 700)
    page.mouse.click(*target)
    wait_until(page, "() => segvote.store.status.lastVoted === 1")
    wait_until(page, "(image) => segvote.isDrawn(image)", image)
    page.wait_for_timeout(400)
    film.take(1600)
    page.keyboard.press("a")
    page.wait_for_timeout(1500)
    film.take(1200)
    page.keyboard.press("c")
    page.wait_for_timeout(2500)
    film.take(2200)
    film.save(IMAGES / "review-animation.webp")
    page.close()


def main(make: Callable[[Path], Path] = make_run) -> None:
    """Write all pictures into ``docs/images``."""
    if CHROMIUM is None:
        raise SystemExit("expected a Chromium on the path, found none; install one, or name it in CHROMIUM")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        run = make(Path(folder))
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        show_report(browser, run)
        show_explanation(browser, run)
        show_alternatives(browser)
        show_video()
        show_lesson()
        show_predictions(run)
        show_model(browser)
        with serve(run) as address:
            show_review(browser, address)
            animate(browser, address)
        browser.close()


if __name__ == "__main__":
    main()
