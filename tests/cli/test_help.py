"""Help that can be read: two screens of 80 columns, names whole, what it costs to show it."""

import os
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from segvote import EXPORTS, SEGMENTERS
from segvote.cli.app import COMMANDS, load_commands, read_summary
from segvote.cli.help import is_research
from segvote.voters import SYSTEMS

GROUP = typer.main.get_command(load_commands())
SCREEN = 24  # lines


def show(*words):
    done = CliRunner(env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).invoke(load_commands(), [*words])
    assert done.exit_code == 0, done.output
    return done.stdout


def list_options(command):
    return [one for one in GROUP.commands[command].params if one.param_type_name == "option"]


def test_annotate_fits_two_screens():
    lines = show("annotate", "--help").rstrip().splitlines()
    assert len(lines) <= 2 * SCREEN
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_option_names_are_whole_and_switches_have_no_type(command):
    text = show(command, "--help-all")
    missing = [one.opts for one in list_options(command) if not any(name.lstrip("-") in text for name in one.opts)]
    assert missing == []
    assert "<bool>" not in text and "…" not in text.replace("segvote …", "")


def test_options_for_experiments_are_shown_on_demand_only():
    some, all_ = show("annotate", "--help"), show("annotate", "--help-all")
    research = [one.opts[0] for one in list_options("annotate") if is_research(one)]
    assert research and all(one.hidden for one in list_options("annotate") if is_research(one))
    assert [name for name in research if name in some] == []
    assert [name for name in research if name.lstrip("-") not in all_] == []


def test_the_list_of_commands_says_what_their_own_help_says():
    for name in COMMANDS:
        assert GROUP.commands[name].help.startswith(read_summary(name))


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (["annotate", "--voter"], SYSTEMS),
        (["annotate", "--segmenter"], SEGMENTERS),
        (["export", "--format"], EXPORTS),
    ],
)
def test_choices_complete_in_the_shell(words, known):
    asked = {"_SEGVOTE_COMPLETE": "complete_bash", "COMP_WORDS": f"segvote {' '.join(words)} ", "COMP_CWORD": "3"}
    code = "import sys; sys.argv = ['segvote']; import segvote.cli; segvote.cli.main()"
    done = subprocess.run([sys.executable, "-c", code], env=os.environ | asked, capture_output=True, text=True)
    assert done.stdout.split() == list(known)
