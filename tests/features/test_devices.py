import onnxruntime
import pytest

from segvote.cli.options import choose_feature_options
from segvote.errors import BadInputError, MissingPartError, UnknownNameError
from segvote.features import make_features
from segvote.features.choose import parse_feature_options
from segvote.features.networks.devices import DEVICES, PROVIDERS, choose_device


@pytest.fixture
def pretend(monkeypatch):
    """Function that pretends that onnxruntime has some providers."""

    def pretend(*names):
        monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [PROVIDERS[name] for name in names])

    return pretend


def test_auto_takes_the_fastest_that_is_installed(pretend):
    pretend("cpu")
    assert choose_device("auto") == "cpu"
    pretend("cpu", "cuda")
    assert choose_device("auto") == "cuda"


def test_a_device_that_is_not_there_is_an_error(pretend):
    pretend("cpu")
    with pytest.raises(MissingPartError, match="only cpu"):
        choose_device("cuda")
    with pytest.raises(UnknownNameError, match=", ".join(DEVICES)):
        choose_device("gpu")


@pytest.mark.filterwarnings("ignore:Specified provider:UserWarning")
def test_a_device_without_driver_is_no_silent_cpu(pretend):
    pretend("cpu", "cuda")  # as a GPU build on a machine without a GPU
    features = make_features("lite0", device="cuda")
    with pytest.raises(MissingPartError, match="driver"):
        features._get_session()


def test_options_are_parsed_by_what_they_look_like():
    texts = ["size=672", "mean=0.5,0.5,0.5", "pooling=max", "multiple=14"]
    assert parse_feature_options("model.onnx", texts) == {
        "size": 672,
        "mean": [0.5, 0.5, 0.5],
        "pooling": "max",
        "multiple": 14,
    }
    assert parse_feature_options("bow+color", ["root=true"]) == {"root": True}


@pytest.mark.parametrize(("text", "reason"), [("size", "NAME=VALUE"), ("sizes=3", "do not know the option 'sizes'")])
def test_an_option_that_is_none_is_an_error(text, reason):
    with pytest.raises(BadInputError, match=reason):
        parse_feature_options("lite0", [text])


def test_the_device_is_recorded_as_what_it_is(pretend):
    pretend("cpu", "cuda")
    assert choose_feature_options("lite0", ["size=672"], "auto", False) == {"size": 672, "device": "cuda"}
    assert choose_feature_options("lite0", None, "cpu", False) == {}
    assert choose_feature_options("bow", None, "auto", False) == {}  # no network
    pretend("cpu")
    assert choose_feature_options("lite0", None, "auto", False) == {}
