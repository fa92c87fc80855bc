"""No two bags share an output file."""

import unicodedata
from pathlib import PurePosixPath

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from segvote import annotate
from segvote.run.output_names import ENDINGS, name_frames, name_stems
from segvote.settings import Settings

PARTS = (
    *("a", "A", "a.png", "a.jpg", "a.png.tif", "clip", "clip.mp4", "CLIP", "00001"),
    *("é", "e\u0301", ".a", "a.", "ß", "SS", "n" * 250),
)
NAMES = st.lists(st.sampled_from(PARTS), min_size=1, max_size=3).map(lambda parts: "/".join(["with", *parts]))
LETTERS = st.text("aA.~/\u0301e\n", min_size=1, max_size=9).map(
    lambda text: str(PurePosixPath("with") / text.strip("/"))
)


def fold(path):
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def list_paths(stem, is_video):
    """All files that a bag may write, without the folder of their kind."""
    frames = [f"{stem}/{number:05d}.png" for number in range(3)] if is_video else []
    return [fold(path) for path in [*(stem + ending for ending in ENDINGS), *frames]]


def check(names, videos=()):
    stems = name_stems(names, videos)
    assert set(stems) == set(names)
    paths = [path for name, stem in stems.items() for path in list_paths(stem, name in videos)]
    assert len(set(paths)) == len(paths)
    folders = {str(parent) for path in paths for parent in PurePosixPath(path).parents}
    assert not folders & set(paths)
    assert all(len(part.encode()) <= 255 for path in paths for part in path.split("/"))
    return stems


def keep_possible(names):
    """On one disk no name is that of a file and of a folder."""
    folders = {str(parent) for name in names for parent in PurePosixPath(name).parents}
    return [name for name in names if name not in folders and ".." not in name.split("/")]


@given(st.lists(NAMES | LETTERS, unique=True, max_size=12), st.data())
def test_no_two_bags_share_a_file(names, data):
    names = keep_possible(names)
    check(names, data.draw(st.sets(st.sampled_from(names))) if names else ())


def test_usual_names_lose_their_extension():
    assert check(["with/a.jpg", "with/b/c.d.png", "without/a.jpg", "with/film.mp4"], {"with/film.mp4"}) == {
        "with/a.jpg": "with/a",
        "with/b/c.d.png": "with/b/c.d",
        "without/a.jpg": "without/a",
        "with/film.mp4": "with/film",
    }
    assert check(["with/a.png", "with/a.jpg", "with/b.png"])["with/a.jpg"] == "with/a.jpg"


def test_frames_with_one_number_are_two():
    assert len(set(name_frames(["7.png", "7.jpg", "8.png"]))) == 3
    assert name_frames(["00007.png", "00008.png"]) == ["00007", "00008"]


def test_a_run_on_images_of_one_stem_has_a_mask_for_each(tmp_path, scenes):
    names = ("a.png", "a.jpg", "a.png.tif", "a.png.d/b.png", "A.png")
    for place, source in zip(names, sorted((scenes / "with").glob("*.png")), strict=False):
        (tmp_path / "with" / place).parent.mkdir(parents=True, exist_ok=True)
        with Image.open(source) as picture:
            picture.save(tmp_path / "with" / place)
    quick = Settings(features="color", n_segments=20, size=96)
    run = annotate(tmp_path / "with", scenes / "without", tmp_path / "out", quick, n_jobs=1)
    masks = [run.folder.mask_path(bag.stem) for bag in run.bags]
    assert len(set(masks)) == len(run.bags) == 5 + 6
    assert all(path.is_file() for path in masks)
    assert all(np.any(run.read_mask(index)) for index in range(5))
