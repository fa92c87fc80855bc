"""From a name to an extractor: ``lite0``, ``bow+color``, ``backbone.onnx``, ``hf:facebook/dinov2-small``."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable
from typing import Any

from segvote.errors import BadInputError, SegvoteError, UnknownNameError
from segvote.features.base import FeatureExtractor, JoinedFeatures
from segvote.registry import Registry

FEATURES = Registry(
    "feature",
    {
        "bow": "segvote.features.bow:BowFeatures",
        "color": "segvote.features.histograms:ColorFeatures",
        "lbp": "segvote.features.histograms:LbpFeatures",
        "lite0": "segvote.features.networks.lite0:Lite0Features",
        "vgg16": "segvote.features.networks.vgg:Vgg16Features",
        "vgg19": "segvote.features.networks.vgg:Vgg19Features",
    },
)
HUGGING_FACE = "hf:"


def split_features(name: str) -> list[str]:
    """The parts of a name such as ``bow+color``."""
    return [part.strip() for part in name.split("+")]


def list_feature_options(name: str) -> set[str]:
    """Names of the options that the features of a name take."""
    return set().union(*map(_list_options, split_features(name)))


def parse_feature_options(name: str, texts: Iterable[str]) -> dict[str, Any]:
    """Parse options ``NAME=VALUE`` of the features of a name: numbers, several joined by commas, true, false or words.

    Examples
    --------
    >>> parse_feature_options("lite0", ["size=672", "pooling=max"])
    {'size': 672, 'pooling': 'max'}
    """
    options: dict[str, Any] = {}
    for text in texts:
        key, sign, value = text.partition("=")
        if not sign:
            raise BadInputError(f"expected a feature option as NAME=VALUE, got {text!r:.60}")
        options[key.strip().replace("-", "_")] = _parse_value(value.strip())
    _refuse_unknown(name, options)
    return options


def _parse_value(text: str) -> Any:
    try:
        values = json.loads(f"[{text.lower()}]")
    except ValueError:
        return text
    return values[0] if len(values) == 1 else values


def make_features(name: str, **options: Any) -> FeatureExtractor:
    """Make the extractor of a name.

    Parameters
    ----------
    name : str
        A name of `FEATURES`, the path of a user's backbone (ending in ``.onnx``), ``hf:`` and the name or folder of a
        Hugging Face model, or several of them joined by ``+``.
    **options
        Parameters of the extractor. In a join each part takes those that it knows; one that no part knows is an error.

    Examples
    --------
    >>> make_features("color").blocks
    (216,)
    """
    _refuse_unknown(name, options)
    parts = [_make_one(part, options) for part in split_features(name)]
    return parts[0] if len(parts) == 1 else JoinedFeatures(parts)


def _make_one(name: str, options: dict[str, Any]) -> FeatureExtractor:
    options = {key: value for key, value in options.items() if key in _list_options(name)}
    if name.endswith(".onnx") or name.startswith(HUGGING_FACE):
        options = {"path": name.removeprefix(HUGGING_FACE), **options}
    try:
        return _find_class(name)(**options)
    except SegvoteError:
        raise
    except (TypeError, ValueError, OverflowError) as error:
        raise BadInputError(
            f"features {name} do not take the options {options!r:.120} ({error}); change them"
        ) from error


def _find_class(name: str) -> type[FeatureExtractor]:
    if name.startswith(HUGGING_FACE):
        from segvote.features.networks.hugging_face import HuggingFaceFeatures

        return HuggingFaceFeatures
    if name.endswith(".onnx"):
        from segvote.features.networks.backbone import BackboneFeatures

        return BackboneFeatures
    if name not in FEATURES:
        known = ", ".join(FEATURES)
        raise UnknownNameError(
            f"unknown feature {name!r}; the known ones are: {known}, several joined by +, a path that ends in .onnx, "
            "or hf: and a name or folder"
        )
    return FEATURES[name]


def _list_options(name: str) -> set[str]:
    return set(inspect.signature(_find_class(name)).parameters) - {"path"}


def _refuse_unknown(name: str, options: dict[str, Any]) -> None:
    known = list_feature_options(name)
    if unknown := sorted(set(options) - known):
        expected = ", ".join(sorted(known)) or "none"
        raise BadInputError(f"features {name} do not know the option {unknown[0]!r}; their options are: {expected}")
