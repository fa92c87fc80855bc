"""The command line: help with examples, completion, one-line errors, exit codes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from calling import call

from segvote import EXPORTS, SEGMENTERS
from segvote.cli.app import COMMANDS, choose_commands, load_commands
from segvote.cli.help import is_research
from segvote.features.networks.weights import InstalledWeights
from segvote.voters import SYSTEMS

GROUP = typer.main.get_command(load_commands())
SCREEN = 24  # lines


def show(*words):
    done = call(*words, columns=80)
    assert done.returncode == 0, done.stderr
    return done.stdout


def list_options(command):
    return [one for one in GROUP.commands[command].params if one.param_type_name == "option"]


def test_without_arguments_the_first_steps_are_printed():
    assert "segvote demo" in show() and "segvote annotate" in show()
    assert show("--version").startswith("segvote ")


def test_annotate_help_fits_two_screens():
    lines = show("annotate", "--help").rstrip().splitlines()
    assert len(lines) <= 2 * SCREEN
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_whole_names_and_examples(command):
    text = show(command, "--help-all" if list_options(command) else "--help")
    missing = [one.opts for one in list_options(command) if not any(name.lstrip("-") in text for name in one.opts)]
    assert missing == []
    assert "Examples:" in text and "<bool>" not in text and "…" not in text.replace("segvote …", "")


def test_research_options_are_shown_on_demand_only():
    some, all_ = show("annotate", "--help"), show("annotate", "--help-all")
    research = [one.opts[0] for one in list_options("annotate") if is_research(one)]
    assert research and [name for name in research if name in some] == []
    assert [name for name in research if name.lstrip("-") not in all_] == []


@pytest.mark.parametrize(
    ("words", "known"),
    [("annotate --voter", SYSTEMS), ("annotate --segmenter", SEGMENTERS), ("export --format", EXPORTS)],
)
def test_choices_complete_in_the_shell(words, known):
    asked = {"_SEGVOTE_COMPLETE": "complete_bash", "COMP_WORDS": f"segvote {words} ", "COMP_CWORD": "3"}
    code = "import sys; sys.argv = ['segvote']; import segvote.cli; segvote.cli.main()"
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True)
    assert done.stdout.split() == list(known)


def test_only_the_command_that_is_called_is_loaded():
    asked = {"_SEGVOTE_COMPLETE": "complete_bash", "COMP_WORDS": "segvote review --po"}
    assert list(choose_commands(["info"], {})) == ["info"]
    assert list(choose_commands([], asked)) == ["review"]
    assert choose_commands(["inof"], {}) == COMMANDS


def test_info_names_versions_extras_and_parts():
    text = show("info")
    assert all(word in text for word in ("segvote", "numpy", "[video]", "crane", "yolo", *SEGMENTERS))
    assert all(word in text for word in ("cores", "GB free", "CPUExecutionProvider", "lite0 (included)"))


@pytest.mark.parametrize(("name", "expected"), [("new/deep", ", writable"), ("file", ", not writable")])
def test_info_tells_whether_the_cache_is_writable(tmp_path, monkeypatch, name, expected):
    (tmp_path / "file").touch()
    monkeypatch.setenv("SEGVOTE_CACHE", str(tmp_path / name))
    line = next(line for line in show("info").splitlines() if line.startswith("cache"))
    assert f"{tmp_path / name}{expected}" in line


def test_info_names_installed_weights(monkeypatch):
    found = InstalledWeights("sam", "segvote-sam", "1.2", "MIT", {})
    monkeypatch.setattr("segvote.cli.info.list_weights", lambda: [found])
    lines = [" ".join(line.split()) for line in show("info").splitlines()]
    assert "weights sam segvote-sam 1.2, 0 MB, MIT" in lines


def test_an_error_is_one_line_and_not_zero(tmp_path, scenes):
    command = ["annotate", str(tmp_path / "nothing"), str(scenes / "without"), "-o", str(tmp_path / "out")]
    done = subprocess.run([sys.executable, "-m", "segvote", *command], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("segvote: expected a folder of images")
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_an_unknown_voter_lists_the_known_ones(tmp_path, scenes):
    done = call("annotate", scenes / "with", scenes / "without", "-o", tmp_path / "out", "--voter", "nobody")
    assert done.returncode == 2
    assert "ekde" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no /dev/full here")
@pytest.mark.parametrize("arguments", [["--version"], ["annotate", "--help"]])
def test_a_full_output_is_one_line(arguments):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "segvote", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("segvote: cannot write the output")
    assert len(done.stderr.strip().splitlines()) == 1
