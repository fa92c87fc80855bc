"""The Python interface: explicit signatures, opened runs, images in memory, examples that run."""

import asyncio
import doctest
import inspect
import os
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request

import numpy as np
import pytest
from PIL import Image

import segvote
from segvote import api, opened_run, registry, settings
from segvote.cli.app import COMMANDS
from segvote.errors import BadInputError
from segvote.io.images import read_image
from segvote.method import estimator, table
from segvote.pipeline import in_memory
from segvote.run import run as run_module

QUICK = segvote.Settings(features="color", n_segments=40, size=160, voter_options={"n_neighbors": 15})

# Modules of the public names.
EXAMPLES = [api, in_memory, opened_run, registry, estimator, table, run_module, settings]


@pytest.fixture(scope="module")
def run(finished_run):
    return segvote.load_run(finished_run.folder.path)


@pytest.mark.parametrize("name", [name for name in segvote.__all__ if inspect.isfunction(getattr(segvote, name))])
def test_every_parameter_is_spelled_out_and_typed(name):
    parameters = inspect.signature(getattr(segvote, name)).parameters.values()
    assert all(one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL) for one in parameters)
    assert all(one.annotation is not one.empty for one in parameters)


def test_every_command_has_its_public_function():
    others = {"extent": "set_extent", "import": "import_corrections", "review": "open_review"}
    named = [others.get(name, name) for name in COMMANDS if name not in ("demo", "info")]
    assert [name for name in named if name not in api.__all__ or name not in segvote.__all__] == []


def test_every_public_name_has_an_example():
    named = {name: getattr(segvote, name) for name in segvote.__all__ if name != "__version__"}
    assert [name for name, value in named.items() if ">>> " not in (value.__doc__ or "")] == []


@pytest.fixture
def example_folder(scenes, finished_run, tmp_path, monkeypatch):
    """A folder with images, true masks, a class and a finished run, in which the examples run."""
    for name in ("with", "without", "masks"):
        shutil.copytree(scenes / name, tmp_path / name)
    shutil.copytree(scenes / "with", tmp_path / "root/cup")
    shutil.copytree(scenes / "without", tmp_path / "root/none")
    shutil.copytree(finished_run.folder.path, tmp_path / "out")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("module", EXAMPLES, ids=lambda module: module.__name__)
def test_the_examples_run(module, example_folder):
    found = doctest.testmod(module)
    assert found.attempted > 0
    assert found.failed == 0


def test_images_of_a_run_are_read_one_by_one(run):
    assert [one.name for one in run] == [bag.name for bag in run.bags]
    one = run.images[0]
    np.testing.assert_array_equal(one.mask, run.read_mask(0))
    assert one.heatmap.shape == one.mask.shape == one.image.shape[:2]
    assert 0 <= one.uncertainty <= 1
    assert one.heatmap[one.mask].mean() > 0 > one.heatmap[~one.mask].mean()


def test_a_plot_shows_image_heat_map_and_mask(run):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure = run.plot(0)
    assert [len(axis.images) for axis in figure.axes] == [1, 1, 1]
    pyplot.close(figure)


def test_an_explanation_sums_to_the_score(run):
    explanation = run.explain(0)
    total = explanation.constant + sum(line.amount for line in explanation.lines)
    assert total == pytest.approx(explanation.score, abs=1e-6)
    assert run.explain(run.bags[0].name, (5, 5)).segment == run.read_segments(0)["labels"][5, 5]


def test_images_in_memory_give_the_masks_of_the_folders(scenes, finished_run):
    paths = [sorted((scenes / name).iterdir()) for name in ("with", "without")]
    given = [Image.open(paths[0][0]), str(paths[0][1]), *(read_image(path) for path in paths[0][2:])]
    found = segvote.annotate_images(given, paths[1], QUICK)
    given[0].close()
    assert len(found) == 6 and isinstance(found[0], segvote.ImageMask)
    for index, one in enumerate(found):
        np.testing.assert_array_equal(one.mask, finished_run.read_mask(index))
        assert one.uncertainty == finished_run.bags[index].uncertainty
        assert one.heatmap[one.mask].mean() > 0 > one.heatmap[~one.mask].mean()


def test_images_in_memory_leave_no_file(scenes, tmp_path, monkeypatch):
    paths = [sorted((scenes / name).iterdir())[:3] for name in ("with", "without")]
    images = [[read_image(path) for path in some] for some in paths]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert len(segvote.annotate_images(*images, QUICK)) == 3
    assert list(tmp_path.iterdir()) == []


def test_an_array_that_is_no_picture_is_named():
    with pytest.raises(BadInputError, match=r"image 0: expected .* got float64 of shape"):
        segvote.annotate_images([np.zeros((4, 4))], [np.zeros((4, 4), np.uint8)])


def test_an_image_in_both_lists_is_named():
    image = np.zeros((40, 40), np.uint8)
    with pytest.raises(BadInputError, match="with image 0 and without image 0 are the same"):
        segvote.annotate_images([image], [image])


def test_review_opens_the_page_of_a_run(run, monkeypatch, capsys):
    served = []
    serve = lambda folder, port, announce: (served.append(folder), announce("http://x/"))  # noqa: E731
    monkeypatch.setattr("segvote.review.serving.server.serve", serve)
    segvote.open_review(run, browser=False)
    assert served == [run.folder.path]
    assert "http://x/" in capsys.readouterr().out


def test_review_opens_inside_an_event_loop(run_copy, monkeypatch):
    pytest.importorskip("uvicorn")
    answers = []

    def ask_and_interrupt(address):
        with urllib.request.urlopen(address) as answer:
            answers.append(answer.status)
        os.kill(os.getpid(), signal.SIGINT)

    async def run_cell():
        def start(text, flush):
            threading.Thread(target=ask_and_interrupt, args=(text.split()[1],)).start()

        monkeypatch.setattr(api, "print", start, raising=False)
        segvote.open_review(segvote.load_run(run_copy), browser=False)

    # Interruptions may be ignored where the tests were started.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    loop = asyncio.new_event_loop()  # asyncio.run would take the interrupt for itself
    loop.run_until_complete(run_cell())
    loop.close()
    signal.signal(signal.SIGINT, before)
    assert answers == [200]


def test_a_script_needs_no_guard_for_its_processes(scenes, tmp_path):
    lines = [
        "import segvote",
        "settings = segvote.Settings(features='color', n_segments=30, size=120)",
        f"run = segvote.annotate({str(scenes / 'with')!r}, {str(scenes / 'without')!r}, 'out', settings, n_jobs=2)",
        "print('once', len(run))",
    ]
    (tmp_path / "script.py").write_text("\n".join(lines))
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("once ") and done.stdout.count("once") == 1
