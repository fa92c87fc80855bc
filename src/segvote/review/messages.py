"""Schemas of the messages of the page, which are untrusted, and the actions that they call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct

from segvote.errors import BadInputError
from segvote.io.tables import convert_record
from segvote.review.actions import Actions

Numbers = Annotated[list[int], Meta(max_length=1 << 14)]
Kind = TypeVar("Kind", bound=Struct)


class Message(Struct, forbid_unknown_fields=True):
    """A message without fields."""


class _Several(Message):
    """An action on images."""

    bags: Numbers

    def __post_init__(self) -> None:
        if not self.bags or len(set(self.bags)) < len(self.bags):
            raise ValueError("expected the numbers of different images, at least one")


class _Accept(_Several):
    value: bool


class _Move(_Several):
    bag_label: str


class _ChooseExtent(Message):
    bags: Numbers  # none: all images
    extent: int


class _ChooseAlternative(Message):
    number: int  # 0: the vote itself


class _SetSegments(Message):
    bag: int
    segments: Numbers
    value: int
    frame: Annotated[int, Meta(ge=-1)] = -1  # of an image, or the poster of a video


class _Paint(Message):
    bag: int
    tool: str
    points: list[float]  # x and y in turn
    radius: float
    snap: bool
    value: int


class _Points(Message):
    bag: int
    points: list[float]


class _Reshape(_Points):
    outline: list[float]  # before its corners were moved


class _Take(_Points):
    level: int  # 1 part, 2 object, 3 whole
    value: int


class TakeBack(Message):
    """Undo or redo."""

    expected: int  # number of the last action in the page


class OpenImage(Message):
    """Show an image of the run that did not vote."""

    number: int  # among all images of the run


class ExportFormat(Message):
    """Write the run in the format of another tool."""

    format: str
    overwrite: bool
    instances: bool = False


# Fields of a message are the parameters of its action.
ACTIONS: dict[str, tuple[type[Message], Callable[..., int]]] = {
    "accept": (_Accept, Actions.accept),
    "alternative": (_ChooseAlternative, Actions.choose_alternative),
    "clear": (_Several, Actions.clear),
    "cut": (_Points, Actions.cut),
    "extent": (_ChooseExtent, Actions.choose_extent),
    "join": (_Points, Actions.join),
    "move": (_Move, Actions.move),
    "paint": (_Paint, Actions.paint),
    "reshape": (_Reshape, Actions.reshape),
    "set": (_SetSegments, Actions.set_segments),
    "take": (_Take, Actions.take),
}


def read_message(message: Any, kind: type[Kind]) -> Kind:
    """A decoded message of the page, if it has exactly the fields of its kind."""
    return convert_record(message, kind, "the message of the page", BadInputError, "reload the page")
