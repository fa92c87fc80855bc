"""`segvote import`: corrections made in another tool. (The module cannot be named ``import``, a keyword of Python.)"""

from __future__ import annotations

import shlex
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import RUN, PathOrUri, format_path
from segvote.cli.terminal import show_progress
from segvote.plain_text import make_plain
from segvote.run.settings import Settings

if TYPE_CHECKING:
    from segvote.run.run import Run
    from segvote.steps.importing import Imported


@app.command(
    "import", epilog=format_examples("segvote import out annotations.zip", "segvote import out tasks.json --label cow")
)
def import_(
    run_folder: PathOrUri = RUN,
    file: Path = typer.Argument(
        ...,
        metavar="FILE",
        help="What CVAT, Label Studio, labelme or a COCO tool exported; a ZIP or a folder of labelme files too.",
    ),
    label: str | None = typer.Option(None, help="The class that counts; default: the run's, or the only one."),
    confirm: bool = typer.Option(False, "--confirm", help="Accept unchanged masks, too."),
) -> None:
    """Take over masks that were corrected in another tool, to the pixel; the segments in them vote from then on.

    Images that the tool left as they were stay free, unless --confirm. Then `segvote update RUN` votes with them.
    """
    from segvote.run.run import Run, open_run
    from segvote.steps.importing import import_corrections

    with show_progress() as progress, open_run(run_folder, progress) as folder:
        run = Run(folder)
        imported = import_corrections(run, file, label=label, confirm=confirm, progress=progress)
    for name, reason in imported.problems:
        typer.echo(f"left out: {make_plain(f'{name}: {reason}')}", err=True)
    typer.echo(format_imported(imported, run))


def format_imported(imported: Imported, run: Run) -> str:
    """How many images came in, and what to do next."""
    counts = f"corrected {len(imported.corrected)}, unchanged {len(imported.same)}, left out {len(imported.problems)}"
    if not imported.corrected:
        return counts
    return f"{counts}\nnow vote with the corrections:\n  {format_command(run)}"


def format_command(run: Run) -> str:
    """What votes again: `update`; for one class of several, the `annotate` that made them, with its options."""
    inputs = run.inputs
    if Path(inputs.without_folder) not in Path(inputs.with_folder).parents:
        return shlex.join(["segvote", "update", format_path(run.folder.path)])
    words = ["segvote", "annotate", "--classes", inputs.without_folder, "-o", format_path(run.folder.path.parents[1])]
    default = Settings()
    for field in fields(Settings):
        value = getattr(run.settings, field.name)
        if field.name != "label" and value != getattr(default, field.name) and not isinstance(value, dict):
            words += [f"--{field.name.replace('_', '-')}", str(value)]
    return shlex.join(words)
