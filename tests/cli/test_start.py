"""Imports that a command avoids."""

import subprocess
import sys

import pytest

from segvote.cli.app import COMMANDS, get_name, load_commands, read_summary

LIST_MODULES = """
import sys
from segvote.cli import main
try:
    main()
finally:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
HEAVY = {"numpy", "scipy", "sklearn", "skimage", "cv2", "PIL", "onnxruntime", "joblib", "msgspec"}
REPEAT = """
import sys
from segvote import Run, annotate
folder, out = sys.argv[1:]
annotate(folder + "/with", folder + "/without", out, Run(out).settings, n_jobs=1)
print("sklearn" in sys.modules)
"""


def run_python(*arguments):
    return subprocess.run(
        [sys.executable, "-c", *map(str, arguments)], capture_output=True, text=True, check=True
    ).stdout


def test_a_repeated_run_does_not_import_scikit_learn(scenes, run_copy):
    assert run_python(REPEAT, scenes, run_copy).strip() == "False"


def test_a_worker_does_not_import_matplotlib():
    code = "import sys, segvote.segmentation.ward; print('matplotlib' in sys.modules, 'higra' in sys.modules)"
    assert run_python(code).split() == ["False", "True"]


@pytest.mark.parametrize("option", ["--help", "-h", "--version"])
def test_the_list_of_commands_imports_nothing_heavy(option):
    done = subprocess.run([sys.executable, "-c", LIST_MODULES, option], capture_output=True, text=True, check=True)
    foreign = set(done.stderr.split()) - sys.stdlib_module_names
    assert {"segvote", "typer", "rich"} <= foreign
    assert foreign.isdisjoint(
        {"numpy", "scipy", "sklearn", "skimage", "cv2", "PIL", "onnxruntime", "joblib", "msgspec"}
    )
    assert "segvote" in done.stdout


def test_the_list_of_commands_has_their_own_first_lines():
    helps = {get_name(command): command.callback.__doc__ for command in load_commands().registered_commands}
    assert {name: read_summary(name) for name in COMMANDS} == {
        name: text.strip().partition("\n")[0] for name, text in helps.items()
    }
