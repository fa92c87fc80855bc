"""A log of corrections that was deleted or replaced while it is open, written to the run that lies in its place now."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from segvote.errors import ReplacedFolderError
from segvote.run.correction_log import Action, CorrectionLog


def rescue_log(log: CorrectionLog) -> None:
    """Write what the deleted file of `log` holds to the file at its path now, and go on with that.

    It is written where the file there is a beginning of it, empty or a backup; a log with other actions stays as it is.

    Parameters
    ----------
    log : CorrectionLog
        The log that is no longer in its place.
    """
    if not (log.path.parent / "run.json").is_file():
        raise ReplacedFolderError(
            f"there is no run in {log.path.parent} to save to; put the folder back or annotate again, then save there"
        )
    with log.hold_for_writing():
        found = CorrectionLog(log.path, log.patience)
        try:
            found.append_batches(_list_missing(log.read(), found.read()))
        except BaseException:
            found.close()
            raise
        log.adopt(found)


def _list_missing(old: Sequence[Action], new: Sequence[Action]) -> list[list[Action]]:
    """Actions of `old` that `new` lacks, those of one batch together; none where `new` went another way."""
    if list(old[: len(new)]) != list(new):
        return []
    missing = old[len(new) :]
    groups = groupby(missing, key=lambda action: (action.batch, 0 if action.batch else action.number))
    return [list(group) for _, group in groups]
