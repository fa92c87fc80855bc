"""Every file of the corpus is read or refused by name: no crash, no hang, no memory above the bound."""

import json
from collections import Counter

import pytest
from corpus import MAKERS, make_corpus
from reader import Reader

from segvote.io.images import list_images

MAX_MEGABYTES = 2048  # of the whole process, whatever the file: 100 million pixels with transparency take 1,941
MAX_SECONDS = 10.0  # of the processor: how long the clock runs is the machine's affair


def read_corpus(folder, n_files, seed):
    """[(exhibit, answer)], and the number of megabytes that the process grew to."""
    reader = Reader()
    answers = [(exhibit, reader.read(exhibit.path)) for exhibit in make_corpus(folder, n_files, seed)]
    reader.close()
    return answers


def find_fault(exhibit, answer):
    """What is wrong with an answer, or None."""
    kind, message, seconds, megabytes = answer
    if kind not in ("read", "refused"):
        return f"{kind}: {message}"
    if exhibit.is_bad is not None and (kind == "refused") != exhibit.is_bad:
        return f"{kind}: {message}"
    if kind == "refused" and exhibit.path.name.split(" ")[0] not in message:
        return f"not named: {message}"
    if seconds > MAX_SECONDS or megabytes > MAX_MEGABYTES:
        return f"{seconds:.1f} s, {megabytes} MB"
    return None


def judge(ledger, answers):
    faults = [(exhibit.path.name, fault) for exhibit, answer in answers if (fault := find_fault(exhibit, answer))]
    for fault in faults:
        print(*fault)
    kinds = Counter(exhibit.kind for exhibit, _ in answers)
    assert len(kinds) == len(MAKERS)
    ledger(f"bad and odd image files read, of {len(kinds)} kinds", len(answers), len(faults))


def test_a_hundred_bad_files_are_read_or_named(tmp_path, ledger):
    judge(ledger, read_corpus(tmp_path / "corpus", 100, seed=0))


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_two_thousand_bad_files_are_read_or_named(tmp_path, ledger):
    judge(ledger, read_corpus(tmp_path / "corpus", 2100, seed=1))


def test_the_corpus_is_the_same_for_the_same_seed(tmp_path):
    one, other = (make_corpus(tmp_path / name, len(MAKERS), seed=3) for name in "ab")
    for first, second in zip(one, other, strict=True):
        assert first.kind == second.kind
        if first.path.is_file() and not first.path.is_symlink():
            assert first.path.read_bytes() == second.path.read_bytes()


def test_a_run_names_every_bad_file_in_one_line_each(stage, world, ledger):
    folder = world.work / "with"
    exhibits = make_corpus(folder, len(MAKERS), seed=5)
    for path in (world.scenes / "with").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    arguments = [folder, world.scenes / "without", "-o", world.work / "out", "--jobs", "1", "--features", "color"]
    done = stage.run("annotate", *arguments, "--n-segments", "8", "--size", "48")
    assert done["code"] == 0, done["errors"]
    record = json.loads((world.work / "out" / "run.json").read_text())
    named = {problem["name"] for problem in record["problems"]}
    kept = {bag["name"] for bag in record["bags"]}
    listed = {path.relative_to(folder).as_posix() for path in list_images(folder)}
    missing = [name for name in listed if to_json(f"with/{name}") not in {*named, *kept}]
    silent = [one for one in exhibits if one.is_bad and f"with/{one.path.name}" in kept]
    # A damaged copy of a picture may be the near-duplicate of one in the other folder.
    lines = [line for line in done["errors"].splitlines() if not line.startswith("near-duplicates")]
    ledger("bad files in the folders of `annotate`, each named", len(exhibits), len(missing) + len(silent))
    assert len(lines) == len(named) and all(line.startswith("left out: ") for line in lines)
    assert "\x1b" not in done["errors"]


def to_json(name):
    return json.loads(json.dumps(name.encode("utf-8", "replace").decode()))
