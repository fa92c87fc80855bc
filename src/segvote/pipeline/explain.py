"""The score of a segment as a sum: votes of other images, user labels, adjacent segments and a constant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from segvote.errors import BadInputError
from segvote.io.names import make_plain
from segvote.method.table import SegmentTable
from segvote.method.vote import Explanation, Vote, explain_vote
from segvote.pipeline.corrected_vote import RunVote
from segvote.run.run import Run

VOTE, NEIGHBOUR, CORRECTION = "vote", "neighbour", "correction"
USER_LABELS = {-1: "", 0: "background, by user label", 1: "object, by user label"}


@dataclass(frozen=True)
class VoteLine:
    """The amount that one segment adds to the score of another."""

    # ``"vote"``: a segment of another image; ``"neighbour"``: an adjacent segment; ``"correction"``: a similar segment
    # with a user label, of any image, or itself.
    kind: str
    bag: int
    segment: int  # its number within the bag
    amount: float  # positive for, negative against

    @property
    def place(self) -> str:
        """The segment in words."""
        return f"segment {self.segment}{', corrected' if self.kind == CORRECTION else ''}"


@dataclass(frozen=True)
class SegmentExplanation:
    """The score of one segment as a sum: the amounts of the lines and the constant."""

    bag: int
    segment: int  # its number within the bag
    score: float
    threshold: float  # score above which segments of this bag are selected
    selected: bool
    user_label: int  # -1, 0 or 1
    lines: tuple[VoteLine, ...]  # the largest absolute amount first
    constant: float  # the intercept

    def list_best(self, sign: int) -> list[VoteLine]:
        """Votes and corrections for (1) or against (-1) the segment."""
        return [line for line in self.lines if line.kind != NEIGHBOUR and sign * line.amount > 0]

    def sum_amounts(self, kind: str) -> float:
        return float(sum(line.amount for line in self.lines if line.kind == kind))


def explain_segment(run_vote: RunVote, bag: int, segment: int) -> SegmentExplanation:
    """The score of one segment of one bag as a sum of votes."""
    table, selection = run_vote.inputs.table, run_vote.selection
    flat, share = int(table.bag_offsets[bag]) + segment, run_vote.inputs.settings.smoothing
    own, beside, row = (
        _explain_votes(run_vote, bag, flat),
        table.adjacency[[flat]],
        run_vote.correction.residuals[[flat]],
    )
    lines = _list_lines(VOTE, table, own.voters, (1 - share) * own.amounts)
    lines += _list_lines(NEIGHBOUR, table, beside.indices, share * beside.data * selection.unsmoothed[beside.indices])
    lines += _list_lines(CORRECTION, table, row.indices, row.data)
    lines.sort(key=lambda line: -abs(line.amount))
    score, raised = float(selection.scores[flat]), float(selection.scores[flat] - run_vote.default.scores[flat])
    return SegmentExplanation(
        bag,
        segment,
        score,
        threshold=float(selection.thresholds[bag]),
        selected=bool(selection.selected[flat]),
        user_label=int(selection.user_labels[flat]),
        lines=tuple(lines),
        constant=(1 - share) * (float(selection.unsmoothed[flat]) - float(own.amounts.sum())) + raised,
    )


def _explain_votes(run_vote: RunVote, bag: int, segment: int) -> Explanation:
    """The votes for a segment: of the base where corrections turned nothing in its bag, else of the refitted vote."""
    kept = run_vote.inputs.table.average_by_bag(run_vote.correction.kept)[bag] == 1
    source = (run_vote.base if kept else run_vote.refitted).source
    return explain_vote(source, segment) if isinstance(source, Vote) else source.explain(segment)


def _list_lines(kind: str, table: SegmentTable, voters: np.ndarray, amounts: np.ndarray) -> list[VoteLine]:
    bags = table.bags[voters]
    columns = bags.tolist(), (voters - table.bag_offsets[bags]).tolist(), amounts.tolist()
    return [VoteLine(kind, *line) for line in zip(*columns, strict=True)]


def find_segment(run: Run, bag: int, text: str, scores: np.ndarray | None = None) -> int:
    """Segment of a bag by its number, by a point ``x,y`` in pixels of the displayed image, or the best for ``""``."""
    record = run.bags[bag]
    if not text:
        return int(np.argmax((run.votes["scores"] if scores is None else scores)[run.get_slice(bag)]))
    try:
        numbers = [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) == 1 and 0 <= numbers[0] < record.n_segments:
        return numbers[0]
    if len(numbers) == 2 and 0 <= numbers[0] < record.width and 0 <= numbers[1] < record.height:
        labels = run.read_segments(bag)["labels"]
        row = (2 * numbers[1] + 1) * labels.shape[0] // (2 * record.height)
        column = (2 * numbers[0] + 1) * labels.shape[1] // (2 * record.width)
        return int(labels[row, column])
    raise BadInputError(
        f"expected a segment of {record.name}: a number from 0 to {record.n_segments - 1}, "
        f"or a point x,y below {record.width},{record.height}; got {text!r}"
    )


def format_explanation(explanation: SegmentExplanation, run: Run, n_lines: int = 8) -> str:
    """The explanation as text; lines that are not listed are summed, so that the figures add to the score."""
    record = run.bags[explanation.bag]
    decided = "object" if explanation.selected else "background"
    lines = [
        f"{make_plain(record.name)}  segment {explanation.segment} of {record.n_segments}: {decided}",
        f"score {explanation.score:+.4f}, object above {explanation.threshold:+.4f} in this image",
    ]
    if explanation.user_label >= 0:
        lines.append(f"it is {USER_LABELS[explanation.user_label]}")
    lines.append("")
    for sign, title in ((1, "votes for"), (-1, "votes against")):
        lines += _format_group(title, explanation.list_best(sign), run, n_lines)
    lines.append(f"{format_amount(explanation.sum_amounts(NEIGHBOUR)):>10}  neighbours in the same image")
    lines.append(f"{format_amount(explanation.constant):>10}  intercept")
    lines.append(f"{format_amount(explanation.score):>10}  score")
    return "\n".join(lines)


def format_amount(amount: float) -> str:
    """Four digits with a sign; never -0.0000."""
    return f"{round(amount, 4) + 0.0:+.4f}"


def _format_group(title: str, lines: list[VoteLine], run: Run, n_lines: int) -> list[str]:
    total = sum(line.amount for line in lines)
    text = [f"{format_amount(total):>10}  {title}, of {len(lines)} segment{'s' * (len(lines) != 1)}"]
    text += [
        f"{'':12}{line.amount:+.4f}  {make_plain(run.bags[line.bag].name)}  {line.place}" for line in lines[:n_lines]
    ]
    if len(lines) > n_lines:
        rest = sum(line.amount for line in lines[n_lines:])
        text.append(f"{'':12}{rest:+.4f}  {len(lines) - n_lines} more")
    return text
