"""The commands of README, run as a newcomer types them: installation from a wheel, then the six commands.

    python tests/docs/newcomer.py dist/segvote-0.1.0-py3-none-any.whl

Needs pip's registry, uv and pipx; `make dist` runs it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from markdown_pages import ROOT, list_blocks

from segvote.datasets import make_scenes, write_scenes

STOPPED = 130  # exit code after Ctrl-C while the run is still being loaded


def list_readme_commands() -> tuple[list[str], list[str]]:
    """Lines of the first shell block, which installs, and of the second, without their comments."""
    blocks = [block.code for block in list_blocks((ROOT / "README.md").read_text()) if block.language == "sh"]
    install, use = ([line.partition("  #")[0].strip() for line in block.splitlines()] for block in blocks)
    return install, use


def make_folders(folder: Path) -> None:
    """The folders that the commands of README name."""
    write_scenes(folder, make_scenes(n_with=6, n_without=6, size=(160, 120), object_area=(0.08, 0.16)))
    (folder / "with").rename(folder / "WITH")
    (folder / "without").rename(folder / "WITHOUT")
    shutil.copytree(folder / "WITH", folder / "NEW")


def replace_by_wheel(line: str, wheel: Path) -> list[str]:
    """Words of a command that installs from the wheel where README names the published package."""
    words = [word.replace("segvote[all]", f"{wheel}[all]") for word in shlex.split(line)]
    return ["uvx", "--from", str(wheel), *words[1:]] if words[0] == "uvx" else words


def run_command(words: list[str], folder: Path, environment: dict[str, str]) -> None:
    """Run one command to its end; a server is ended as a person does it, by Ctrl-C, once it prints its address."""
    print("$", shlex.join(words), flush=True)
    if words[:2] != ["segvote", "review"]:
        subprocess.run(words, cwd=folder, env=environment, check=True)
        return
    with subprocess.Popen([*words, "--no-browser"], cwd=folder, env=environment, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith(b"review ")
        server.send_signal(signal.SIGINT)
        assert server.wait() in (0, STOPPED)


def main() -> None:
    wheel, (install, use) = Path(sys.argv[1]).resolve(), list_readme_commands()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)
        places = [folder / "env/bin", folder / "bin", Path(sys.executable).parent]
        path = os.pathsep.join([*map(str, places), os.environ["PATH"]])
        environment = {
            **os.environ,
            "PATH": path,
            "PIPX_HOME": str(folder / "pipx"),
            "PIPX_BIN_DIR": str(folder / "bin"),
        }
        make_folders(folder)
        for line in install:
            run_command(replace_by_wheel(line, wheel), ROOT if line.startswith("make") else folder, environment)
        for line in use:
            run_command(shlex.split(line), folder, environment)


if __name__ == "__main__":
    main()
