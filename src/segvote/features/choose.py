"""From a name to an extractor: ``lite0``, ``bow+color``, ``backbone.onnx``."""

from __future__ import annotations

import inspect
from typing import Any

from segvote.errors import BadInputError, SegvoteError, UnknownNameError
from segvote.features.base import FeatureExtractor
from segvote.features.joined import JoinedFeatures
from segvote.registry import Registry

FEATURES = Registry(
    "feature",
    {
        "bow": "segvote.features.bow:BowFeatures",
        "color": "segvote.features.color:ColorFeatures",
        "lbp": "segvote.features.lbp:LbpFeatures",
        "lite0": "segvote.features.networks.lite0:Lite0Features",
        "vgg19": "segvote.features.networks.vgg19:Vgg19Features",
    },
)


def make_features(name: str, **options: Any) -> FeatureExtractor:
    """Make the extractor of a name.

    Parameters
    ----------
    name
        A name of `FEATURES`, the path of a user's backbone (ending in ``.onnx``), or several of them joined by ``+``.
    options
        Parameters of the extractor. In a join each part takes those that it knows; one that nobody knows is an error.

    Examples
    --------
    >>> make_features("color").blocks
    (216,)
    """
    parts = [part.strip() for part in name.split("+")]
    if len(parts) == 1:
        return _make_one(name, options)
    known = [_list_options(part) for part in parts]
    _refuse_unknown(name, options, set().union(*known))
    chosen = [{key: options[key] for key in options if key in keys} for keys in known]
    return JoinedFeatures([_make_one(part, part_options) for part, part_options in zip(parts, chosen, strict=True)])


def _make_one(name: str, options: dict[str, Any]) -> FeatureExtractor:
    _refuse_unknown(name, options, _list_options(name))
    if name.endswith(".onnx"):
        options = {"path": name, **options}
    try:
        return _find_class(name)(**options)
    except (TypeError, ValueError, OverflowError) as error:
        if isinstance(error, SegvoteError):
            raise
        raise BadInputError(
            f"features {name} do not take the options {options!r:.120} ({error}); change them"
        ) from error


def _find_class(name: str) -> type[FeatureExtractor]:
    if name.endswith(".onnx"):
        from segvote.features.networks.backbone import BackboneFeatures

        return BackboneFeatures
    if name not in FEATURES:
        known = ", ".join(FEATURES)
        raise UnknownNameError(
            f"unknown feature {name!r}; the known ones are: {known}, several joined by +, or a path that ends in .onnx"
        )
    return FEATURES[name]


def _list_options(name: str) -> set[str]:
    return set(inspect.signature(_find_class(name)).parameters) - {"path"}


def _refuse_unknown(name: str, options: dict[str, Any], known: set[str]) -> None:
    unknown = sorted(set(options) - known)
    if unknown:
        expected = ", ".join(sorted(known)) or "none"
        raise BadInputError(f"features {name} do not know the option {unknown[0]!r}; their options are: {expected}")
