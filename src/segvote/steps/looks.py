"""The closer look: small objects and runs of low confidence get features from larger network inputs.

Features are extracted at the size that serves most photographs. Where the confidence is not high, or the selection is
small, they are extracted once more at twice that size and vote again. The closer look is kept where it is clearly the
better one: lesions and frayed edges want it, blood cells and dogs among cats the wider one.
"""

from __future__ import annotations

from dataclasses import replace

from segvote.errors import BadInputError
from segvote.method.confidence import UNSURE, Confidence
from segvote.run.settings import DETAILS, Settings
from segvote.voters import METHOD

# By which part the closer look has to be better; otherwise the wider one is kept.
LOOK_MARGIN = 0.1
# The features whose network takes inputs of any size.
SCALABLE = "lite0"


def list_levels(settings: Settings) -> list[Settings]:
    """The settings of each look that a run may take, the widest first; only one unless the detail is ``auto``."""
    if settings.detail != "auto":
        return [apply_detail(settings, settings.detail)]
    alone = settings.voter != METHOD or settings.features != SCALABLE or "size" in settings.feature_options
    if alone:
        return [settings]
    return [settings, _set_size(settings, DETAILS["fine"])]


def apply_detail(settings: Settings, detail: str) -> Settings:
    """The settings with the network's input of a level; a size that was chosen by hand stays.

    Parameters
    ----------
    settings
        Of a run.
    detail
        A name of `DETAILS`, or the longest side of the network's input in pixels.
    """
    size = DETAILS.get(detail, -1) if not detail.isdigit() else int(detail)
    if size == -1:
        raise BadInputError(f"expected a detail of {', '.join(DETAILS)} or a number of pixels, got {detail!r}")
    if size is None or "size" in settings.feature_options:
        return settings
    if settings.features != SCALABLE:
        raise BadInputError(f"--detail {detail} needs the features {SCALABLE}, not {settings.features}")
    return _set_size(settings, size)


def _set_size(settings: Settings, size: int | None) -> Settings:
    return replace(settings, feature_options={**settings.feature_options, "size": size})


def wants_closer_look(wider: Confidence) -> bool:
    """Whether the confidence is not quite high, or the selection is small for its segments."""
    return wider.value < UNSURE or wider.is_small


def is_better(closer: Confidence, wider: Confidence) -> bool:
    """Whether the closer look is clearly better than the wider one, see `Confidence.look`."""
    return closer.look > (1 + LOOK_MARGIN) * wider.look
