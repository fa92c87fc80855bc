"""The expected IoU of the images that were not finished, as `run.json` stores it and as text."""

from __future__ import annotations

from msgspec import Struct

from segvote.io.tables import Count, Finite


class ExpectedIoU(Struct, frozen=True, forbid_unknown_fields=True):
    """How well finished images are predicted when each is left out.

    Attributes
    ----------
    n_finished, n_left_out
        Finished images that teach the vote, and those of them that were left out, one by one.
    before, after
        Their mean IoU in the vote before any image was finished, and in those that the others taught.
    low, high
        Interval of 90 % of `after` for the other images; None for fewer than three images.
    random
        Whether the images left out were drawn at random; else a user picked them, and the others may differ.
    """

    n_finished: Count
    n_left_out: Count = 0
    before: Finite | None = None
    after: Finite | None = None
    low: Finite | None = None
    high: Finite | None = None
    random: bool = False


def format_lesson(estimate: ExpectedIoU) -> str:
    """What finished images changed, in one line."""
    count = f"{estimate.n_finished} finished image{'s' * (estimate.n_finished != 1)}"
    if estimate.after is None or estimate.before is None:
        more = " Finish another one to see how well it is predicted." if estimate.n_finished == 1 else ""
        return f"{count}: applied to all.{more}"
    which = "left out" if estimate.n_left_out == estimate.n_finished else f"{estimate.n_left_out} of them left out"
    return (
        f"{count}: {which}, they are predicted with IoU {_format(estimate.after)}, before {_format(estimate.before)}. "
        "Applied to all."
    )


def format_estimate(estimate: ExpectedIoU) -> str:
    """The expected IoU of the other images with its interval, and where it comes from; empty where it is not known."""
    if estimate.after is None:
        return ""
    count = f"{estimate.n_left_out} finished images"
    interval = (
        ""
        if estimate.low is None or estimate.high is None
        else f"{_format(estimate.low)} to {_format(estimate.high)}, "
    )
    source = "drawn at random" if estimate.random else "that you picked: others may be worse"
    return f"expected IoU of the other images {_format(estimate.after)} ({interval}{count} {source})"


def _format(value: float) -> str:
    """Two digits without the zero in front."""
    return f"{value:.2f}".removeprefix("0")
