"""`segvote import`: corrections made in another tool. (The module cannot be named ``import``, a keyword of Python.)"""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import RUN, format_path
from segvote.cli.terminal import show_progress
from segvote.plain_text import make_plain


@app.command(
    "import", epilog=format_examples("segvote import out annotations.zip", "segvote import out tasks.json --label cow")
)
def import_(
    run_folder: str = RUN,
    file: Path = typer.Argument(
        ...,
        metavar="FILE",
        help="Export of CVAT, Label Studio, labelme or a COCO tool; a ZIP or a folder of labelme files too.",
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
    n_corrected, n_same, n_problems = map(len, (imported.corrected, imported.same, imported.problems))
    typer.echo(f"corrected {n_corrected}, unchanged {n_same}, left out {n_problems}")
    if imported.corrected:
        is_class = Path(run.inputs.without_folder) in Path(run.inputs.with_folder).parents
        again = "repeat `segvote annotate --classes`" if is_class else ""
        typer.echo(f"now vote with the corrections: {again or shlex.join(['segvote', 'update', format_path(folder)])}")
