"""Names that text cannot hold: percent-encoded outside, never one for another."""

import os
from pathlib import PurePosixPath

from hypothesis import given
from hypothesis import strategies as st

from segvote.io.names import MAX_STEP, FileNamer, encode_name, encode_names, fold_name, shorten_step

STEPS = st.binary(min_size=1, max_size=MAX_STEP).filter(lambda step: b"/" not in step and b"\0" not in step)
NAMES = st.lists(STEPS, min_size=1, max_size=3).map(lambda steps: os.fsdecode(b"/".join(steps)))


@given(NAMES)
def test_an_encoded_name_is_text_and_fits_a_disk(name):
    outside = encode_name(name)
    assert all(len(step) <= MAX_STEP for step in outside.encode("utf-8").split(b"/"))
    assert outside.isprintable() or not set(outside) & set(map(chr, range(32)))
    assert encode_name(outside) == outside


@given(st.lists(NAMES, max_size=8, unique=True))
def test_no_two_names_are_encoded_alike(names):
    assert len(set(encode_names(names).values())) == len(names)


def test_a_name_really_called_like_an_encoded_one_keeps_it():
    assert encode_names(["caf\udce9.png", "caf%E9.png"]) == {"caf\udce9.png": "caf%E9~.png", "caf%E9.png": "caf%E9.png"}


def test_a_long_step_keeps_its_beginning_and_extension():
    short = shorten_step("x" * 300 + ".png", 255)
    assert short.startswith("x" * 48 + "~") and short.endswith(".png") and len(short) < 80
    assert shorten_step("x" * 301 + ".png", 255) != short
    assert shorten_step("x.png", 255) == "x.png"


@given(st.lists(NAMES, max_size=8, unique=True))
def test_stems_of_exports_leave_room_for_endings(names):
    namer = FileNamer()
    outside = [name for name in encode_names(names).values() if not {".", ".."} & set(name.split("/"))]
    stems = [namer.choose_stem(name) for name in outside]
    assert len({stem.casefold() for stem in stems}) == len(stems)
    assert all(len(step) + 40 <= MAX_STEP for stem in stems for step in stem.encode().split(b"/")[-1:])


LETTERS = st.text("aAbé\u0301É~%/.\udce9ß", min_size=1, max_size=6).filter(lambda name: PurePosixPath(name).name)


@given(st.lists(LETTERS.map(lambda name: f"with/{PurePosixPath(name)}".replace("//", "/")), unique=True))
def test_foldable_names_lie_in_one_folder_on_any_disk(names):
    found = encode_names(names, foldable=True)
    files = [fold_name(outside) for outside in found.values()]
    folders = {fold_name(str(folder)) for outside in found.values() for folder in PurePosixPath(outside).parents}
    assert list(found) == names and len({*files}) == len(files) and not folders & {*files}
    alone = [name for name in names if [fold_name(one) for one in names].count(fold_name(name)) == 1]
    assert all(found[name] == name for name in alone if encode_name(name) == name and fold_name(name) not in folders)
