"""Make the stored run again: ``python tests/data/make_run.py``, before a release and after a change of a format.

The archive is called after the version without its last number. Archives of earlier versions stay as they are, and are
opened by later ones (docs/versioning.md).
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

import segvote
from segvote.datasets import make_scenes, write_scenes
from segvote.run.correction_log import Action, CorrectionLog
from segvote.settings import Settings

HERE = Path(__file__).parent
SETTINGS = Settings(features="color", n_segments=12, size=64)
# They differ between equal runs, or are large and made again.
LEFT_OUT = {".lock", "log.jsonl", "report.html", "neighbours.npz"}


def make_stored_scenes(folder: Path) -> Path:
    """``with``, ``without`` and ``masks`` of three scenes each, 64 x 48 pixels."""
    write_scenes(folder, make_scenes(n_with=3, n_without=3, size=(64, 48), object_area=(0.08, 0.16)))
    return folder


def make_run(scenes: Path, out: Path) -> None:
    """A finished run with one correction."""
    run = segvote.annotate(scenes / "with", scenes / "without", out, SETTINGS, n_jobs=1)
    log = CorrectionLog(run.folder.corrections_path)
    log.append(Action("accept", run.bags[0].digest, run.bags[0].name, 1))
    log.close()
    segvote.update(out, n_jobs=1)


def pack_run(out: Path, archive: Path) -> None:
    """Store a run folder as a zip, with the same date for every file."""
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(path for path in out.rglob("*") if path.is_file() and path.name not in LEFT_OUT):
            member = zipfile.ZipInfo(path.relative_to(out).as_posix())
            file.writestr(member, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)


def make_archive(archive: Path) -> None:
    """Make and store a run; the folder of its scenes, which is in run.json, has the same name on every machine."""
    with tempfile.TemporaryDirectory() as scratch:
        scenes = make_stored_scenes(Path(tempfile.gettempdir()) / "segvote-stored-scenes")
        make_run(scenes, Path(scratch) / "run")
        pack_run(Path(scratch) / "run", archive)


if __name__ == "__main__":
    make_archive(HERE / f"run-{segvote.__version__.rpartition('.')[0]}.zip")
