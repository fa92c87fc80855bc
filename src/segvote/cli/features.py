"""Options of the features on the command line: parameters, the device, and whether a model may be downloaded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from segvote.features.choose import HUGGING_FACE, list_feature_options, parse_feature_options, split_features
from segvote.features.networks.devices import AUTO, CPU, choose_device


def choose_feature_options(features: str, texts: Sequence[str] | None, device: str, download: bool) -> dict[str, Any]:
    """Feature options for `Settings`; the device is written down as what it is here, and the CPU not at all.

    Parameters
    ----------
    features
        As typed: a name, a path, several joined by ``+``.
    texts
        ``NAME=VALUE``, each a parameter.
    device
        A name of `segvote.features.networks.devices.DEVICES`.
    download
        Whether Hugging Face models that are not on this machine are fetched first.
    """
    models = [part.removeprefix(HUGGING_FACE) for part in split_features(features) if part.startswith(HUGGING_FACE)]
    if download and models:
        from segvote.features.networks.hugging_face import download_model

        for model in models:
            download_model(model)
    options = parse_feature_options(features, texts or ())
    if device == CPU or (device == AUTO and "device" not in list_feature_options(features)):
        return options
    found = choose_device(device, is_torch=bool(models))
    return options if found == CPU else {**options, "device": found}
