"""Closer looks: small objects and runs of low confidence get features from larger network inputs.

Features are extracted at the size that serves most photographs. Where the signs of the vote are weak, or the selection
is small, they are extracted again at twice that size for a second vote. Where the outlines found then follow no edges,
the object may be thinner than its segments, and a third vote has a prior by local contrast. A closer look is kept where
it is clearly better: it suits lesions and frayed edges; the wider one suits blood cells, and dogs among cats.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from segvote.errors import BadInputError
from segvote.features import FeatureExtractor
from segvote.method.confidence import UNSURE, Confidence
from segvote.pipeline.vote import BaseVote
from segvote.settings import CONTRAST, DETAILS, Settings
from segvote.voters import METHOD

Result = TypeVar("Result")

# By which part the closer look has to be better; otherwise the wider one is kept.
LOOK_MARGIN = 0.1
# Outlines follow no edges where the sign of contrast is below this. Whole sets of photographs have .83 and more, draws
# of 12 + 12 images .6 and more, except for cracks in asphalt (0) and ultrasound (.39).
LOOSE_OUTLINES = 0.5
# The features whose network takes inputs of any size.
SCALABLE = "lite0"


def list_looks(settings: Settings) -> list[Settings]:
    """The settings of each look that a run may take, the widest first; only one unless the detail is ``auto``."""
    if settings.detail != "auto":
        return [apply_detail(settings, settings.detail)]
    if settings.voter != METHOD or settings.features != SCALABLE or "size" in settings.feature_options:
        return [settings]
    fine = apply_detail(settings, "fine")
    return [settings, fine, replace(fine, detail=CONTRAST)]


def apply_detail(settings: Settings, detail: str) -> Settings:
    """The settings with the network's input of a look: a name of `DETAILS`, or its longest side in pixels.

    A size that was chosen by hand stays.
    """
    size = DETAILS.get(detail, -1) if not detail.isdigit() else int(detail)
    if size == -1:
        raise BadInputError(f"expected a detail of {', '.join(DETAILS)} or a number of pixels, got {detail!r}")
    if size is None or "size" in settings.feature_options:
        return settings
    if settings.features != SCALABLE:
        raise BadInputError(f"--detail {detail} needs the features {SCALABLE}, not {settings.features}")
    return replace(settings, feature_options={**settings.feature_options, "size": size})


def choose_look(
    looks: Sequence[tuple[Settings, FeatureExtractor]],
    vote: Callable[[Settings, FeatureExtractor], tuple[BaseVote, Result]],
) -> tuple[BaseVote, Result]:
    """The vote at the first look, or at a closer one that is wanted and clearly better."""
    best = vote(*looks[0])
    for look, extractor in looks[1:]:
        if wants_closer_look(look, best[0].confidence):
            closer = vote(look, extractor)
            best = closer if is_better(closer[0].confidence, best[0].confidence) else best
    return best


def wants_closer_look(closer: Settings, so_far: Confidence) -> bool:
    """Whether a closer look may be clearly better, by the confidence so far."""
    if closer.detail == CONTRAST:
        return so_far.contrast < LOOSE_OUTLINES
    # Values are at most 1, so that no look is clearly better than one above the limit for small objects.
    return so_far.comparison_value < (1 / (1 + LOOK_MARGIN) if so_far.is_small else UNSURE)


def is_better(closer: Confidence, wider: Confidence) -> bool:
    """Whether the closer look is clearly better than the wider one."""
    return closer.comparison_value > (1 + LOOK_MARGIN) * wider.comparison_value
