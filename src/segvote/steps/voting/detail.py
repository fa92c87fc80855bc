"""Detail where it is needed: small objects, and runs that are not sure, are looked at with larger network inputs.

Features are extracted at the size that serves most photographs. Where the vote is not sure of itself, or what it
selected is small, they are extracted once more at twice that size, vote again, and the vote that agrees more with
itself is kept: lesions and frayed edges want the closer look, a dog among cats the wider one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from segvote.errors import BadInputError
from segvote.method.confidence import UNSURE
from segvote.run.settings import DETAILS, METHOD, Settings

if TYPE_CHECKING:
    from segvote.method import SegmentAnnotator

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


def wants_closer_look(annotator: SegmentAnnotator) -> bool:
    """Whether the vote is not quite sure of itself, or what it selected is small for its segments."""
    return annotator.confidence_.value < UNSURE or annotator.confidence_.is_small


def is_better(closer: SegmentAnnotator, wider: SegmentAnnotator) -> bool:
    """Whether the closer look agrees more with itself; a second opinion has to be clearly better, as in each look."""
    assert closer.agreement_ is not None and wider.agreement_ is not None
    if closer.is_second_opinion or wider.is_second_opinion:
        return wider.is_overruled_by(closer)
    return bool(closer.agreement_.judgements.max() > wider.agreement_.judgements.max())
