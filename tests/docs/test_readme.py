"""The commands of README run as they are written; those that install are run by `make dist`."""

import os
import shlex
import sys
from pathlib import Path

from newcomer import list_readme_commands, make_folders, replace_by_wheel, run_command


def test_the_six_commands_run_one_after_the_other(tmp_path):
    make_folders(tmp_path)
    environment = {**os.environ, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    for line in list_readme_commands()[1]:
        run_command(shlex.split(line), tmp_path, environment)
    written = ("out/annotations.coco.json", "out/report.html", "out/exports/yolo/data.yaml", "new/predictions.csv")
    assert [name for name in written if not (tmp_path / name).is_file()] == []


def test_the_lines_that_install_name_the_package():
    lines = list_readme_commands()[0]
    words = [replace_by_wheel(line, Path("/w.whl")) for line in lines]
    assert [one[0] for one in words] == ["uvx", "pipx", "pip", "make"]
    assert words[0][:3] == ["uvx", "--from", "/w.whl"] and words[1][-1] == words[2][-1] == "/w.whl[all]"
