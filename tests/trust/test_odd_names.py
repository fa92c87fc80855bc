"""Files with odd names, among them names that are no UTF-8, through every command, the page and back."""

import json
import os
import shutil
from contextlib import closing

import pytest
from commands import OPTIONS, TINY
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from test_server import Page, run_server

import segvote
from segvote import annotate
from segvote.datasets import write_scenes
from segvote.io.names import fold_name
from segvote.run.correction_log import read_actions
from segvote.run.run import Run
from segvote.steps.export import export
from segvote.steps.importing import import_corrections

# Endings of folders, addresses, globs, markup, text that ends lines or attributes, two spellings of one letter.
KNOWN = [
    *(b"caf\xe9", b"caf\xc3\xa9", b"cafe\xcc\x81", b"\xff\xfe", b"\xed\xa0\x80", b"\xf0\x9f\x90\x84", b"\xe2\x80\xae"),
    *(b"a\nb", b"-o", b"a b ", b"<i>&\"'", b"a\\b", b"%", b"a?d=b", b"#1", b"*", b"CON", b"a.png", b"A.PNG"),
    *(b"\x1b[31m", b"~", b"l" * 247, b"\xe9" * 247),
]
STEMS = st.one_of(st.sampled_from(KNOWN), st.binary(min_size=1, max_size=60)).filter(
    lambda stem: not stem.startswith(b".") and b"/" not in stem and b"\0" not in stem
)
IMPORTED = {
    "coco": "annotations/instances_default.json",
    "cvat": "annotations.xml",
    "label-studio": "tasks.json",
    "labelme": "",
}


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("named")
    write_scenes(folder, n_with=6, n_without=2, size=(64, 48), object_area=(0.08, 0.16))
    return folder


def rename(scenes, folder, stems):
    """A copy of the scenes in which as many images as there are stems are called by them; returns their names."""
    shutil.copytree(scenes, folder)
    for path, stem in zip(sorted((folder / "with").iterdir()), stems, strict=False):
        for kind in ("with", "masks"):
            target = os.path.join(os.fsencode(folder / kind), stem + b".png")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.rename(folder / kind / path.name, target)
    return [f"with/{os.fsdecode(stem)}.png" for stem in stems]


def run_all(stage, folder, names):
    """Every command on a folder of odd names: what failed, and how."""
    out, failed = folder / "out", []

    def run(*arguments):
        done = stage.run(*arguments)
        if done["code"] != 0 or "Traceback" in done["errors"] or "left out:" in done["output"] + done["errors"]:
            failed.append((arguments[0], *arguments[2:5], done["code"], done["errors"][-300:], done["output"][-300:]))

    run("annotate", folder / "with", folder / "without", "-o", out, "--jobs", "1", *OPTIONS)
    run("explain", out, names[0])
    run("doctor", out)
    run("evaluate", out, "--truth", folder / "masks", "--csv", folder / "table.csv", "--html", folder / "page.html")
    run("predict", out, folder / "with", "-o", folder / "predicted", "--jobs", "1")
    for format in segvote.EXPORTS:
        run("export", out, "--format", format, "-o", folder / format, "--images", "copy", "--val-share", "0")
    for format, file in IMPORTED.items():
        run("import", out, folder / format / file)
    run("evaluate", out, "--truth", folder / "coco" / IMPORTED["coco"])
    run("update", out, "--jobs", "1")
    run("extent", out, "3", "--image", names[0], "--jobs", "1")
    return failed


def review(out, names):
    """Whether the page lists every image, by a name of its own, and saves a click on each."""
    run, n_before = Run(out), len(read_actions(out / "review.sqlite"))
    with run_server(out) as address, closing(Page(address)) as page:
        shown = page.ask("run")[1]["images"]
        clicks = [page.ask("accept", {"bags": [bag], "value": True})[0] for bag in range(len(run))]
    assert len({image["name"] for image in shown}) == len(shown)
    assert clicks == [200] * len(run) == [200] * (len(read_actions(out / "review.sqlite")) - n_before)
    assert {bag.name for bag in run.bags} >= set(names)


@pytest.mark.parametrize("n_tries", [1, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.timeout(7200)
def test_odd_names_pass_through_every_command(stage, scenes, tmp_path, ledger, n_tries):
    tried = []

    # Not shrunk: an example takes half a minute, and is small as it is.
    @settings(
        max_examples=n_tries, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.lists(STEMS, min_size=4, max_size=4, unique=True))
    def check(stems):
        folder = tmp_path / str(len(tried))
        tried.append(stems)
        names = rename(scenes, folder, [b"caf\xe9", *(stem for stem in stems if stem != b"caf\xe9")])
        assert run_all(stage, folder, names) == []
        review(folder / "out", names)
        coco = json.loads((folder / "coco" / IMPORTED["coco"]).read_text())
        assert len({image["file_name"] for image in coco["images"]}) == len(coco["images"]) == len(Run(folder / "out"))

    check()
    ledger("files with odd names, through every command", sum(map(len, tried)))


def list_folded(folder):
    return [fold_name(path.relative_to(folder).as_posix()) for path in folder.rglob("*") if path.is_file()]


def test_names_that_differ_in_case_only_stay_apart(scenes, tmp_path, ledger):
    """What is exported on Linux can be copied to a disk of macOS or Windows, and imported from there."""
    stems = [b"A", b"a", b"sub/x", b"sub/X", b"caf\xc3\xa9", b"cafe\xcc\x81"]
    names = rename(scenes, tmp_path / "in", stems)
    out = tmp_path / "out"
    annotate(tmp_path / "in/with", tmp_path / "in/without", out, TINY, n_jobs=1)
    folders, lost = [out, *(tmp_path / format for format in segvote.EXPORTS)], 0
    for format in segvote.EXPORTS:
        export(out, format, tmp_path / format, images="copy", val_share=0)
    for folder in folders:
        files = list_folded(folder)
        if len(set(files)) < len(files):
            print(folder.name, sorted(one for one in files if files.count(one) > 1))
            lost += 1
    for format, file in IMPORTED.items():
        imported = import_corrections(out, tmp_path / format / file)
        lost += bool(imported.problems or imported.corrected) or not {*imported.same} >= {*names}
    ledger("run folders and exports of names that differ in case only", len(folders) + len(IMPORTED), lost)
