"""`segvote info`: true, complete, and of use where something is missing."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from segvote.cli.app import choose_commands, load_commands
from segvote.cli.info import collect_info, format_extra, format_info


def call(*arguments):
    done = CliRunner().invoke(load_commands(["info"]), ["info", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_json_is_what_was_collected():
    assert json.loads(call("--json")) == json.loads(json.dumps(collect_info()))


def test_every_extra_that_the_project_offers_is_named():
    found = collect_info()
    assert {"video", "web", "dask"} <= set(found["extras"])
    assert "av" in found["extras"]["video"]
    assert "av" not in found["packages"]


def test_a_missing_extra_says_how_to_get_it():
    line = format_extra("web", {"starlette": None, "uvicorn": "1.0"})
    assert "starlette" in line and "uvicorn" not in line
    assert "pip install 'segvote[web]'" in line


def test_weights_that_are_missing_say_why():
    found = {**collect_info(), "weights": {"vgg19": {"missing": "give a path"}}}
    assert "give a path" in format_info(found)


def test_only_the_command_that_is_called_is_loaded():
    assert choose_commands(["info"], {}) == ("info",)
    assert choose_commands([], {}) == choose_commands(["--version"], {}) == ()
    assert choose_commands(["--help"], {}) == choose_commands(["inof"], {}) == ()


def test_completion_loads_the_command_whose_options_are_wanted():
    asked = {"_SEGVOTE_COMPLETE": "complete_bash"}
    assert choose_commands([], {**asked, "COMP_WORDS": "segvote review --po"}) == ("review",)
    assert choose_commands([], {**asked, "COMP_WORDS": "segvote rev"}) == ()
    assert choose_commands([], {**asked, "_TYPER_COMPLETE_ARGS": "segvote "}) == ()


@pytest.mark.parametrize("words", [["segvote"], ["segvote", "--help"]])
def test_greeting_and_list_load_nothing_heavy(words):
    code = f"import sys; sys.argv = {words}\ntry: import segvote.cli; segvote.cli.main()\nexcept SystemExit: pass\n"
    code += "print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
