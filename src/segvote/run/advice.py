"""The English of a confidence: for each cause a reason, and the one remedy to try first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from segvote.method.confidence import Confidence
from segvote.run.alternatives import name_alternative

# Cause to its reason, and advice.
REASONS = {
    "few": (
        "too few images: so few share something by chance",
        "add images until each folder has ten or more",
    ),
    "chance": (
        "shuffled folders agree as well as these: any two folders could have given this result",
        "check that every WITH image shows the object and no WITHOUT image does, or add images",
    ),
    "place": (
        "the selection lies at the same place in nearly every image: a frame, a logo, a lamp?",
        "crop the images, or add WITHOUT images that show the same there",
    ),
    "alike": (
        "the folders look alike: images left out of the vote are not put into the right one",
        "check that every WITH image shows the object and no WITHOUT image does, or add images",
    ),
    "small": (
        "the object is about as small as one segment",
        "give larger images, or look closer: --detail fine",
    ),
    "scene": (
        "different assumptions about the background select different things: the folders may differ by scene",
        "add WITHOUT images of the same places without the object, or correct a few segments in `segvote review`",
    ),
    "background": (
        "what surrounds the object is nowhere in the WITHOUT images: the folders differ by scene",
        "add WITHOUT images of the same places without the object",
    ),
    "rival": (
        "something else repeats as well as this: the masks may show the wrong thing",
        "look at them in the report or in `segvote review`, and choose one",
    ),
    "extent": (
        "the object may be larger or smaller: another extent is outlined as clearly",
        "compare the extents in the report and choose one, or finish one image in `segvote review`",
    ),
    "repeats": (
        "nothing repeats clearly: the scores of object and background overlap",
        "add images of the object that look alike, or correct a few segments in `segvote review`",
    ),
    "outlines": (
        "the outlines do not follow edges of the pictures",
        "look at the masks; more segments (--n-segments) may follow the object better",
    ),
}


def describe_confidence(confidence: Confidence, rivals: Sequence[int] = ()) -> dict[str, Any]:
    """Level, figures, cause, reason and advice for `run.json`; empty for another voter than the method.

    `rivals` are the numbers of the alternatives that are as well supported as the vote, and clearly different.
    """
    if confidence.level == "unknown":
        return {}
    reason, advice = REASONS[confidence.cause] if confidence.cause else ("", "")
    if confidence.cause == "rival" and rivals:
        letters = " and ".join(map(name_alternative, (0, *rivals)))
        reason = f"{'two' if len(rivals) == 1 else 'several'} things repeat equally: {letters}"
    words = {"cause": confidence.cause, "reason": reason, "advice": advice}
    return {
        "level": confidence.level,
        **confidence.list_figures(),
        "contradicted": confidence.contradicted,
        **words,
    }
