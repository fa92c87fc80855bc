"""The command line as a user meets it: help with examples, one-line errors, exit codes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from calling import call

from segvote.cli.app import COMMANDS


def run(*arguments):
    command = [sys.executable, "-m", "segvote", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"COLUMNS": "200"})


def test_alone_it_says_what_to_do_first():
    done = run()
    assert done.returncode == 0
    assert "segvote demo" in done.stdout
    assert "segvote annotate" in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command):
    done = call(command, "--help")
    assert done.returncode == 0
    assert "Examples:" in done.stdout


def test_an_error_is_one_line_and_not_zero(tmp_path, scenes):
    done = run("annotate", tmp_path / "nothing", scenes / "without", "-o", tmp_path / "out")
    assert done.returncode == 2
    assert done.stderr.startswith("segvote: expected a folder of images")
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_an_unknown_voter_lists_the_known_ones(tmp_path, scenes):
    done = call("annotate", scenes / "with", scenes / "without", "-o", tmp_path / "out", "--voter", "nobody")
    assert done.returncode == 2
    assert "ekde" in done.stderr


def test_the_version_is_printed():
    assert run("--version").stdout.startswith("segvote ")


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no /dev/full here")
@pytest.mark.parametrize("arguments", [["--version"], [], ["info"], ["annotate", "--help"]])
def test_an_output_that_is_full_is_told_in_one_line(arguments):
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "segvote", *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr.startswith("segvote: cannot write the output")
    assert len(done.stderr.strip().splitlines()) == 1
