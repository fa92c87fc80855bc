"""Options of voters from the command line: typed, and an unknown one lists the known."""

import numpy as np
import pytest
from typer.testing import CliRunner

from segvote.cli.app import load_commands
from segvote.errors import BadInputError, UnknownNameError
from segvote.run.run import Run
from segvote.voters import VOTERS
from segvote.voters.options import list_options, parse_options, parse_options_of_all


def test_values_get_the_types_of_the_signature():
    texts = ["bandwidth_for=10", "max_iter=5", "own-bag=false", "grid=0.1,1", "bandwidth_rule=separate"]
    assert parse_options("ekde-paper", [*texts, "bandwidth_against=none"]) == {
        "bandwidth_for": 10.0,
        "max_iter": 5,
        "own_bag": False,
        "grid": (0.1, 1.0),
        "bandwidth_rule": "separate",
        "bandwidth_against": None,
    }


@pytest.mark.parametrize("voter", VOTERS)
def test_every_voter_takes_its_defaults_back_as_text(voter):
    defaults = VOTERS[voter]().get_params()
    for name in list_options(voter):
        value = defaults[name]
        text = ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
        assert parse_options(voter, [f"{name}={text}"]) == {name: value}


def test_an_unknown_option_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match="voter crane has no option 'k'; it has: s_cut, ties"):
        parse_options("crane", ["k=3"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_iter=1.5", "max_iter of voter ekde-paper must be a whole number; got '1.5'"),
        ("bandwidth_for=wide", "must be a number or none; got 'wide'"),
        ("own_bag=2", "must be true or false; got '2'"),
        ("max_iter", "expected an option as NAME=VALUE, got 'max_iter'"),
    ],
)
def test_a_wrong_value_says_what_is_expected(text, message):
    with pytest.raises(BadInputError, match=message):
        parse_options("ekde-paper", [text])


def test_an_option_reaches_all_that_have_it_or_the_one_named():
    found = parse_options_of_all(("ekde", "sskde", "negmin"), ["n_neighbors=9", "negmin.reading=bag"])
    assert found == {"ekde": {"n_neighbors": 9}, "sskde": {"n_neighbors": 9}, "negmin": {"reading": "bag"}}


def test_an_option_that_no_chosen_voter_has_is_refused():
    with pytest.raises(UnknownNameError, match="no voter has an option 'max_iter'; known are: bandwidth, reading"):
        parse_options_of_all(("negmin",), ["max_iter=3"])
    with pytest.raises(UnknownNameError, match="no voter 'crane' takes part"):
        parse_options_of_all(("negmin",), ["crane.ties=none"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("annotate", "a", "b", "-o", "c", "--voter", "crane"),
        ("compare", "a", "b", "--truth", "m", "-o", "c", "--voters", "crane"),
        ("benchmark", "pittcar", "a", "-o", "c", "--voters", "crane"),
    ],
)
def test_commands_refuse_an_unknown_option_before_any_work(arguments):
    result = CliRunner().invoke(load_commands(), [*arguments, "--voter-option", "k=3"])
    assert isinstance(result.exception, UnknownNameError)
    assert "s_cut" in str(result.exception)


@pytest.mark.filterwarnings("ignore:the printed iteration selected:UserWarning")
def test_annotate_takes_voter_options_and_the_sign_decision(scenes, tmp_path):
    words = ["annotate", scenes / "with", scenes / "without", "-o", tmp_path / "run", "--voter", "ekde-paper"]
    for option in ("bandwidth_for=0.3", "bandwidth-against=0.1", "max_iter=3"):
        words += ["--voter-option", option]
    words += ["--decision", "sign", "--smoothing", 0, "--features", "color", "--n-segments", 20, "--size", 80]
    done = CliRunner().invoke(load_commands(), [str(word) for word in words])
    assert done.exit_code == 0, done.output
    run = Run(tmp_path / "run")
    assert run.settings.voter_options == {"bandwidth_for": 0.3, "bandwidth_against": 0.1, "max_iter": 3}
    votes, part = run.votes, run.get_slice(0)
    best = np.arange(part.stop - part.start) == votes["votes"][part].argmax()  # every *with* image keeps it
    np.testing.assert_array_equal(votes["selected"][part].astype(bool), (votes["votes"][part] > 0) | best)
