"""How long each step took, from the log: the only part of the page that differs between equal runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from segvote.report.figures import draw_bar
from segvote.report.markup import escape, format_duration, format_table

LAST_STEP = "model"  # a call that got here has written results
STEPS = {
    "extract": "segment and extract features",
    "gather": "gather features",
    "vote": "vote",
    "decide": "decide",
    "write": "write masks and heat maps",
    "model": "write the model",
}
MAX_SECONDS = 1e12  # of a time of day, too
MAX_CALLS = 12  # rows in the list of calls; a folder may have seen hundreds


@dataclass
class Call:
    """One call of `annotate` on this folder: when, with which voter, seconds per step, processor seconds of workers."""

    started: float = 0.0
    voter: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    worker_seconds: dict[str, float] = field(default_factory=dict)
    n_jobs: int = 1

    @property
    def total(self) -> float:
        return sum(self.seconds.values())

    @property
    def outcome(self) -> str:
        if LAST_STEP in self.seconds:
            return "finished"
        return "nothing to do" if set(self.seconds) == {"extract"} else "stopped"


def list_calls(log: Sequence[Any]) -> list[Call]:
    """Calls in the order of the log; lines that say something else are passed over."""
    calls: list[Call] = []
    for line in log:
        step = str(line.get("step")) if isinstance(line, dict) else ""
        step = "extract" if step == "describe" else step  # as earlier versions called it
        if step == "start":
            settings = line.get("settings")
            voter = settings.get("voter", "") if isinstance(settings, dict) else ""
            calls.append(Call(started=_read_number(line.get("time")), voter=str(voter)))
        elif calls and step == "bags":
            calls[-1].n_jobs = int(_read_number(line.get("n_jobs")))
            calls[-1].worker_seconds = _read_numbers(line.get("worker_seconds"))
        elif calls and step in STEPS:
            calls[-1].seconds[step] = _read_number(line.get("seconds"))
    return calls


def format_timings(log: Sequence[Any]) -> str:
    """The marked block."""
    calls = list_calls(log)
    finished = [call for call in calls if call.outcome == "finished"]
    body = _format_steps(finished[-1]) if finished else "<p>The log tells no times.</p>\n"
    if len(calls) > 1:
        body += _format_calls(calls)
    return f"<!-- timings -->\n{body}<!-- /timings -->\n"


def _format_steps(call: Call) -> str:
    longest = max(call.seconds.values(), default=0.0) or 1.0
    rows = [
        (STEPS[step], f"<div>{draw_bar(seconds / longest)}<span>{format_duration(seconds)}</span></div>")
        for step, seconds in call.seconds.items()
    ]
    rows.append(("all steps", f"<div><span>{format_duration(call.total)}</span></div>"))
    return f'<div class="times">{format_table(rows, "Time")}{_format_workers(call)}</div>\n'


def _format_workers(call: Call) -> str:
    if not call.worker_seconds:
        return '<p class="note">Segments and features were already in the folder and were used again.</p>'
    parts = ", ".join(f"{escape(name)} {format_duration(spent)}" for name, spent in call.worker_seconds.items())
    processes = "1 process" if call.n_jobs == 1 else f"{call.n_jobs} processes"
    return f'<p class="note">Segmentation and features, summed over {processes}: {parts}.</p>'


def _format_calls(calls: Sequence[Call]) -> str:
    rows = "".join(
        f"<tr><td>{_format_date(call.started)}</td><td>{escape(call.voter)}</td>"
        f"<td>{call.outcome}</td><td>{format_duration(call.total)}</td></tr>\n"
        for call in calls[-MAX_CALLS:]
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("started (UTC)", "voter", "outcome", "time"))
    return (
        f"<details><summary>All {len(calls)} calls on this folder</summary>"
        f'<table class="calls"><thead><tr>{head}</tr></thead><tbody>\n{rows}</tbody></table></details>\n'
    )


def _format_date(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M}"
    except (OSError, OverflowError, ValueError):
        return "–"


def _read_number(value: Any) -> float:
    """0 for what is no number that a clock could have shown."""
    return float(value) if isinstance(value, (int, float)) and abs(value) <= MAX_SECONDS else 0.0


def _read_numbers(values: Any) -> dict[str, float]:
    return {str(name): _read_number(value) for name, value in values.items()} if isinstance(values, dict) else {}
