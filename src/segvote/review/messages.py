"""What the page may send: the schema of each action, and the call that it stands for. Nothing in it is trusted."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct

from segvote.errors import BadInputError
from segvote.io.tables import convert_record
from segvote.review.actions import Actions
from segvote.review.strokes import check_stroke

MAX_SEGMENTS, MAX_BAGS = 1 << 14, 1 << 14

Numbers = Annotated[list[int], Meta(max_length=MAX_BAGS)]
Points = list[float]  # x and y in turn
Kind = TypeVar("Kind", bound=Struct)


class Message(Struct, forbid_unknown_fields=True):
    """An action of the page; one without fields needs nothing."""

    def act(self, review: Actions) -> int:
        """Do it; the number of the action."""
        raise NotImplementedError


class _Several(Message):
    """An action on images."""

    bags: Numbers

    def __post_init__(self) -> None:
        if not self.bags or len(set(self.bags)) < len(self.bags):
            raise ValueError("expected the numbers of different images, at least one")


class Accept(_Several):
    """Accept masks, or take that back."""

    value: bool

    def act(self, review: Actions) -> int:
        return review.accept(self.bags, self.value)


class Clear(_Several):
    """Forget the corrections of images."""

    def act(self, review: Actions) -> int:
        return review.clear(self.bags)


class Move(_Several):
    """Move images to the other folder of the vote."""

    bag_label: str

    def act(self, review: Actions) -> int:
        return review.move(self.bags, self.bag_label)


class ChooseExtent(Message):
    """Change the level of nested selections."""

    bags: Numbers  # none: all images
    level: int

    def act(self, review: Actions) -> int:
        return review.choose_extent(self.level, self.bags)


class SetSegments(Message):
    """Label segments."""

    bag: int
    segments: Annotated[list[int], Meta(max_length=MAX_SEGMENTS)]
    value: int
    frame: int = -1  # of an image, or the poster of a video

    def act(self, review: Actions) -> int:
        return review.set_segments(self.bag, self.segments, self.value, self.frame)


class Paint(Message):
    """Paint pixels."""

    bag: int
    tool: str
    points: Points
    radius: float
    snap: bool
    value: int

    def act(self, review: Actions) -> int:
        return review.paint(self.bag, check_stroke(self.tool, self.points, self.radius, self.snap), self.value)


class Reshape(Message):
    """Give an object another outline."""

    bag: int
    points: Points  # the place of the object, then the corners of its new outline

    def act(self, review: Actions) -> int:
        corners = check_stroke("polygon", self.points[2:], 1, False).points
        place = check_stroke("fill", self.points[:2], 1, False).points[0]
        return review.reshape(self.bag, place, corners)


class Cut(Message):
    """Cut an object along a line."""

    bag: int
    points: Points

    def act(self, review: Actions) -> int:
        return review.cut(self.bag, check_stroke("brush", self.points, 1, False).points)


class Join(Cut):
    """Join the objects along a line."""

    def act(self, review: Actions) -> int:
        return review.join(self.bag, check_stroke("brush", self.points, 1, False).points)


class TakeBack(Message):
    """Undo or redo."""

    expected: int  # number of the last action that the page knew of


class ExportFormat(Message):
    """Write the run in the format of another tool."""

    format: str
    overwrite: bool
    instances: bool = False


# Actions that are kept while the run folder is away; undo and redo refer to a number, which may be another's by then.
ACTIONS: dict[str, type[Message]] = {
    "accept": Accept,
    "clear": Clear,
    "cut": Cut,
    "extent": ChooseExtent,
    "join": Join,
    "move": Move,
    "paint": Paint,
    "reshape": Reshape,
    "set": SetSegments,
}


def read_message(message: Any, kind: type[Kind]) -> Kind:
    """A decoded message of the page, if it has exactly the fields of its kind."""
    return convert_record(message, kind, "the message of the page", BadInputError, "reload the page")
