"""Files with odd names, among them names that are not UTF-8, through every command, the page and back."""

import json
import os
import shutil

import pytest
from commands import OPTIONS
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from test_server import run_server

import segvote
from segvote.run.correction_log import read_actions
from segvote.run.run import Run

# Other encodings, addresses, globs, markup, line ends, case, two spellings of one letter.
KNOWN = [
    *(b"caf\xc3\xa9", b"cafe\xcc\x81", b"\xff\xfe", b"\xed\xa0\x80", b"\xf0\x9f\x90\x84", b"\xe2\x80\xae"),
    *(b"a\nb", b"-o", b"a b ", b"<i>&\"'", b"a\\b", b"%", b"a?d=b", b"#1", b"*", b"CON", b"a.png", b"A.PNG"),
    *(b"\x1b[31m", b"~", b"l" * 247, b"\xe9" * 247),
]
STEMS = st.one_of(st.sampled_from(KNOWN), st.binary(min_size=1, max_size=60)).filter(
    lambda stem: not stem.startswith(b".") and b"/" not in stem and b"\0" not in stem and stem != b"caf\xe9"
)
COCO = "annotations/instances_default.json"
IMPORTED = {"coco": COCO, "cvat": "annotations.xml", "label-studio": "tasks.json", "labelme": ""}


def rename(scenes, folder, stems):
    """A copy of the scenes in which the first images have these stems; returns their names."""
    shutil.copytree(scenes, folder)
    for path, stem in zip(sorted((folder / "with").iterdir()), stems, strict=False):
        for kind in ("with", "masks"):
            os.rename(folder / kind / path.name, os.path.join(os.fsencode(folder / kind), stem + b".png"))
    return [f"with/{os.fsdecode(stem)}.png" for stem in stems]


def run_all(stage, folder, name):
    """Every command on a folder of odd names."""
    out = folder / "out"

    def run(*arguments):
        done = stage.run(*arguments)
        assert done["code"] == 0 and "left out:" not in done["output"] + done["errors"], (arguments, done)

    run("annotate", folder / "with", folder / "without", "-o", out, "--jobs", "1", *OPTIONS)
    run("explain", out, name)
    run("doctor", out)
    run("evaluate", out, "--truth", folder / "masks", "--csv", folder / "table.csv", "--html", folder / "page.html")
    run("predict", out, folder / "with", "-o", folder / "predicted", "--jobs", "1")
    for format in segvote.EXPORTS:
        run("export", out, "--format", format, "-o", folder / format, "--images", "copy", "--val-share", "0")
    for format, file in IMPORTED.items():
        run("import", out, folder / format / file)
    run("evaluate", out, "--truth", folder / "coco" / COCO)
    run("update", out, "--jobs", "1")
    run("extent", out, "3", "--image", name, "--jobs", "1")


def review(out, names):
    """The page lists every image by a name of its own, and saves a click on each."""
    run, n_before = Run(out), len(read_actions(out / "review.sqlite"))
    with run_server(out) as page:
        shown = page.ask("run")[1]["images"]
        clicks = [page.ask("accept", {"bags": [bag], "value": True})[0] for bag in range(len(run))]
    assert len({image["name"] for image in shown}) == len(shown)
    assert clicks == [200] * len(run) == [200] * (len(read_actions(out / "review.sqlite")) - n_before)
    assert {bag.name for bag in run.bags} >= set(names)


@pytest.mark.parametrize("n_tries", [1, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.timeout(7200)
def test_odd_names_pass_through_every_command(stage, tiny_scenes, tmp_path, n_tries):
    tried = []

    # Not shrunk: an example takes half a minute, and is small as it is.
    @settings(
        max_examples=n_tries, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.lists(STEMS, min_size=2, max_size=2, unique=True))
    def check(stems):
        folder = tmp_path / str(len(tried))
        tried.append(stems)
        names = rename(tiny_scenes, folder, [b"caf\xe9", *stems])
        run_all(stage, folder, names[0])
        review(folder / "out", names)
        coco = json.loads((folder / "coco" / COCO).read_text())
        assert len({image["file_name"] for image in coco["images"]}) == len(coco["images"]) == len(Run(folder / "out"))

    check()
